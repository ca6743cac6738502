/* SPDX-License-Identifier: MIT
** Files that are part of the program (embed.cmake). */
#ifndef STRATA_EMBEDDED_H
#define STRATA_EMBEDDED_H

#include <stddef.h>

typedef struct Embedded {
    const char *name;
    const unsigned char *text;
    size_t size;
} Embedded;

#endif
