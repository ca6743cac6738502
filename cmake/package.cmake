# SPDX-License-Identifier: MIT
# A package for Debian of what an installation holds:  cpack -G DEB, in the build folder.
set(CPACK_PACKAGE_NAME strata)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${STRATA_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler from transformers described in Lua to machine code")
set(CPACK_PACKAGE_DESCRIPTION "Strata compiles transformers, written as short Lua programs, to
standalone programs that train, evaluate and generate, or to objects and
libraries with a C header, for programs that contain a model. How layers are
connected in depth is part of the description.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_SET_DESTDIR OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# Libraries by what the files need; cc, ar and objcopy link what is compiled.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "gcc | clang, libc6-dev, binutils")
# The Python package is part of it, and needs a Python with numpy to be used; build --blas openblas
# links the library.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libopenblas-pthread-dev, python3, python3-numpy")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, pkgconf")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers
  ${PROJECT_SOURCE_DIR}/cmake/debian/postinst ${PROJECT_SOURCE_DIR}/cmake/debian/prerm
  ${CMAKE_CURRENT_BINARY_DIR}/debian/shlibs)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# What only a package has, and how Debian wants files.
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/debian)
configure_file(cmake/debian/changelog debian/changelog @ONLY)
configure_file(cmake/debian/shlibs debian/shlibs @ONLY)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/prepare.cmake)
set(CPACK_STRATA_DEBIAN ${PROJECT_SOURCE_DIR}/cmake/debian)
set(CPACK_STRATA_PYTHON ${PROJECT_SOURCE_DIR}/python/strata)
set(CPACK_STRATA_VERSION ${PROJECT_VERSION})
set(CPACK_STRATA_CHANGELOG ${CMAKE_CURRENT_BINARY_DIR}/debian/changelog)
set(CPACK_STRATA_OBJCOPY ${CMAKE_OBJCOPY})
include(CPack)
