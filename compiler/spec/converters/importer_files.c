/* SPDX-License-Identifier: MIT
** The importers in specs/library/import, embedded in the compiler; library.c loads them. */
#include "front.h"

#include "importers.inc"
