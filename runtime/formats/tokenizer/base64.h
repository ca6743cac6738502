/* SPDX-License-Identifier: MIT
** Base64 with its padding. */
#ifndef STRATA_BASE64_H
#define STRATA_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* 'to' has room for length / 4 * 3 bytes, of which *n are there then. */
bool base64_decode(const char *text, size_t length, char *to, size_t *n);

#endif
