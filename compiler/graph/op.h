/* SPDX-License-Identifier: MIT
** Shared by the files of this folder only: what every row of ops.def must
** define (a missing piece does not link), and what those definitions are
** written with.
**
** The reference keeps every value as doubles, ids too: they are exact.  A
** value that leads with tokens is [batch * time, inner axes ...].
*/
#ifndef STRATA_GRAPH_OP_H
#define STRATA_GRAPH_OP_H

#include "arena.h"
#include "graph.h"
#include "pool.h"

/* The tokens of a list, in order; NULL: all. */
typedef struct TokenList {
    int64_t count, *token;
} TokenList;

/* One node being evaluated. */
typedef struct EvalStep {
    const Node *n;
    const EvalInput *input;
    int64_t tokens;          /* rows of the operands: batch * time, or a list's */
    int64_t all;             /* batch * time */
    const TokenList *list;   /* by number; [0]: all tokens */
    const double *const *in; /* a value for each operand */
    double *const *out;      /* one for each result, zeroed */
} EvalStep;

typedef void EvalFn(const EvalStep *s);
extern EvalFn *const op_eval[NOP];

#define ROW(name)                                   \
    const char *shape_##name(Node *n);              \
    void vjp_##name(Node *n, Node **dy, Node **dx); \
    void eval_##name(const EvalStep *s);
#define POINTWISE_ROW(name)                         \
    void vjp_##name(Node *n, Node **dy, Node **dx); \
    void eval_##name(const EvalStep *s);
#define OP1(name, ...) POINTWISE_ROW(name)
#define OP2(name, ...) POINTWISE_ROW(name)
#define OP3(name, ...) POINTWISE_ROW(name)
#define OP(name, ...) ROW(name)
#include "ops.def"
#undef ROW
#undef POINTWISE_ROW

const char *shape_pointwise(Node *n);
/* Runs the op's shape rule, checks that all rows belong to one list, and fills n->shape and
** n->side. */
const char *node_shape(Node *n);

/* node_new for passes: operands that do not fit are a bug of the compiler. */
Node *op_build(Graph *g, Op op, int nin, Node **in, Attr attr);
Node *op_build1(Op op, Node *x, Attr attr);

void graph_add_list(Graph *g, Node *rows); /* of a node that was just made */

/* Messages, in the graph's arena. */
__attribute__((format(printf, 2, 3))) const char *graph_format(Graph *g, const char *fmt, ...);
/* "NAME must be FORM, not [tokens,8]" unless operand i has this lead, type and rank. */
const char *operand_is(Node *n, int i, const char *name, const char *form, Lead lead, Type type,
                       int rank);
const char *operand_is_number(Node *n, int i);
const char *check_chosen(Node *n, int operand);    /* the operand is what 'chosen' makes */
const char *shape_check(Graph *g, const Shape *s); /* positive axes, no overflow */

/* == Attributes (attr.c) ================================================== */

typedef enum FieldType {
    FIELD_END,
    FIELD_TEXT,        /* a string of the graph; written in quotes */
    FIELD_NUMBER,      /* double */
    FIELD_AXIS,        /* int */
    FIELD_SIZE,        /* int64_t, up to 2^48 */
    FIELD_RESULT,      /* int64_t, below MAXRESULT */
    FIELD_OPTION,      /* a size that is not written where it is 0 */
    FIELD_AMOUNT,      /* double, the same */
    FIELD_FLAG,        /* bool: its text, or what is written otherwise */
    FIELD_PERMUTATION, /* int, for each axis */
    FIELD_LIST,        /* doubles, as many as 'count' says */
    FIELD_SHAPE,       /* not written: the shape that follows says it */
    FIELD_INNER        /* the same, of the inner axes only */
} FieldType;

enum { MAXFIELDS = 8 };

typedef struct AttrField {
    FieldType type;
    size_t at, size; /* in Attr */
    const char *text, *otherwise;
} AttrField;

const AttrField *attr_fields(AttrKind kind); /* the last one is FIELD_END */
/* Only the fields of the kind; strings belong to the pool, a list still belongs to the caller. */
Attr attr_canonical(Pool *p, AttrKind kind, const Attr *a);
void attr_own(Arena *mem, AttrKind kind, Attr *a); /* lists are copied */
bool attr_same(AttrKind kind, const Attr *a, const Attr *b);
uint64_t attr_hash(uint64_t hash, AttrKind kind, const Attr *a);

double each_flops(const Node *n); /* of linear_each, per token */

double round_bf16(double x); /* nearest, ties to even; too large: infinite */

/* ops_small.c: the bits of a product's weights or of a table; 0 if they are not small.  The other
** functions round 'count' rows of so many steps as small weights, and as operands of products with
** them, are rounded. */
int op_small(const Node *weights);
void small_round_weights(int bits, int64_t count, int64_t steps, double *w);
void small_round_rows(int64_t count, int64_t steps, double *x);
/* Rounds rows of keys or values as caches store them with so many bits. */
void small_round_kept(int64_t bits, int64_t count, int64_t width, double *x);
/* A copy of an operand, to be freed: rounded as a product rounds its weights, or its rows. */
double *small_weights_of(const EvalStep *s, int operand);
double *small_rows_of(const EvalStep *s, int operand);

int64_t rows_of(const EvalStep *s, const Shape *shape); /* tokens, or 1 */
/* Splits a value around an inner axis: outer (rows included) x axis x inner. */
void shape_around(const EvalStep *s, const Shape *shape, int axis, int64_t *outer, int64_t *inner);

/* What of a graph has a name. */
typedef struct Name {
    const char *text;  /* the pool's */
    int param, output; /* index + 1; 0: names none */
} Name;
Name *graph_name(Graph *g, const char *s);
Name *graph_name_find(const Graph *g, const char *s); /* NULL if it names nothing */

#endif
