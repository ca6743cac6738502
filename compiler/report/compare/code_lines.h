/* SPDX-License-Identifier: MIT
** Code as lines that can be compared side by side: the kernel listing, or the assembly of one
** function.  Every line knows the Lua line that it came from and has a shape: a hash of the line
** without mere numbering.  Two lines with the same shape are the same to a reader: the same
** operation on operands of the same kind.
*/
#ifndef STRATA_CODE_LINES_H
#define STRATA_CODE_LINES_H

#include "report.h"

enum { CODE_LINES = 4096 }; /* of a kernel: what comes after is counted only */

typedef struct CodeLine {
    size_t text, place; /* in 'all'; place: "FILE:LINE", or "" */
    uint64_t shape;
} CodeLine;

typedef struct CodeLines {
    Text all; /* texts, each with a NUL */
    CodeLine *line;
    int n, room;
    int more;    /* lines that were there beyond CODE_LINES */
    bool failed; /* no memory */
} CodeLines;

/* The listing of a row kernel.  Values are numbered anew in every kernel: their numbers
** are no part of a shape, and neither is a layer's. */
void code_listing(const Report *r, const ReportKernel *k, CodeLines *out);

/* The instructions of a function in LLVM's assembly text; nothing if it is not there.  In
** a shape registers are their kind, labels and constants nameless, offsets left out. */
void code_assembly(const char *text, const char *function, CodeLines *out);

const char *code_text(const CodeLines *c, int i);
const char *code_place(const CodeLines *c, int i);
void code_free(CodeLines *c);

/* For every line of a the line of b that it is the same as, in order; -1: it is not there.
** A longest common subsequence of shapes.  To be freed; NULL: no memory. */
int *code_align(const CodeLines *a, const CodeLines *b);
/* Lines of a that are in b. */
int code_common(const CodeLines *a, const int *align);

#endif
