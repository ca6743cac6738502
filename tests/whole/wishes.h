/* SPDX-License-Identifier: MIT
** Small trained models of each kind of state, and answers that somebody wishes of them, drawn in
** all ways that there are.
*/
#ifndef TEST_WISHES_H
#define TEST_WISHES_H

#include "generator.h"

/* Of each kind of state one: caches of all tokens, of a window, what operations over time carry,
** and caches of those tokens that a route takes. */
enum { FULL, WINDOW, PAST, ROUTE, MODELS };
extern Session wish_session[MODELS];
extern Error wish_error;

void wish_check(int status); /* of a call that was given &wish_error */
int wish_open(void **state);
int wish_close(void **state);

/* What somebody wants written. */
typedef struct Wish {
    const char *prompt;
    int64_t most;
    SequenceSettings how;
} Wish;

enum { WISHES = 7 };
extern const Wish wish[WISHES]; /* the first is the likeliest text, the fourth has a penalty */

/* A wish at work. */
typedef struct Writing {
    const Wish *wish;
    Sequence *x;
    Text text;
} Writing;

Generator *wish_slots(Session *s, int32_t slots);
void wish_read(Writing *w, const char *text);
Writing wish_begin(Generator *g, const Wish *want);
/* Takes what a step gave; false: the answer has ended, and its sequence has left. */
bool wish_take(Writing *w);
/* What it becomes alone; to be freed. */
char *wish_alone(Session *s, const Wish *want);
/* Its text is the one expected, and is freed. */
void wish_same(const Session *s, Writing *w, const char *expected);

#endif
