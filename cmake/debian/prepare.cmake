# SPDX-License-Identifier: MIT
# Run by cpack on what it has installed, before it becomes a package (package.cmake).
set(ROOT ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(DOC ${ROOT}/share/doc/strata)

function(compress FILE TO)
  execute_process(COMMAND gzip -9nc ${FILE} OUTPUT_FILE ${TO} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Debian's zsh looks for those of packages elsewhere.
file(RENAME ${ROOT}/share/zsh/site-functions ${ROOT}/share/zsh/vendor-completions)

file(GLOB PAGES ${ROOT}/share/man/man*/*.[1-8])
foreach(PAGE ${PAGES})
  compress(${PAGE} ${PAGE}.gz)
  file(REMOVE ${PAGE})
endforeach()
compress(${CPACK_STRATA_CHANGELOG} ${DOC}/changelog.Debian.gz)
compress(${DOC}/CHANGELOG.md ${DOC}/changelog.gz)
file(COPY ${CPACK_STRATA_DEBIAN}/copyright DESTINATION ${DOC})
file(MAKE_DIRECTORY ${ROOT}/share/lintian/overrides)
configure_file(${CPACK_STRATA_DEBIAN}/lintian-overrides ${ROOT}/share/lintian/overrides/strata
  COPYONLY)
# The Python package, where Debian's Python finds it; the headers that it reads are installed.
set(PYTHON ${ROOT}/lib/python3/dist-packages)
file(GLOB MODULES ${CPACK_STRATA_PYTHON}/*.py)
file(COPY ${MODULES} DESTINATION ${PYTHON}/strata)
foreach(HEADER abi.h strata.h)
  file(CREATE_LINK ../../../../include/strata/${HEADER} ${PYTHON}/strata/${HEADER} SYMBOLIC)
endforeach()
file(WRITE ${PYTHON}/strata-${CPACK_STRATA_VERSION}.dist-info/METADATA
  "Metadata-Version: 2.1\nName: strata\nVersion: ${CPACK_STRATA_VERSION}\n"
  "Summary: Models that Strata compiled, with numpy\nLicense: MIT\nRequires-Dist: numpy\n")
file(WRITE ${PYTHON}/strata-${CPACK_STRATA_VERSION}.dist-info/INSTALLER "debian\n")
# cpack strips what is linked; an archive keeps the names that programs are linked by.
file(GLOB ARCHIVES ${ROOT}/lib/*.a)
foreach(ARCHIVE ${ARCHIVES})
  execute_process(COMMAND ${CPACK_STRATA_OBJCOPY} --strip-debug --enable-deterministic-archives
    -R .comment ${ARCHIVE} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
# Folders and files as Debian has them, whatever the umask was.
execute_process(COMMAND chmod -R u=rwX,go=rX ${ROOT} COMMAND_ERROR_IS_FATAL ANY)
