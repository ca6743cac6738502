/* SPDX-License-Identifier: MIT
** What training shows while it runs: one line that is rewritten on a terminal, otherwise an
** occasional line.  Output that cannot be written does not stop the training; the command reports
** it at the end.
*/
#ifndef STRATA_PROGRESS_H
#define STRATA_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "json.h"

typedef struct Progress {
    int64_t steps;        /* of the run; 0: time decides, */
    double begun, end;    /* from when to when, by machine_now; 0: steps do */
    double tokens, flops; /* a step */
    double peak;          /* FLOP/s; 0: unknown */
    const char *unit;     /* "window"; NULL: "step" */
    bool terminal, plain; /* plain: no colours */
    bool quiet;           /* says nothing */
    double load;          /* of others, when it began; 0: hardly any */
    double epoch;         /* how often the data was gone through; 0: not told */
    double seconds;       /* a step, smoothed */
    double shown;         /* when */
    bool line;            /* the terminal's line is not ended */
    Error lost;           /* why the first text was that could not be written; status 0: none */
} Progress;

/* Is the file a terminal whose lines can be rewritten? */
bool progress_rewrites(int file);
/* tokens, flops and steps are set; finds out about standard output. */
void progress_open(Progress *p);
void progress_time(Progress *p, double seconds); /* that a step took */
/* Steps are faster than the peak: something else ran when that was measured. */
bool progress_beats_peak(const Progress *p);
void progress_step(Progress *p, int64_t step, double loss);
/* "3/400", or "3" where time decides. */
char *progress_steps(const Progress *p, int64_t step, char to[64]);
/* What is shown on a terminal of so many columns. */
void progress_line(const Progress *p, int64_t step, double loss, int columns, Text *t);
/* The same without a bar, and all of it. */
void progress_words(const Progress *p, int64_t step, double loss, Text *t);
/* A line of its own; format as printf. */
void progress_note(Progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "note: ...", of what may be wrong: on standard error where progress is not shown (--quiet).
** Nothing for "". */
void progress_warn(Progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void progress_close(Progress *p);

#endif
