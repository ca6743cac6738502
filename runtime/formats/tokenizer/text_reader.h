/* SPDX-License-Identifier: MIT
** The object of text_facts.h while a tokenizer's file is read: its tokens join those of the file,
** and then it says what begins and ends texts.
*/
#ifndef STRATA_TEXT_READER_H
#define STRATA_TEXT_READER_H

#include "tokenizer.h"

typedef struct TextReader {
    Json own; /* of a text */
    TextObject object;
    TextAdded *added;
    int count;
    int32_t pieces; /* of a model: those that are ranked */
} TextReader;

/* 'node' NULL: there is none.  What was opened, failed or not, is to be closed. */
int text_reader_node(TextReader *r, const Json *j, const JsonNode *node, const char *what,
                     Error *e);
int text_reader_text(TextReader *r, const char *text, size_t size, const char *what, Error *e);
void text_reader_close(TextReader *r);

/* As many ids as the file's 'ids' and those that it adds. */
int32_t text_reader_ids(const TextReader *r, int32_t ids);
/* Its tokens into t's tables, once the file's are there. */
int text_reader_add(const TextReader *r, Tokenizer *t, Error *e);

#endif
