/* SPDX-License-Identifier: MIT
** Parts of a row kernel, one after another, whose code differs in integers of the plan only: they
** become a loop over tables of these integers, so that LLVM compiles the code of many in the time
** of one.  The same operations are executed in the same order.
**
** Of each part its owner says what its code depends on: words that have to be equal, and numbers
** that may differ.  What emits the code asks for each of these numbers with repeats_number().
*/
#ifndef STRATA_ROWS_REPEATS_H
#define STRATA_ROWS_REPEATS_H

#include "emit.h"
#include "table.h"

/* What a number is, of a thing in the plan. */
typedef enum NumberKind {
    NUMBER_OPERAND, /* which one a value lies in */
    NUMBER_SCRATCH, /* where a value lies in the scratch */
    NUMBER_FIRST,   /* the first element of a slice, or of a piece in the whole */
    NUMBER_PIECE,   /* of a stack: which one it is */
    NUMBER_LENGTH   /* of a group's last axis */
} NumberKind;

typedef struct PlanNumber {
    const void *of;
    NumberKind kind;
    int64_t value;
} PlanNumber;

/* Where a part's words and numbers begin. */
typedef struct PartStart {
    int word, number;
} PartStart;

typedef struct LikeParts {
    PartStart *part;
    int n, most;
    int64_t *word;
    int words, most_words;
    PlanNumber *number;
    int numbers, most_numbers;
} LikeParts;

void parts_next(LikeParts *p); /* a part begins */
void parts_word(LikeParts *p, int64_t word);
void parts_number(LikeParts *p, const void *of, NumberKind kind, int64_t value);
void parts_free(LikeParts *p);

/* Parts from 'first' on: a period of them comes so many times. */
typedef struct PartsRun {
    int first, period, count;
} PartsRun;

/* The run from this part on that saves most room; of one part if none does. */
PartsRun parts_run(const LikeParts *p, int first);

/* A number of a part that the loop has as a value. */
typedef struct Varying {
    int part; /* in the period */
    const void *of;
    NumberKind kind;
    V value;
} Varying;

/* The loop being emitted. */
typedef struct Repeats {
    Loop loop;
    Varying *varying;
    Table find;
    int part; /* in the period: the one being emitted, which its owner sets */
} Repeats;

void repeats_open(Emit *e, Repeats *r, const LikeParts *p, PartsRun run);
void repeats_close(Emit *e, Repeats *r);
/* The number as a value: of each time if it differs, else a constant.  r is NULL outside loops. */
V repeats_number(Emit *e, const Repeats *r, const void *of, NumberKind kind, int64_t value);

#endif
