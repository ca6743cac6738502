/* SPDX-License-Identifier: MIT
** Shared by the functions of strata.h. */
#ifndef STRATA_LIBRARY_H
#define STRATA_LIBRARY_H

#include "tokenizer.h"

struct strata_tokenizer {
    Tokenizer t;
};

/* The status, which an error's text goes with into the caller's room. */
static inline int32_t tell(const Error *e, int status, char *message, size_t size) {
    if (message && size) print_text(message, size, "%s", status ? e->text : "");
    return status;
}

#endif
