/* SPDX-License-Identifier: MIT
** What the completion scripts of the shells have in common.  A script walks the words in
** front of the cursor: 'in' is the command that they are in, "" before there is one; behind a
** spec, where a program's command line begins, "run/", and in its commands "run/train".
*/
#ifndef STRATA_COMPLETION_H
#define STRATA_COMPLETION_H

#include "options.h"

typedef enum Wanted {
    WANTS_NOTHING,
    WANTS_LIST, /* one of those that the argument lists */
    WANTS_FILE,
    WANTS_FOLDER,
    WANTS_SPEC /* a .lua file, or a folder on the way to it */
} Wanted;

typedef struct CompletionLevel {
    const OptionTable *table;
    char prefix[32]; /* of its commands: "" or "run/" */
    int outer;       /* the command behind whose first word the next level begins, or -1 */
} CompletionLevel;

typedef struct Completion {
    const char *program;
    CompletionLevel level[2];
    int levels;
} Completion;

Wanted completion_value(const OptionRow *r); /* of an option, in a word of its own */
bool completion_takes_value(const OptionRow *r);
Wanted completion_first(const CommandRow *c); /* the first word of a command, and the others */
Wanted completion_rest(const CommandRow *c);
bool completion_shows(const CommandRow *c);

/* The program's name as part of a shell function's. */
void completion_function(Text *t, const char *program);
/* Inside single quotes, for bash and zsh; and with them. */
void completion_within_quotes(Text *t, const char *s, size_t length);
void completion_quoted(Text *t, const char *s);
/* A word that a shell reads back as it is, with a backslash where one is needed. */
void completion_word(Text *t, const char *s, size_t length);
/* "a|b", up to a space, as "a b", each such a word; and inside single quotes. */
void completion_words(Text *t, const char *list);
void completion_quoted_words(Text *t, const char *list);
/* Inside single quotes: "-w --weights", -O as "-O0 -O1 ..."; and all commands. */
void completion_option(Text *t, const OptionTable *table, int option);
void completion_commands(Text *t, const OptionTable *table);

void completion_bash(Text *t, const Completion *c);
void completion_zsh(Text *t, const Completion *c);
void completion_fish(Text *t, const Completion *c);

#endif
