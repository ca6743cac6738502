/* SPDX-License-Identifier: MIT
** The object of text_facts.h in a SentencePiece model: a field that its readers pass over. */
#ifndef STRATA_TEXT_OBJECT_MODEL_H
#define STRATA_TEXT_OBJECT_MODEL_H

#include "json.h"

/* The field in a message, with its key. */
bool text_model_span(const char *bytes, size_t length, size_t *from, size_t *to);
/* The same, of its content alone. */
bool text_model_object(const char *bytes, size_t length, const char **text, size_t *size);
/* Adds the field behind a message. */
void text_model_put(Text *out, const Text *object);

#endif
