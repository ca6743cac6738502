/* SPDX-License-Identifier: MIT
** Small models with routes of every kind, a text, and a folder in which their programs are built.
*/
#ifndef TEST_ROUTED_PROGRAMS_H
#define TEST_ROUTED_PROGRAMS_H

#include "json.h"
#include "program_run.h"

enum { CONTEXT = 26, WIDTH = 16, LAYERS = 5, ROUTED_KINDS = 2 };

typedef struct RoutedKind {
    const char *name, *residual, *route[LAYERS - 1];
} RoutedKind;

extern const RoutedKind routed_kind[ROUTED_KINDS];
extern const RoutedKind routed_gated; /* has gates of sublayers that work on no token */
/* CONTEXT tokens and one more: marks, an escape, a character of two tokens and a line break. */
extern const char routed_text[CONTEXT + 2];

void routed_open(Folder *f); /* a new folder, in it the file "text" */
/* NAME.lua, the program NAME and its initial weights NAME.st. */
void routed_build(const Folder *f, const RoutedKind *k);
/* What the program says of these, as JSON, and page.html; json_free it. */
void routed_probe(const Folder *f, const RoutedKind *k, Json *j);

#endif
