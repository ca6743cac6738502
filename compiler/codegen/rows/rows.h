/* SPDX-License-Identifier: MIT
** Row kernels: analysis (rows_analyse.c) and code (rows_kernel.c).
**
** A kernel computes a set of row nodes for tokens [first, first + count).  It takes tokens in
** tiles, one token per lane of a vector.  Within a tile it runs one group of nodes after another.
** A group is one loop nest over one shape, which computes everything with this shape together in
** registers.  If the last axis is long, the group's lanes are channels, and it runs for every
** token of the tile.  If values are a few numbers each, its lanes are tokens.  Values that pass
** between groups are kept in scratch memory, which fits into the first-level cache.  An iteration
** is a group of its own, with a loop inside (rows_iterate.c).
*/
#ifndef STRATA_ROWS_H
#define STRATA_ROWS_H

#include "places.h"

enum {
    ROWS_UNROLL = 16, /* loops over so many rows of a stack, or fewer, are written out */
    ROWS_COPIES = 16, /* where that makes so many copies of their bodies, or fewer */
    /* what a loop's body computes, roughly: LLVM takes the square of it as time */
    ROWS_CODE = 4096,
    /* where lanes are tokens, and a loop costs next to nothing beside those along rows: */
    ROWS_WRITTEN = 512, /* instructions of copies, at most, of loops that are written out */
    ROWS_STEPS = 64,    /* and steps of all the sums of a group */
    ROWS_NEAR = 2       /* lists that differ by the newest sources share parts nearly as long */
};

typedef enum Mode { MODE_UNIFORM, MODE_CHANNELS, MODE_TOKENS } Mode;

/* A place an operand's value is read from or written to; p[] of the kernel. */
typedef struct Operand {
    Ref ref;
    const Node *node;
    bool add;   /* written by adding */
    int stride; /* the operand that holds its stride; -1: ref.stride is meant */
} Operand;

/* What users of a value want of it, those behind views too. */
typedef struct RowWants {
    bool memory;       /* where it lies in memory */
    bool tokens;       /* it for every token */
    bool any, several; /* there is one; there are two */
    int64_t widest;    /* elements of the largest pointwise one */
} RowWants;

enum { ROWS_READS = 3 }; /* operands of what is pointwise, at most */

/* How a value is used, by this kernel and by later ones. */
typedef struct RowUse {
    bool used;     /* something that is not idle reads it here */
    bool idle;     /* a view that only later kernels look through */
    bool walked;   /* an iteration reads it, through views or not */
    bool whole;    /* read otherwise than by slices of its first axis */
    bool piece;    /* of a stack that is read by number */
    bool reshaped; /* some user sees it in another shape */
    int uses;
    int meet; /* the value that all users compute together, element by element; < 0: none */
    RowWants wants;
} RowUse;

/* The expression of a value, as far as that is not stored. */
typedef struct RowExpression {
    int cost, depth;
    int64_t steps;     /* of the sums in it, one within the other, or too many */
    int size;          /* of its statement: instructions, roughly */
    bool reads_stack;  /* rows addressed by pointer */
    bool reads_rows;   /* rows of scratch, a lane from each if lanes are tokens */
    bool reads_pieces; /* a stack which is nowhere but in its pieces */
} RowExpression;

/* Where a value lies. */
typedef struct RowPlace {
    bool memory;          /* read again outside its group: kept in scratch */
    bool apart;           /* and outside the loop over tokens that it is computed in */
    int operand;          /* where it is read from if not computed here; -1 */
    int *out, nout, outs; /* operands it is written to; room for so many */
    int64_t scratch;      /* offset in floats, if memory and no out to read */
    int64_t scratch_each, scratch_square; /* and as many more for each of Rows.count, its square */
    int64_t work;                         /* of an iteration: where what it works on begins */
} RowPlace;

/* Operands that hold numbers that the code of a value needs. */
typedef struct RowNumbers {
    int first;              /* of a slice: where it begins; -1: the node says it */
    int number[ROWS_READS]; /* of what is pointwise: fills it reads; -1: none */
    int series; /* of a stack that is not computed but read: its number among them; -1 */
} RowNumbers;

/* What the kernel knows of a node. */
typedef struct RowValue {
    const Node *n;
    int rank;      /* among those that are no fill */
    bool here;     /* computed by this kernel */
    bool stored;   /* a statement of its own, not part of its users' */
    bool weight;   /* an exponential of what is not above 0 */
    int statement; /* its own; -1 */
    RowUse use;
    RowExpression code;
    RowPlace lies;
    RowNumbers in;
} RowValue;

