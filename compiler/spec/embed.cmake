# SPDX-License-Identifier: MIT
# Writes files as C, a table NAME_file of Embedded (embedded.h) and NAME_count:
#   cmake -DNAME=library -DROOT=folder -DFILES="a.lua;b.lua" -DOUT=library.inc -P embed.cmake
set(TEXT "")
set(ROWS "")
set(I 0)
foreach(FILE ${FILES})
  file(RELATIVE_PATH PLACE ${ROOT} ${FILE})
  file(READ ${FILE} HEX HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," BYTES "${HEX}")
  string(APPEND TEXT "static const unsigned char embedded_${I}[] = { ${BYTES} 0 };\n")
  string(APPEND ROWS "    { \"${PLACE}\", embedded_${I}, sizeof embedded_${I} - 1 },\n")
  math(EXPR I "${I} + 1")
endforeach()
string(APPEND TEXT "\nconst Embedded ${NAME}_file[] = {\n${ROWS}};\n")
file(WRITE ${OUT} "${TEXT}const int ${NAME}_count = ${I};\n")
