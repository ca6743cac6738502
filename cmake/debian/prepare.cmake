# SPDX-License-Identifier: MIT
# Run by cpack on what it has installed, before it becomes a package (package.cmake).
set(ROOT ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(DOC ${ROOT}/share/doc/strata)

function(compress FILE TO)
  execute_process(COMMAND gzip -9nc ${FILE} OUTPUT_FILE ${TO} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

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
# cpack strips what is linked; an archive keeps the names that programs are linked by.
file(GLOB ARCHIVES ${ROOT}/lib/*.a)
foreach(ARCHIVE ${ARCHIVES})
  execute_process(COMMAND ${CPACK_STRATA_OBJCOPY} --strip-debug --enable-deterministic-archives
    -R .comment ${ARCHIVE} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
# Folders and files as Debian has them, whatever the umask was.
execute_process(COMMAND chmod -R u=rwX,go=rX ${ROOT} COMMAND_ERROR_IS_FATAL ANY)
