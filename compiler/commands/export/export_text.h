/* SPDX-License-Identifier: MIT
** What an exported folder says about texts; see export_text.c.
*/
#ifndef STRATA_EXPORT_TEXT_H
#define STRATA_EXPORT_TEXT_H

#include "export.h"
#include "tokenizer.h"

typedef struct ExportText {
    const char *file; /* the tokenizer's; NULL: none */
    char *bytes;
    size_t length;
    Tokenizer t; /* kind NULL: programs cannot read it */
    Json object; /* no nodes: it has none */
} ExportText;

int export_text_open(ExportText *x, const char *file, Error *e);
void export_text_close(ExportText *x);
/* config.json with the ids of tokens. */
int export_text_config(const ExportText *x, Text *config, Error *e);
/* All other files. */
int export_text_write(const ExportText *x, bool cache, const ExportFolder *f, Error *e);

#endif
