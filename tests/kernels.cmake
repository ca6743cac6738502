# SPDX-License-Identifier: MIT
# The kernel library as native code, for tests and benches: one static library
# for each width and instruction set a model may be compiled for, and 16 lanes
# on AVX2 too, so that their logic is tested on processors without AVX-512.
#   strata_kernels_<set>    the kernels (and tests/support/native's calls into vector.h)
#   KERNEL_SETS             their names; BF16_SETS: of tests with bf16 or small in their name;
#                           SMALL_SETS: of those with small; TILE_SETS: of products of float32,
#                           gemm_test and slots_products_test
#   kernel_test(NAME FILE)  a cmocka program for each set
#   kernel_options(<set>)   sets KERNEL_LANES, KERNEL_LEVEL (of x86-64), KERNEL_PAIRS (it
#                           multiplies pairs of bfloat16s), KERNEL_TILES (in tiles, float32 too)
#                           and KERNEL_FLAGS
# Products of bfloat16 have two more, and what these do in plain C, tested everywhere; those of
# small weights one more, in the same way.
set(KERNEL_SETS sse avx2 avx2_wide avx512)
set(BF16_SETS tiles_in_c pairs_in_c avx512bf16 amx)
set(TILE_SETS tiles_in_c amx)
set(SMALL_SETS dots_in_c avxvnni)
get_property(KERNEL_FOLDERS GLOBAL PROPERTY STRATA_KERNEL_FOLDERS)
list(TRANSFORM KERNEL_FOLDERS PREPEND -I OUTPUT_VARIABLE KERNEL_INCLUDES)
list(TRANSFORM KERNEL_FOLDERS APPEND /*.c OUTPUT_VARIABLE KERNEL_SOURCES)
list(TRANSFORM KERNEL_FOLDERS APPEND /*.h OUTPUT_VARIABLE KERNEL_HEADERS)
file(GLOB KERNEL_SOURCES CONFIGURE_DEPENDS ${KERNEL_SOURCES} support/native/*.c)
get_property(HOST GLOBAL PROPERTY STRATA_HOST)
set(TARGET_FOLDER ${PROJECT_SOURCE_DIR}/runtime/target/${HOST})
file(GLOB KERNEL_HEADERS CONFIGURE_DEPENDS ${KERNEL_HEADERS} ${TARGET_FOLDER}/*.h)

# The level of each (levels.def); other lanes, or what stands in for instructions, in further flags.
set(LEVEL_sse v2)
set(LEVEL_avx2 v3)
set(LEVEL_avx2_wide v3)
set(MORE_avx2_wide -DLANES=16)
set(LEVEL_avx512 v4)
set(LEVEL_tiles_in_c v3)
set(MORE_tiles_in_c -DSTRATA_TILES_IN_C -DLANES=16)
set(LEVEL_pairs_in_c v3)
set(MORE_pairs_in_c -DSTRATA_PAIRS_IN_C -DLANES=16)
set(LEVEL_avx512bf16 v4_avx512bf16)
set(LEVEL_amx v4_amx)
set(LEVEL_dots_in_c v3)
set(MORE_dots_in_c -DSTRATA_DOTS_IN_C -DLANES=8)
set(LEVEL_avxvnni v3_avxvnni)

get_property(LEVELS GLOBAL PROPERTY STRATA_LEVELS_OF_${HOST})
set(TESTED)
foreach(SET ${KERNEL_SETS} ${BF16_SETS} ${SMALL_SETS})
  list(APPEND TESTED ${LEVEL_${SET}})
endforeach()
foreach(LEVEL ${LEVELS})
  if(NOT LEVEL IN_LIST TESTED)
    message(FATAL_ERROR "kernels.cmake: expected a set of kernels for level ${LEVEL} of "
      "levels.def, found none")
  endif()
endforeach()

function(kernel_options SET)
  get_property(FLAGS GLOBAL PROPERTY STRATA_LEVEL_${LEVEL_${SET}})
  if(MORE_${SET})
    list(FILTER FLAGS EXCLUDE REGEX "^-DLANES=")
    list(APPEND FLAGS ${MORE_${SET}})
  endif()
  string(REGEX MATCH "-march=x86-64-v([0-9]+)" LEVEL "${FLAGS}")
  set(KERNEL_LEVEL ${CMAKE_MATCH_1} PARENT_SCOPE)
  string(REGEX MATCH "-DLANES=([0-9]+)" LANES "${FLAGS}")
  set(KERNEL_LANES ${CMAKE_MATCH_1} PARENT_SCOPE)
  set(KERNEL_PAIRS 0 PARENT_SCOPE)
  if(SET IN_LIST BF16_SETS)
    set(KERNEL_PAIRS 1 PARENT_SCOPE)
  endif()
  set(KERNEL_TILES 0 PARENT_SCOPE)
  if(SET IN_LIST TILE_SETS)
    set(KERNEL_TILES 1 PARENT_SCOPE)
  endif()
  set(KERNEL_FLAGS -std=gnu11 -O2 -gdwarf-4 -Wall -Wextra -Werror -Wno-psabi -Wno-pass-failed
      -fno-math-errno -ffp-contract=off -fPIC ${FLAGS} ${KERNEL_INCLUDES} -I${TARGET_FOLDER}
      -I${PROJECT_SOURCE_DIR}/runtime -I${PROJECT_SOURCE_DIR}/runtime/base/numbers PARENT_SCOPE)
endfunction()

# OBJECT: what clang makes of SOURCE for SET, with more flags after them.
function(kernel_object OBJECT SOURCE SET)
  kernel_options(${SET})
  get_filename_component(NAME ${SOURCE} NAME_WE)
  set(OUT ${CMAKE_CURRENT_BINARY_DIR}/${NAME}.${SET}.o)
  add_custom_command(OUTPUT ${OUT} DEPENDS ${SOURCE} ${KERNEL_HEADERS}
    COMMAND ${STRATA_CLANG} ${KERNEL_FLAGS} ${ARGN} -c ${SOURCE} -o ${OUT} VERBATIM)
  set_source_files_properties(${OUT} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(${OBJECT} ${OUT} PARENT_SCOPE)
endfunction()

# Traps need no sanitizer library, so they go with either compiler's; guard
# pages in the tests stand in for the address sanitizer.
set(KERNEL_TRAPS)
if(STRATA_SANITIZE)
  set(KERNEL_TRAPS -fsanitize=undefined -fsanitize-trap=undefined)
endif()
foreach(SET ${KERNEL_SETS} ${BF16_SETS} ${SMALL_SETS})
  set(OBJECTS)
  set(SOURCES ${KERNEL_SOURCES})
  if(SET IN_LIST BF16_SETS)
    string(CONCAT TAKEN "/(gemm[a-z0-9_]*|gemv[a-z_]*|attention[a-z_]*|small_product|"
      "experts|largest|lists|optimizer)\\.c$")
    list(FILTER SOURCES INCLUDE REGEX "${TAKEN}")
  endif()
  if(SET IN_LIST SMALL_SETS)
    list(FILTER SOURCES INCLUDE REGEX "/small_product\\.c$")
  endif()
  foreach(SOURCE ${SOURCES})
    kernel_object(OBJECT ${SOURCE} ${SET} -ffreestanding ${KERNEL_TRAPS})
    list(APPEND OBJECTS ${OBJECT})
  endforeach()
  add_library(strata_kernels_${SET} STATIC EXCLUDE_FROM_ALL ${OBJECTS})
  set_target_properties(strata_kernels_${SET} PROPERTIES LINKER_LANGUAGE C)
endforeach()

# A test of kernels, one that includes kernel_test.h, becomes one program for each
# set; it exits with 77, "skipped", where the processor lacks the instructions.
function(kernel_test NAME SOURCE)
  set(SETS ${KERNEL_SETS})
  if(NAME MATCHES "bf16|small")
    list(APPEND SETS ${BF16_SETS})
  endif()
  if(NAME MATCHES "^(gemm|slots_products)_test$")
    list(APPEND SETS ${TILE_SETS})
  endif()
  if(NAME MATCHES "small")
    list(APPEND SETS ${SMALL_SETS})
  endif()
  foreach(SET ${SETS})
    kernel_options(${SET})
    add_executable(${NAME}_${SET} ${SOURCE})
    target_compile_definitions(${NAME}_${SET} PRIVATE LANES=${KERNEL_LANES}
      KERNEL_LEVEL=${KERNEL_LEVEL} KERNEL_PAIRS=${KERNEL_PAIRS} KERNEL_TILES=${KERNEL_TILES}
      KERNEL_CPU="x86-64-v${KERNEL_LEVEL}" KERNEL_SET_${SET})
    target_include_directories(${NAME}_${SET} PRIVATE ${KERNEL_FOLDERS} ${TARGET_FOLDER}
      ${PROJECT_SOURCE_DIR}/runtime/base/numbers
      ${CMAKE_CURRENT_SOURCE_DIR}/support ${CMAKE_CURRENT_SOURCE_DIR}/support/native)
    target_link_libraries(${NAME}_${SET} PRIVATE strata_kernels_${SET} PkgConfig::CMOCKA m)
    add_test(NAME ${NAME}_${SET} COMMAND ${NAME}_${SET})
    set_tests_properties(${NAME}_${SET} PROPERTIES SKIP_RETURN_CODE 77 LABELS kernels)
  endforeach()
endfunction()

# Benches, compiled as the kernels are: 'cmake --build build --target bench', then
# run tests/bench/NAME_<set>.
find_library(OPENBLAS openblas)
set(BLAS_FLAG)
if(OPENBLAS)
  set(BLAS_FLAG -DHAVE_OPENBLAS)
endif()
add_custom_target(bench)
file(GLOB BENCHES CONFIGURE_DEPENDS bench/*_bench.c)
foreach(SOURCE ${BENCHES})
  get_filename_component(NAME ${SOURCE} NAME_WE)
  foreach(SET ${KERNEL_SETS} ${BF16_SETS})
    if(MORE_${SET})
      continue()
    endif()
    kernel_object(OBJECT ${SOURCE} ${SET} ${BLAS_FLAG})
    set(PROGRAM ${NAME}_${SET})
    add_executable(${PROGRAM} EXCLUDE_FROM_ALL ${OBJECT})
    set_target_properties(${PROGRAM} PROPERTIES LINKER_LANGUAGE C
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)
    target_link_libraries(${PROGRAM}
      PRIVATE strata_kernels_${SET} $<$<BOOL:${OPENBLAS}>:${OPENBLAS}> m)
    add_dependencies(bench ${PROGRAM})
  endforeach()
endforeach()
