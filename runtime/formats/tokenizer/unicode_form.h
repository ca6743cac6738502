/* SPDX-License-Identifier: MIT
** Unicode's normalization forms C, D, KC and KD, in time that grows with the text: utf8proc_map
** sorts marks by insertion, which takes the square of their number. */
#ifndef STRATA_UNICODE_FORM_H
#define STRATA_UNICODE_FORM_H

#include "normalize.h"

/* Adds the text, valid UTF-8, in the form 'kind', NORMALIZE_NFC to NORMALIZE_NFKD, to 'out'. */
int unicode_form(NormalizeKind kind, NormalizeWork *w, Text *out, const char *text, size_t length);

#endif
