/* SPDX-License-Identifier: MIT
** Sublayers for tests of routes: all of the library's, and some of a user's. */
#ifndef TESTS_ROUTED_KINDS_H
#define TESTS_ROUTED_KINDS_H

#include <stdbool.h>

/* What stands in the braces of a layer; %s: more fields of a sublayer, up to three times. */
typedef struct RoutedKind {
    const char *sublayers;
    bool layer;         /* for routes of a layer only */
    const char *hiding; /* what refuses it where a route hides tokens from others; NULL: nothing */
} RoutedKind;

enum { ROUTED_KINDS = 29 };
extern const RoutedKind routed_kinds[];

#endif
