/* SPDX-License-Identifier: MIT
** Shared by the files that emit a row kernel.  Each file calls the ones before it:
**   rows_index.c < rows_memory.c < rows_expr.c < rows_iterate.c, rows_tables.c, rows_statement.c,
**   rows_ahead.c < rows_pieces.c < rows_loops.c < rows_kernel.c.
**
** An expression is evaluated at an index of its own axes (At).  In CHANNELS and UNIFORM mode lanes
** run along the last axis; in TOKENS mode every value has one lane per token.
*/
#ifndef STRATA_ROWS_CODE_H
#define STRATA_ROWS_CODE_H

#include "rows.h"
#include "rows_check.h"
#include "rows_repeats.h"

typedef struct At {
    V idx[MAXRANK];
    int lane; /* axis along which lanes run; -1: none */
} At;

typedef struct Memo {
    const Node *n;
    At at;
    int lanes;
    V value;
    uint64_t hash;
    int before; /* the one before it in its list; -1 */
} Memo;

enum { LINE = 16 };          /* floats of a cache line */
enum { AHEAD_OPERANDS = 3 }; /* that are asked for, and more if they are a row each */

/* Where the code is that is being emitted. */
typedef struct RowCursor {
    V t0, rows; /* tile: first token, tokens in it */
    V t, row;   /* CHANNELS: token, its place in the tile */
    Mode mode;
    int lanes;           /* of the loop; 1: scalars */
    int statements;      /* of the group */
    int64_t copies;      /* of the body: loops around it were written out */
    const Node *current; /* the statement's node: computed, not loaded */
} RowCursor;

/* Values that are computed already. */
typedef struct RowMemos {
    Memo *at;
    int n, most;
    int *last; /* of the list of memos with such a hash; twice as many as 'most' */
} RowMemos;

/* Tables of pointers to rows of stacks (rows_tables.c). */
typedef struct StackTables {
    int group;    /* that goes through a tile row by row, counted from 1; 0: none such */
    bool few;     /* its stacks of few pieces have tables, too */
    int *wanted;  /* by value: the last group that reads the stack by its table */
    V *row_table; /* by value: pointers to a stack's rows */
} StackTables;

/* Rows that are asked for before they are read (rows_ahead.c). */
typedef struct RowsSoon {
    const StatementGroup *group;       /* while which they are asked for; NULL: none */
    int asked[AHEAD_OPERANDS], nasked; /* long operands that later groups read */
    int row, rows;                     /* operands of a row each: the first one; how many */
} RowsSoon;

typedef struct RowCode {
    Emit *e;
    const Rows *r;
    V *p;                   /* operands' base pointers, but those of series; NULL: not loaded yet */
    LLVMBasicBlockRef head; /* which loads them */
    V table;                /* of all of them */
    V count; /* pieces of a series, if the kernel is for any number of them; else NULL */
    V scratch, first, end;
    RowCursor now;
    RowMemos memos;
    StackTables stacks;
    RowsSoon soon;
    Repeats *repeats; /* the loop over parts that differ in numbers; NULL: the code is in none */
    Fence fence;      /* --check builds: tests of what is accessed */
} RowCode;

/* A number of the plan, which may be another one each time where parts are a loop. */
static inline V code_number(const RowCode *c, const void *of, NumberKind kind, int64_t value) {
    return repeats_number(c->e, c->repeats, of, kind, value);
}

/* rows_index.c */
int index_last_axis(const Shape *s); /* the last axis longer than 1; -1: none */
/* The index of the operand's element that broadcasts to 'at'. */
At index_project(RowCode *c, const Shape *from, const Shape *to, At at);
/* Between shapes that differ by axes of length 1. */
At index_retrace(RowCode *c, const Shape *from, const Shape *to, At at);
/* Lengths of axes, and elements of a shape: constants but for those that are counted. */
V index_length(RowCode *c, int64_t length);
V index_first(RowCode *c, int64_t first); /* of a slice */
V index_count(RowCode *c, const Shape *s);
/* Row-major position; *step is the distance between lanes. */
V index_position(RowCode *c, const Shape *s, At at, int64_t *step);

