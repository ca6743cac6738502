# SPDX-License-Identifier: MIT
# strata_add_model(TARGET SPEC [SHARED] [INFERENCE] [CPU NAME] [PREFIX NAME] [BLAS NAME]
#                  [OPTIONS ...] [DEPENDS ...])
#   A static library TARGET: the spec compiled to an object when the library is built,
#   with its header TARGET.h in the include directories of what links to TARGET.
#   SHARED     a shared library, libTARGET.so in the build folder, which exports
#              strata_model_api too; as it is imported, install($<TARGET_FILE:TARGET>) does it
#   INFERENCE  leaves training out
#   CPU        of the machine it will run on (native: the one it is built on)
#   PREFIX     of the header's names (the model's name in the spec)
#   BLAS       who multiplies: openblas, which TARGET is linked with then, auto or generated
#   OPTIONS    more options of 'strata build'
#   DEPENDS    more files or targets to wait for and to build anew after
# The library is built anew when the spec, a file that it requires, the options or the
# compiler change.  The object needs memcpy, memmove and memset and nothing else, but for
# BLAS; link Strata::strata for threads and weight files.
cmake_policy(PUSH)
cmake_policy(VERSION 3.20...3.25) # CMP0116: ninja, too, reads the names in depfiles as they are

# A static library needs a language to be archived in; the object is of none.
function(strata_language TARGET)
  get_property(LANGUAGES GLOBAL PROPERTY ENABLED_LANGUAGES)
  foreach(LANGUAGE C CXX Fortran)
    if(LANGUAGE IN_LIST LANGUAGES)
      set_target_properties(${TARGET} PROPERTIES LINKER_LANGUAGE ${LANGUAGE})
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "strata_add_model(${TARGET}): expected a project with C or C++, "
    "found languages ${LANGUAGES}")
endfunction()

# What is built is a file: an imported library, whose users wait for it.
function(strata_shared_model TARGET FILE FOLDER)
  add_custom_target(${TARGET}_model ALL DEPENDS "${FILE}")
  add_library(${TARGET} SHARED IMPORTED GLOBAL)
  set_target_properties(${TARGET} PROPERTIES IMPORTED_LOCATION "${FILE}" IMPORTED_NO_SONAME ON
    INTERFACE_INCLUDE_DIRECTORIES "${FOLDER}")
  add_dependencies(${TARGET} ${TARGET}_model)
endfunction()

# Whoever links TARGET links OpenBLAS, a build of it that several threads may call.
function(strata_link_openblas TARGET)
  find_library(STRATA_OPENBLAS openblas PATH_SUFFIXES openblas-pthread)
  if(NOT STRATA_OPENBLAS)
    message(FATAL_ERROR "strata_add_model(${TARGET}): BLAS: expected OpenBLAS "
      "(libopenblas-pthread-dev), found none")
  endif()
  target_link_libraries(${TARGET} INTERFACE ${STRATA_OPENBLAS})
endfunction()

function(strata_add_model TARGET SPEC)
  cmake_parse_arguments(PARSE_ARGV 2 MODEL "SHARED;INFERENCE" "CPU;PREFIX;BLAS" "OPTIONS;DEPENDS")
  if(MODEL_UNPARSED_ARGUMENTS OR MODEL_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "strata_add_model(${TARGET}): expected SPEC [SHARED] [INFERENCE] "
      "[CPU NAME] [PREFIX NAME] [BLAS NAME] [OPTIONS ...] [DEPENDS ...], "
      "found '${MODEL_UNPARSED_ARGUMENTS}${MODEL_KEYWORDS_MISSING_VALUES}'")
  endif()
  get_filename_component(SPEC "${SPEC}" ABSOLUTE)
  if(NOT EXISTS "${SPEC}" AND NOT MODEL_DEPENDS)
    message(FATAL_ERROR "strata_add_model(${TARGET}): expected a spec, or one that DEPENDS will "
      "make, found no file ${SPEC}")
  endif()
  set(FOLDER "${CMAKE_CURRENT_BINARY_DIR}/${TARGET}.model")
  file(MAKE_DIRECTORY "${FOLDER}")
  set(OBJECT "${FOLDER}/${TARGET}.o")
  set(HEADER "${FOLDER}/${TARGET}.h")
  set(EMIT obj)
  if(MODEL_SHARED)
    set(OBJECT "${FOLDER}/lib${TARGET}.so")
    set(HEADER "${FOLDER}/lib${TARGET}.h")
    set(EMIT shared)
  endif()
  set(COMMAND Strata::strata_compiler build "${SPEC}" --emit ${EMIT} -o "${OBJECT}"
    --depfile "${OBJECT}.d")
  if(MODEL_INFERENCE)
    list(APPEND COMMAND --inference)
  endif()
  foreach(NAME CPU PREFIX BLAS)
    if(MODEL_${NAME})
      string(TOLOWER ${NAME} OPTION)
      list(APPEND COMMAND --${OPTION} "${MODEL_${NAME}}")
    endif()
  endforeach()
  add_custom_command(OUTPUT "${OBJECT}" BYPRODUCTS "${HEADER}" DEPFILE "${OBJECT}.d"
    COMMAND ${COMMAND} ${MODEL_OPTIONS}
    DEPENDS "${SPEC}" ${MODEL_DEPENDS} $<TARGET_FILE:Strata::strata_compiler>
    COMMENT "Compiling the model ${TARGET}" VERBATIM)
  if(MODEL_SHARED)
    file(WRITE "${FOLDER}/${TARGET}.h" "#include \"lib${TARGET}.h\"\n")
    strata_shared_model(${TARGET} "${OBJECT}" "${FOLDER}")
    return()
  endif()
  set_source_files_properties("${OBJECT}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_library(${TARGET} STATIC "${OBJECT}")
  target_include_directories(${TARGET} INTERFACE "${FOLDER}")
  strata_language(${TARGET})
  if(MODEL_BLAS MATCHES "^(openblas|auto)$")
    strata_link_openblas(${TARGET})
  endif()
endfunction()

cmake_policy(POP)
