/* SPDX-License-Identifier: MIT
** Regular expressions of tokenizers' files, matched by PCRE2.  They were written for other
** libraries: Oniguruma (tokenizer.json) and Rust's regex (tiktoken).  Parts with another meaning
** in PCRE2 are rewritten, and parts without a counterpart are refused by name.  A match that
** exceeds PCRE2's limits of steps or memory is an error.  So is a text whose matches examine far
** more of it than they take: the cost of all matches grows with the length of the text, not with
** its square.
*/
#ifndef STRATA_PATTERN_H
#define STRATA_PATTERN_H

#include "json.h"

typedef enum PatternSyntax { PATTERN_ONIGURUMA, PATTERN_RUST } PatternSyntax;

enum { PATTERN_LONGEST = 16384 }; /* bytes of an expression */

typedef struct Pattern {
    void *code;     /* NULL: none */
    void *counted;  /* the same, which says what it looks at */
    uint32_t least; /* characters that an item of it needs, at most */
    bool flat;      /* in it nothing that has no end is within what is repeated or looked for */
    char *source;   /* "FILE: EXPRESSION", for messages */
} Pattern;

int pattern_open(Pattern *p, const char *text, PatternSyntax syntax, const char *what, Error *e);
void pattern_free(Pattern *p);

/* The first match at or behind 'at' in valid UTF-8: 1 and [*from, *to), 0, or an error below 0;
** *memory, NULL at first, is kept from match to match and from text to text of a call, and freed by
** pattern_done.  A text's first match is looked for at 0. */
int pattern_next(const Pattern *p, const char *text, size_t length, size_t at, size_t *from,
                 size_t *to, void **memory);
void pattern_done(void *memory);
enum {
    PATTERN_MEMORY = -48, /* PCRE2_ERROR_NOMEMORY */
    PATTERN_SPENT = -10000
};
/* A text that is cut, for messages; steps before a pattern make other texts of its parts. */
typedef struct PatternPlace {
    const char *what; /* a file, an option */
    const char *text;
    size_t length;
    uint64_t before; /* bytes in front of 'text', which was given in pieces */
    size_t part;     /* of 'text': where the part begins that is cut now */
} PatternPlace;

/* The error of matching at 'at', in the place's text or in one that was made of its part. */
int pattern_failed(const Pattern *p, int code, const PatternPlace *place, const char *at, Error *e);

/* pattern_syntax.c: the expression as PCRE2 reads it, added to 'out'. */
int pattern_rewrite(Text *out, const char *text, PatternSyntax syntax, const char *what, Error *e);

/* pattern_cost.c: of what that wrote, Pattern's 'flat' and 'least' */
void pattern_cost(const char *rewritten, bool *flat, uint32_t *least);

#endif