/* rows_memory.c: an access is 'in' an operand, by number, or in the scratch, or tested already. */
enum { TESTED = -1 };
/* The step of lanes that are tokens, as far apart as a large value is long. */
enum { APART = -1 };
int memory_scratch(const RowCode *c);
/* A group begins.  Of many operands each group loads the pointers that it needs: no processor has
** registers for all, and LLVM takes long to place what lives through a whole kernel. */
void memory_begin(RowCode *c);
V memory_base(RowCode *c, int operand); /* its pointer */
void memory_test(RowCode *c, int in, V address, int64_t floats, bool store);
/* From the table of a stack (rows_tables.c): this token's row of a piece. */
V memory_table_row(RowCode *c, int value, V piece);
int64_t memory_span(const RowCode *c, int64_t step); /* floats from the first lane to the last */
/* Lanes 'step' floats apart. */
V memory_load(RowCode *c, int in, V address, int64_t step);
void memory_store(RowCode *c, int in, V address, int64_t step, V x);
/* Where element 'offset' of a value in scratch lies; *step becomes the scratch's own. */
V memory_scratch_address(RowCode *c, const RowValue *v, V offset, int64_t *step);
V memory_read(RowCode *c, const RowValue *v, V offset, int64_t step);
V memory_stride(RowCode *c, int operand); /* from one token's row to the next */
/* Element 'offset' of piece j of a series. */
V memory_piece(RowCode *c, const RowSeries *s, V j, V offset, int64_t step);
void memory_write_out(RowCode *c, int op, const Node *n, V offset, int64_t step, V x);
/* Element 'at' of value v is x: to scratch and to its results. */
void memory_write(RowCode *c, const RowValue *v, At at, V x);

/* rows_expr.c */
V expr_eval(RowCode *c, const Node *n, At at);
bool expr_known(const RowCode *c, const Node *n, const At *at); /* evaluated in this body */
/* So that the rest of the loop's body need not evaluate n again; returns the value. */
V expr_remember(RowCode *c, const Node *n, const At *at, V value);
void expr_forget(RowCode *c, int mark);  /* what was remembered since there were 'mark' memos */
V expr_start(RowCode *c, const Node *n); /* what reduction n starts from */
V expr_combine(RowCode *c, const Node *n, V sum, const Node *x, At at);
/* Reductions that can be one loop: over as many steps, none of them written out. */
enum { EXPR_TOGETHER = 8 };
bool expr_joins(const RowCode *c, const Node *n, const Node *with);
/* Evaluates so many, each at its index, in one loop; what they are is remembered. */
void expr_together(RowCode *c, const Node *const *n, const At *at, int many);
bool expr_reads_stack(const RowCode *c, const Node *n);  /* of rows addressed by pointer */
bool expr_reads_rows(const RowCode *c, const Node *n);   /* of scratch */
bool expr_reads_pieces(const RowCode *c, const Node *n); /* each by a number of its own */

/* rows_iterate.c: a statement of class ITERATION */
void iterate_emit(RowCode *c, const Statement *s);

/* rows_tables.c: of stacks that the group's statements read where they lie */
/* Whether few pieces have one too: of rows of so many floats code for each would be little faster
** than a loop over them, and takes LLVM as many times as long. */
bool tables_wanted(RowCode *c, const StatementGroup *g, int64_t row);
void tables_fill(RowCode *c, const StatementGroup *g, bool few); /* for this token */
/* A loop of so many steps can be one along the pieces of a stack. */
bool tables_walk(RowCode *c, const StatementGroup *g, int64_t count);

/* rows_pieces.c: what the code of groups that are pieces only depends on, a part for each */
void pieces_list(RowCode *c, LikeParts *parts, int first, int groups);

/* rows_statement.c */
typedef struct Nest {
    const StatementGroup *g;
    V idx[MAXRANK]; /* of the axes longer than 1 */
    int64_t dim[MAXRANK];
    int rank;
    V *sum; /* by statement of the group: accumulator variables */
} Nest;
/* The nest's indices as an index of shape s. */
At nest_at(RowCode *c, const Nest *n, const Shape *s, bool lanes);
/* A step of the group: elements, sums over tokens, and what reductions over the last axis add. */
void statements_emit(RowCode *c, Nest *n, bool lanes);

/* rows_ahead.c: rows that are asked for while a group computes; of groups first to before end,
** which go through a tile's tokens together, and in a step of a group. */
void ahead_choose(RowCode *c, int first, int end);
void ahead_emit(RowCode *c, const Nest *n);

/* rows_loops.c */
/* Group number 'first', and those behind it that share its loop over tokens; returns the next. */
int loops_emit(RowCode *c, int first);

#endif
