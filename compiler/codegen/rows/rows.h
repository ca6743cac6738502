/*
** Row kernels: analysis (rows_analyse.c) and code (rows_kernel.c).
**
** A kernel computes a set of row nodes for tokens [first, first + count).
** Tokens are taken in tiles of as many as a vector has lanes.  Within a tile
** the nodes are groups, run one after another: a group is one loop nest over
** one shape, in which everything that has this shape is computed together in
** registers.  A group's lanes are channels, for every token of the tile, if its
** last axis is long; tokens, if its values are a few numbers each.  What passes
** between groups is kept in scratch, which fits the first-level cache.
** An iteration is a group of its own, with a loop inside (rows_iterate.c).
*/
#ifndef STRATA_ROWS_H
#define STRATA_ROWS_H

#include "places.h"

enum { MAXOUT = 4 };

typedef enum Mode { MODE_UNIFORM, MODE_CHANNELS, MODE_TOKENS } Mode;

/* A place an operand's value is read from or written to; p[] of the kernel. */
typedef struct Operand {
    Ref ref;
    const Node *node;
    bool add; /* written by adding */
} Operand;

/* What the kernel knows of a node. */
typedef struct RowValue {
    const Node *n;
    bool here;   /* computed by this kernel */
    bool stored; /* a statement of its own, not part of its users' */
    bool memory; /* read again outside its group: kept in scratch */
    bool walked; /* an iteration reads it, through views or not */
    int uses;
    int operand;           /* where it is read from if not computed here; -1 */
    int out[MAXOUT], nout; /* operands it is written to */
    int64_t scratch;       /* offset in floats, if memory and no out to read */
    int64_t work;          /* of an iteration: where what it works on begins */
    int statement;
} RowValue;

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
} StatementGroup;

typedef struct Rows {
    const Plan *p;
    const Step *step;
    int index; /* of the step */
    int lanes;
    int *slot; /* by node id: index in value, valid if that value is the node's */
    RowValue *value;
    int nvalue;
    Operand *operand;
    int noperand, operands;
    const Node **user;
    int *users; /* of value i: user[users[i] .. users[i+1]) */
    Statement *statement;
    int nstatement;
    StatementGroup *group;
    int ngroup;
    int64_t scratch; /* floats */
} Rows;

/* 'shared' is work space for one plan, used by one kernel after another. */
typedef struct RowsShared {
    int *slot;
    RowValue *value;
} RowsShared;
RowsShared rows_shared(const Plan *p);
Rows *rows_analyse(const Plan *p, int step, int lanes, RowsShared shared);
RowValue *rows_value(const Rows *r, const Node *n); /* NULL if unknown */
bool rows_small(const Node *n);                     /* lanes are tokens */
/* A text that is equal for kernels that can share code. */
char *rows_identity(const Rows *r);
bool rows_same_elements(const Shape *a, const Shape *b); /* equal but for axes of length 1 */
/* A stack whose pieces are rows in memory, addressed by pointer. */
bool rows_by_pointer(const Node *n);

struct Emit;
/* Returns how many instructions it took. */
int64_t rows_emit(struct Emit *e, const Rows *r, const char *name);

#endif
