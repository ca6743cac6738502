# SPDX-License-Identifier: MIT
# What makes an error in strata or libstrata end a process instead of running an attacker's code:
# canaries on stacks, bounds checked by libc's functions, and no table of functions that can be
# written once a program runs.  The kernels in models are compiled without (runtime/model): objects
# that are embedded need nothing of libc but memcpy and its like.
include(CheckPIESupported)
check_pie_supported()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_compile_options(-fstack-protector-strong)
if(NOT STRATA_SANITIZERS)       # which check the same functions, and better
  add_compile_options($<$<CONFIG:Release,RelWithDebInfo>:-U_FORTIFY_SOURCE>
    $<$<CONFIG:Release,RelWithDebInfo>:-D_FORTIFY_SOURCE=2>)
endif()
add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
