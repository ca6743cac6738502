/* SPDX-License-Identifier: MIT
** Reports on standard error what a long command is doing.  On a terminal it rewrites one line;
** otherwise it prints a line at once and another one every few seconds.  The working process says
** what begins, and the waiting process reports how long that has taken, so that the working
** process never looks at a clock.
*/
#ifndef STRATA_DOING_H
#define STRATA_DOING_H

#include <stdbool.h>

struct Allowance;

/* Memory that the processes share. */
typedef struct DoingNote {
    char what[256]; /* "": nothing is told */
    double since;   /* seconds of the clock: when it began */
    double told;    /* when the last line was; 0: there was none */
    bool stands;    /* on a terminal, where it is not ended */
} DoingNote;

/* Is standard error a terminal? */
bool doing_on_terminal(const struct Allowance *a);
/* Something begins. */
void doing(struct Allowance *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of who tells for himself how far he is; what the waiting process tells ends. */
void doing_say(struct Allowance *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Nothing more is told; a terminal's line is cleared. */
void doing_end(struct Allowance *a);
/* For the process that waits, about twice a second. */
void doing_tick(void *allowance);

#endif
