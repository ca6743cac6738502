/* SPDX-License-Identifier: MIT
** What stands around the messages of a conversation; chat_templates.def. */
#ifndef STRATA_CHAT_TEMPLATE_H
#define STRATA_CHAT_TEMPLATE_H

#include "tokenizer.h"

typedef struct ChatTemplate {
    const char *name, *needs[2];
    bool strict; /* it cannot be written without what it needs */
    const char *begin, *system, *user, *end;
    char end_byte;
    const char *after;
} ChatTemplate;

/* By name; NULL: the one whose tokens the tokenizer has.  An error: a name that is none, or one
** whose tokens the tokenizer lacks. */
int chat_template_find(const char *name, const Tokenizer *t, const ChatTemplate **found, Error *e);

/* Adds what a form (begin, system, user, after) makes of a message to ids.  A special token that
** the message spells is text. */
int chat_template_write(const Tokenizer *t, const char *form, const char *message, size_t length,
                        TokenIds *ids, Error *e);

#endif
