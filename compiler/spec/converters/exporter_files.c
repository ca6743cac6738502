/* SPDX-License-Identifier: MIT
** The exporters in specs/library/export, embedded in the compiler; library.c loads them. */
#include "front.h"

#include "exporters.inc"
