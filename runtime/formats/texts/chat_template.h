/* SPDX-License-Identifier: MIT
** What stands around the messages of a conversation; chat_templates.def. */
#ifndef STRATA_CHAT_TEMPLATE_H
#define STRATA_CHAT_TEMPLATE_H

#include "tokenizer.h"

typedef struct ChatTemplate {
    const char *name, *needs[2], *unlike;
    bool strict; /* it cannot be written without what it needs */
    const char *begin, *system, *user, *end;
    char end_byte;
    const char *after;
} ChatTemplate;

/* By name; NULL: the one that the checkpoint's template writes, else the one whose tokens the
** tokenizer has.  An error: a name that is none, or one whose tokens the tokenizer lacks. */
int chat_template_find(const char *name, const Tokenizer *t, const ChatTemplate **found, Error *e);
/* The family that a checkpoint's template writes; NULL: none of these. */
const ChatTemplate *chat_template_family(const char *template);
/* Its name, or that it is none. */
const char *chat_template_name(const char *template);
/* Whether it stands within the first message. */
bool chat_template_inner_system(const ChatTemplate *x);
/* The system message that a checkpoint's template writes where a conversation has none of its own,
** added to 'out'; false: it writes none. */
bool chat_template_default(const ChatTemplate *x, const char *template, Text *out);
/* Adds "'<|user|>', '<|end|>'": the first tokens that a template writes. */
void chat_template_tokens(const Tokenizer *t, const char *template, Text *out);

/* Adds what a form (begin, system, user, after) makes of a message to ids.  A special token that
** the message spells is text. */
int chat_template_write(const Tokenizer *t, const char *form, const char *message, size_t length,
                        TokenIds *ids, Error *e);

#endif
