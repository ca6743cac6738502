/* SPDX-License-Identifier: MIT
** Recognises files that are no text by their first bytes (text_kinds.def), so that nobody trains
** on the bytes of a picture or an archive.
*/
#ifndef STRATA_TEXT_KIND_H
#define STRATA_TEXT_KIND_H

#include "error.h"

/* An error if what begins so is no text: the kind by its name where it is known, and what to do.
** 'packed': it was expanded out of compressed data, which must not come again. */
int text_kind_check(const char *path, const unsigned char *head, size_t n, bool packed, Error *e);

#endif