/* A long stack whose pieces lie in memory as rows of their own: they are found by number, the
** first one's pointer at p[first]. */
typedef struct RowSeries {
    const Node *stack;
    int first;         /* operand */
    const Node **late; /* pieces that this kernel computes before it reads the series */
    int nlate;
} RowSeries;

/* What a fill says, for those who read it on one line of the spec. */
typedef struct RowNumber {
    const Node *fill;
    Loc line;
    int operand;
} RowNumber;

typedef enum StatementKind { ELEMENT, REDUCE_LAST, PARTIAL, ITERATED } StatementKind;

typedef struct Statement {
    StatementKind kind;
    const Node *node;
    Shape base; /* of its loops */
    Mode mode;
    int group, next; /* next in the group; -1: last */
    /* of a piece of a concat or stack: where in the whole it goes */
    const Node *piece;
    int axis;
    int64_t first;
} Statement;

typedef struct StatementGroup {
    Mode mode;
    Shape base;
    int first, last; /* statements, linked by next */
    int code;        /* instructions of a step, roughly */
    int count;       /* of statements */
} StatementGroup;

/* Arrays of a kernel, as long as the longest so far wanted them. */
typedef struct RowsArrays {
    Operand *operand;
    int operands;
    Statement *statement;
    StatementGroup *group;
    size_t statements;
} RowsArrays;

/* Work space for one plan, used by one kernel after another. */
typedef struct RowsShared {
    int *slot;
    RowValue *value;
    struct Descent *walk;
    struct RowsArrays *arrays;
    int *first_part, *next_part; /* by phase: the pieces of gradients that its steps compute; -1 */
} RowsShared;

typedef struct Rows {
    const Plan *p;
    const Step *step;
    int index; /* of the step */
    int lanes;
    RowsShared shared;
    int *slot; /* by node id: index in value, valid if that value is the node's */
    RowValue *value;
    int nvalue, nranked;
    RowNumber *number;
    int nnumber;
    Operand *operand;
    int noperand;
    int nfixed;    /* operands before those of series */
    bool iterates; /* an iteration walks over what it reads: no stack is a series */
    RowSeries *series;
    int nseries, most_series;
    /* Pieces of each series, in a kernel for any number of them: every length that is this number
    ** or near it is meant to be as near to it in each call.  0: a kernel for these very sizes. */
    int64_t count;
    int count_at; /* the operand that holds it */
    Statement *statement;
    int nstatement;
    StatementGroup *group;
    int ngroup;
    int64_t scratch; /* floats */
} Rows;

RowsShared rows_shared(const Plan *p);
Rows *rows_analyse(const Plan *p, int step, int lanes, RowsShared shared);
RowValue *rows_value(const Rows *r, const Node *n); /* NULL if unknown */
bool rows_small(const Node *n);                     /* lanes are tokens */
/* What is equal for kernels that can share code; the words are the caller's to free. */
typedef struct RowsIdentity {
    int64_t *word;
    int n, most;
    uint64_t hash;
} RowsIdentity;
RowsIdentity rows_identity(const Rows *r);
bool rows_same_code(const RowsIdentity *a, const RowsIdentity *b);
bool rows_same_elements(const Shape *a, const Shape *b); /* equal but for axes of length 1 */
/* A stack whose pieces are rows in memory, addressed by pointer. */
bool rows_by_pointer(const Node *n);
/* A group that goes through a tile's tokens one by one; those side by side do so together. */
bool rows_by_row(const Rows *r, const StatementGroup *g);
/* A length, and an axis of a shape, that goes with that of the kernel's series; and where a slice
** begins: cotangents of the newest sources are at the end of their list. */
bool rows_counts(const Rows *r, int64_t length);
bool rows_begins(const Rows *r, int64_t first);
bool rows_counted(const Rows *r, const Shape *s);
int rows_counted_axes(const Rows *r, const Shape *s);
/* It is read by number, not piece by piece. */
static inline bool rows_by_number(const Node *n) {
    return n->nin > ROWS_UNROLL && rows_by_pointer(n);
}
/* The value in memory of which a piece is a part, '*offset' floats from its row's beginning; NULL:
** it lies nowhere as a piece of its own. */
const RowValue *rows_piece(const Rows *r, const Node *piece, int64_t *offset);
/* A long one whose pieces are stored as they are. */
bool rows_is_series(const Plan *p, const Node *n);

struct Emit;
void rows_emit(struct Emit *e, const Rows *r, const char *name);

#endif
