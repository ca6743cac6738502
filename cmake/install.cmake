# SPDX-License-Identifier: MIT
# What an installation holds: the compiler, libstrata with its headers, and what
# pkg-config and CMake need to find them.  Everything is found relative to its own
# place, so a DESTDIR or a moved folder works as it is.
include(CMakePackageConfigHelpers)
set(PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/strata)

install(TARGETS strata strata_runtime strata_shared EXPORT StrataTargets)
install(FILES runtime/abi.h runtime/strata.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strata)
foreach(PAGE strata.1 strata.h.3)
  configure_file(cmake/${PAGE} ${PAGE} @ONLY)
  string(REGEX REPLACE ".*\\." "" SECTION ${PAGE})
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${PAGE}
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man${SECTION})
endforeach()

# Where each shell looks for completion scripts of packages.
set(STRATA_COMPLETIONS "${CMAKE_INSTALL_DATADIR}" CACHE STRING
  "The folder in which shells' completion scripts are installed")
foreach(PLACE bash:bash-completion/completions/strata zsh:zsh/site-functions/_strata
    fish:fish/vendor_completions.d/strata.fish)
  string(REGEX MATCH "^([a-z]+):(.*)/(.*)$" PLACE ${PLACE})
  install(FILES ${CMAKE_BINARY_DIR}/completions/strata.${CMAKE_MATCH_1}
    DESTINATION ${STRATA_COMPLETIONS}/${CMAKE_MATCH_2} RENAME ${CMAKE_MATCH_3})
endforeach()

# What the last installation wrote, by its list (cmake --build BUILD --target uninstall).
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR}
  -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake VERBATIM)

# The guides, specs and the example, in the folders that they name each other in.
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
# what they name of the tests
foreach(FILE bench/retrofit.lua fuzz/LEDGER.md published.txt)
  get_filename_component(FOLDER ${FILE} DIRECTORY)
  install(FILES tests/${FILE} DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests/${FOLDER})
endforeach()
install(DIRECTORY specs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN demo.sh EXCLUDE)

# libstrata contains these; on Debian their licences are beside them.
foreach(PART utf8proc pcre2 zlib zstd)
  set(PACKAGE lib${PART}-dev)
  if(PART STREQUAL zlib)
    set(PACKAGE zlib1g-dev)
  endif()
  install(FILES /usr/share/doc/${PACKAGE}/copyright OPTIONAL
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/third-party RENAME ${PART})
endforeach()
install(FILES python/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/python)
install(DIRECTORY python/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}/python)

# From lib/pkgconfig and the like back to the prefix.
file(RELATIVE_PATH PREFIX_FROM_PKGCONFIG
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" PREFIX_FROM_PKGCONFIG ${PREFIX_FROM_PKGCONFIG})
configure_file(cmake/strata.pc.in strata.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/strata.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(EXPORT StrataTargets NAMESPACE Strata:: FILE strata-targets.cmake
  DESTINATION ${PACKAGE_FOLDER})
configure_package_config_file(cmake/strata-config.cmake.in strata-config.cmake
  INSTALL_DESTINATION ${PACKAGE_FOLDER})
write_basic_package_version_file(strata-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/strata-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/strata-config-version.cmake cmake/strata-model.cmake
  DESTINATION ${PACKAGE_FOLDER})
