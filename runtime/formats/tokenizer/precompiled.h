/* SPDX-License-Identifier: MIT
** A map of characters as the package 'tokenizers' uses it: character by character, as a reader sees
** them. */
#ifndef STRATA_PRECOMPILED_H
#define STRATA_PRECOMPILED_H

#include "charsmap.h"

/* Adds the normalized text. */
void precompiled(const Charsmap *x, Text *out, const char *text, size_t length);

#endif
