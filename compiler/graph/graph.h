/* SPDX-License-Identifier: MIT
** The graph: an append-only list of nodes in topological order.  A node's
** operands always have smaller ids, so every pass is one loop over
** g->node[0..g->n).  Nodes are interned: building the same thing twice gives
** the same pointer, which is all the common-subexpression elimination there
** is.  All memory of a graph is one arena, freed at once, so that Lua's and
** C's error jumps leak nothing; texts and attributes are shared by the graphs
** that are made of one another.
**
** Shapes.  A value is either uniform (lead LEAD_NONE: parameters, losses) or
** has one row per token (lead LEAD_TOKENS: activations).  'dim' are the inner
** axes only, numbered from 0; the number of tokens is not known when
** compiling.  Pointwise operands broadcast: inner axes are aligned from the
** right, a missing axis or one of length 1 is repeated, and a uniform value
** is repeated for every token.  A value may have rows for some tokens only: those
** of a list that the op 'rows' makes of a mask, which has a number in its graph
** (Shape.list).  Ops take rows of one list; gather, scatter and attention cross.
*/
#ifndef STRATA_GRAPH_H
#define STRATA_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { MAXRANK = 4, MAXRESULT = 7, MAXLISTS = 30000 };

typedef enum Op {
#define OP1(name, ...) OP_##name,
#define OP2(name, ...) OP_##name,
#define OP3(name, ...) OP_##name,
#define OP(name, ...) OP_##name,
#include "ops.def"
    NOP
} Op;

/*
** What fusion, scheduling and lowering know about an op.  Row classes map a
** token's values to a token's values and are fused; the others ("anchors")
** are kernels of their own.  These work token by token: CONTRACT and PARTWISE,
** products and those of parts; LOOKUP, rows of a table; DRAW, random numbers;
** GATHER, rows of a list's tokens; PICK, places among a token's own numbers; LOSS.
** The others need all tokens: SEQUENCE is attention, HISTORY what depends on a
** past of fixed size, TAPS the gradient of its weights, SCATTER that of a table.
*/
/* clang-format off */
typedef enum Class {
    SOURCE,
    POINTWISE, VIEW, REDUCE, SOFTMAX, ITERATION, WAVE, /* row classes */
    CONTRACT, PARTWISE, LOOKUP, DRAW, GATHER, PICK, LOSS, /* anchors, token by token */
    TOKENSUM, OUTER, SCATTER, TAPS, SEQUENCE, HISTORY, EXPERT, CHOICE, /* anchors, all tokens */
    SIDE
} Class;
/* clang-format on */

typedef enum AttrKind {
#define KIND(kind, ...) kind,
#define FIELD(...)
#include "attrs.def"
} AttrKind;

typedef enum Lead { LEAD_NONE, LEAD_TOKENS } Lead;
typedef enum Type { F32, I32 } Type;

/* 'file' and 'line' are the user's line, which errors name.  'origin' is the innermost Lua line,
** possibly the library's, which debuggers and listings show; NULL if it is the same. */
typedef struct Loc {
    const char *file;
    int line;
    const char *origin;
    int origin_line;
} Loc;

static inline Loc loc_innermost(Loc loc) {
    return loc.origin ? (Loc){ .file = loc.origin, .line = loc.origin_line } : loc;
}

typedef struct Shape {
    Lead lead;
    Type type;
    int rank;
    int list; /* LEAD_TOKENS: which tokens, attr.count of an op 'rows'; 0: all */
    int64_t dim[MAXRANK];
} Shape;

typedef struct Attr {
    const char *name; /* NAME: interned, compare by pointer */
    double value;     /* VALUE; ATTENTION, FREQUENCIES: the scale; SHARE; ITERATIONS: eps of sums */
    int axis;         /* AXIS, RANGE */
    /* RANGE, EACH; COUNT, ITERATIONS: count; INDEX: first; SHIFT: how many tokens; ATTENTION:
    ** tokens of a chunk if causal, else how many pools; 0: neither */
    int64_t first, count;
    int64_t window; /* ATTENTION: a query sees so many keys, its own the last; 0: all */
    int64_t values; /* ATTENTION: values are so many first channels of keys; 0: operands */
    /* NAME: a matrix of small weights, 8 or 4 bits each; ATTENTION: keys and values are rounded as
    ** caches keep them, to 16 (bfloat16) or 8 (q8) bits; 0: it is none, they are not */
    int64_t bits;
    double softcap;    /* ATTENTION: scores s become softcap tanh(s / softcap); 0: they stay */
    Shape shape;       /* SHAPE, param: the inner axes; VALUE: all of the shape */
    int perm[MAXRANK]; /* PERM: axis of the operand, per axis */
    bool buffer;       /* NAME: no gradient trains it; its rule does, or nothing */
    bool causal;       /* ATTENTION; SHIFT: to earlier tokens, else to later ones */
    bool delta;        /* RECURRENCE: by the delta rule */
    bool sine;         /* FREQUENCIES: sin instead of cos */
    bool bf16;         /* PRODUCT: its result is rounded to bfloat16; ATTENTION: result 0 is, and
                       ** operands of tokens are bfloat16s already */
    bool back;         /* EACH */
    const double *frequency; /* FREQUENCIES: 'count' radians per position */
    int copy;                /* recomputed twin of an equal node; 0: none */
} Attr;

typedef struct Graph Graph;
typedef struct Node Node;
struct Node {
    Graph *g;
    int id;
    Op op;
    int nin;
    Node **in;
    const Attr *attr; /* equal ones are the same */
    Shape shape;      /* of result 0 */
    Shape *side;      /* of the other results, from side[1] on; NULL: there are none */
    Loc loc;          /* the spec's line this came from */
    const char *site; /* "layers.3.mlp": where in the model; may be NULL */
    bool backward;    /* made by the gradient pass */
};

/* What result 0 is; pointwise rows have RESULT_PLAIN. */
typedef enum ResultKind { RESULT_PLAIN, RESULT_PRODUCTS, RESULT_STEPS } ResultKind;

typedef struct OpInfo {
    const char *name;
    int arity; /* -1: any number, at least one */
    int results;
    Class class;
    AttrKind attr;
    unsigned rows; /* bit i: operand i needs a row per token: row_operands.c */
    ResultKind result;
    int cost;  /* POINTWISE: instructions for an element in a row kernel, roughly */
    int again; /* POINTWISE: operations of a vector unit for an element */
    const char *help;
    /* Fills n->shape and n->side.  On error returns the message, else NULL. */
    const char *(*shape)(Node *n);
    /* Sets dx[i] to the cotangent of n->in[i]; NULL means zero.  dy[r] is the
    ** cotangent of result r, NULL if it is zero.  dx is n->nin long, zeroed. */
    void (*vjp)(Node *n, Node **dy, Node **dx);
} OpInfo;

extern const OpInfo op_info[NOP];

/* Operations per token, with a multiply-add as two; 0 for attention, which is counted by pairs of
** tokens. */
double op_flops(const Node *n);
/* Operations of a vector unit per token to recompute a row value; 0 if it is never recomputed. */
double op_again(const Node *n);
/* The same of every row value. */
double op_operations(const Node *n);

/* Pointwise rows that a spec can call: 'bf16' is what pass_precision makes. */
static inline bool op_is_function(Op op) { return op_info[op].class == POINTWISE && op != OP_bf16; }

/* Kernels that write every result there is, wanted or not. */
static inline bool op_writes_all(Op op) {
    return op == OP_attention_grad || op == OP_recurrence_grad;
}

/* The initial values of a parameter.  NORMAL: value is the standard deviation.  UNIFORM: each
** element is the value at a random place on a line through 'points' evenly spaced numbers. */
typedef enum InitKind { INIT_CONSTANT, INIT_NORMAL, INIT_LIST, INIT_UNIFORM } InitKind;
typedef struct Init {
    InitKind kind;
    double value;
    const double *list; /* INIT_LIST: as many as the shape has elements; INIT_UNIFORM: the points */
    int64_t points;     /* at least 2 */
} Init;

/* How a parameter is trained; all zeros mean AdamW with the model's settings. */
typedef struct Tuning {
    bool frozen; /* not at all: no gradient is computed */
    bool muon;   /* by Muon */
    /* its rate is 'rate' times the model's, and its weight decay is 'weight_decay'; otherwise both
    ** numbers are 0 */
    bool own_rate, own_decay;
    double rate, weight_decay;
} Tuning;

typedef struct Param {
    Node *node; /* op param; name and shape are there */
    Init init;
    Tuning tuning;
} Param;

/* A named result of the graph: "loss", "logits", "grad.<parameter>", ... */
#define GRADIENT "grad."
/* "statistic.<buffer>": the sum over a step that the rule of a buffer reads; it lies in the place
** of a gradient and is added up like gradients. */
#define STATISTIC "statistic."
typedef struct NamedNode {
    const char *name;
    Node *node;
    const char *param; /* whose gradient it is; NULL: no parameter's */
} NamedNode;

struct Graph {
    struct Pool *pool;
    struct Arena *mem, *scratch;
    Node **node;
    int n, cap;
    int expected; /* the expected number of nodes, for a graph that is made from another; or 0 */
    Param *param; /* in order of creation */
    int nparam;
    NamedNode *out;
    int nout;
    Node **list; /* by number: what makes the list of rows, NULL: none does */
    int lists;   /* the largest number */
    struct Table *interned, *names;
    int found; /* that many of the nodes are in 'interned' */
    Loc loc;   /* given to the nodes being built */
    const char *site;
    bool backward;
    bool bf16;       /* products round weights to bfloat16, attention rounds its operands */
    bool short_rows; /* row kernels take rows of few elements as they do longer ones */
};

/* graph.c: memory, nodes */
Graph *graph_new(void);
Graph *graph_new_like(const Graph *g); /* shares texts and attributes with g */
/* No more passes: frees what finds equal nodes, and the scratch. */
void graph_seal(Graph *g);
void graph_free(Graph *g);
void *graph_alloc(Graph *g, size_t size); /* zeroed; ends the program if there is no memory */
/* An array of n items with room for one more, by doubling. */
void *graph_grown(Graph *g, void *old, int n, int *cap, size_t size);
void *graph_scratch(Graph *g, size_t size);        /* the same, until the graph is sealed */
Loc graph_loc(Graph *g, Loc loc);                  /* its strings kept by g */
const char *graph_string(Graph *g, const char *s); /* interned copy; of NULL: NULL */
/* The only way to create a node: runs the shape rule and returns an equal node if there is one.
** NULL and *error (no location) if the operands do not fit. */
Node *node_new(Graph *g, Op op, int nin, Node **in, Attr attr, const char **error);
/* The same op with other operands, those of g, which shares texts and attributes with old's. */
Node *node_again(Graph *g, const Node *old, Node **in, const char **error);
/* The node of g, which shares texts and attributes with the given ones, with this op and these
** operands; NULL if there is none. */
Node *node_known(Graph *g, Op op, int nin, Node **in, const Attr *attr);
/* The copy of a node whose operands are copies, too; p: of a parameter.  While a graph has only
** such nodes, none is looked up, because different nodes have different copies.  Whoever breaks
** that without building a node calls graph_intern. */
Node *node_twin(Graph *g, const Node *old, Node **in, const Param *p);
void graph_intern(Graph *g);
/* The same of a buffer. */
Node *graph_buffer(Graph *g, const char *name, Shape s, Init init, const char **error);
/* Adds a param node and its entry; error if the name exists with another shape. */
Node *graph_param(Graph *g, const char *name, Shape s, Init init, const char **error);
/* A parameter of a graph that shares texts with g, made a matrix of small weights. */
Node *graph_small(Graph *g, const Param *p, int bits);
void graph_tune(Graph *g, const char *param, Tuning t);          /* of a parameter that is there */
void graph_output(Graph *g, const char *name, Node *n);          /* replaces an equal name */
Node *graph_find(const Graph *g, const char *output);            /* NULL if absent */
const Param *graph_find_param(const Graph *g, const char *name); /* NULL if absent */
const Param *graph_param_of(const Node *param);                  /* its entry in its graph */
/* A new graph with only what the named outputs (NULL-ended) need.  Parameters
** keep their order; those unused are left out. */
Graph *graph_extract(const Graph *g, const char *const *outputs);
/* The same for g itself: other nodes stay until g is copied, but are not needed any more. */
void graph_keep_outputs(Graph *g, bool kept(const char *name, void *user), void *user);
Graph *graph_copy(const Graph *g); /* what all of its outputs need */
/* As graph_extract; twin[id], of g->n elements, becomes the copy of node id, NULL where it was left
** out. */
Graph *graph_extract_twins(const Graph *g, const char *const *outputs, Node **twin);
bool class_is_row(Class c); /* POINTWISE ... WAVE */
/* The largest number of a list of rows; and the node that makes a list, NULL if none does. */
int graph_lists(const Graph *g);
const Node *graph_list(const Graph *g, int list);
/* Numbers lists from 1 on, in order, where some were left out. */
void graph_number_lists(Graph *g);
/* param_tensors.c: one, or as many as the first axis is long if the name has a '*' where their
** numbers go; the shape of each, and its name */
int64_t param_tensors(const Node *param);
Shape param_tensor_shape(const Node *param);
void param_tensor_name(const Node *param, int64_t number, char *out, size_t size);
int64_t graph_tensors(const Graph *g); /* of all parameters */
/* uses.c, by id: the number of outputs and operands that the node is, counting nodes marked in 'by'
** (NULL: all nodes); whether an output depends on it; and a function that marks everything on which
** the marked nodes depend. */
int *graph_uses(Graph *g, const bool *by);
bool *graph_needed(Graph *g);
void graph_mark_operands(const Graph *g, bool *marked);
int graph_most_operands(const Graph *g); /* of any of its nodes */
/* The number of operands that determine a node's value; it only waits for the operands after
** them. */
int node_reads(const Node *n);
/* The number of results: the last result of some ops belongs to an operand that may be missing. */
int node_results(const Node *n);
/* The compiler is wrong: one line, exit status 5.  n may be NULL. */
__attribute__((format(printf, 2, 3))) _Noreturn void bug(const Node *n, const char *fmt, ...);

/* shape.c */
bool checked_size(int64_t a, int64_t b, int64_t *product); /* false on overflow of 2^48 */
int64_t shape_count(const Shape *s);                       /* inner elements */
bool shape_equal(const Shape *a, const Shape *b);
const char *shape_broadcast(const Shape *a, const Shape *b, Shape *out);
const char *shape_text(Graph *g, const Shape *s); /* "[tokens,8,64]" */

/* builders (ops_*.c): one for each pointwise row, then the structural ones.
** They call bug() when operands do not fit: for passes, not for user input. */
#define OP1(name, ...) Node *op_##name(Node *x);
#define OP2(name, ...) Node *op_##name(Node *a, Node *b);
#define OP3(name, ...) Node *op_##name(Node *c, Node *a, Node *b);
#define OP(name, ...)
#include "ops.def"
Node *op_fill(Graph *g, double value); /* rank 0, uniform */
Node *op_full(Graph *g, const Shape *s, double value);
Node *op_broadcast(Node *x, const Shape *s); /* x repeated to the shape: x * op_full(s, 1) */
/* If operand i is the same for all tokens and the op needs a row per token: the operand, repeated
** to the rows of the operand beside it.  Otherwise NULL. */
Node *op_as_rows(Op op, int nin, Node *const *in, int i);
/* seed per_token generating training decoding sampling tokens targets position */
Node *op_source(Graph *g, Op op);
Node *op_scale(Node *x, double k); /* x * k */
Node *op_rsub(double k, Node *x);  /* k - x */
Node *op_gauss(Node *x);           /* 2/sqrt(pi) exp(-x^2), erf's slope */
Node *op_sign(Node *x);            /* -1, 0 or 1: abs's slope */
Node *op_reshape(Node *x, const Shape *inner);
Node *op_transpose(Node *x, const int *perm);
Node *op_slice(Node *x, int axis, int64_t first, int64_t count);
Node *op_concat(Graph *g, int n, Node **x, int axis);
Node *op_stack(Graph *g, int n, Node **x);
Node *op_after(Node *x, int n, Node **others); /* x, computed when the others are */
Node *op_sum(Node *x, int axis);
Node *op_peak(Node *x, int axis);
Node *op_softmax(Node *x, int axis);
Node *op_token_sum(Node *x);
Node *op_linear(Node *x, Node *w);
Node *op_linear_back(Node *dy, Node *w);
Node *op_linear_weight(Node *dy, Node *x);
Node *op_embed(Node *w, Node *ids);
Node *op_gather(Node *x, const Node *rows);
Node *op_scatter(Node *y, const Node *rows);
/* Of a convolution or its gradients: how many tokens go into one. */
int64_t op_taps(const Node *n);
/* x of the token so many places earlier, or later, in its sequence; 0 if there is none */
Node *op_shift(Node *x, int64_t tokens, bool earlier);
Node *op_side(Node *n, int result);
/* Sums x (and over tokens) until it has shape s, which broadcasts to x's. */
Node *op_fit(Node *x, const Shape *s);

/* print.c, read.c: text form; graph_read(graph_print(g)) prints the same.
** graph_read returns NULL and writes one line "line N: ..." to error. */
void graph_print(const Graph *g, FILE *f, bool locations);
void graph_print_op(const Node *n, FILE *f); /* "sum axis=1" */
Graph *graph_read(const char *text, char *error, size_t size);

/* verify.c: checks every row's shape rule, operand order and outputs; calls bug() if one is
** violated */
void graph_verify(const Graph *g);

/* eval.c: the float64 interpreter, the definition of what is correct.
** 'value' gives a parameter's elements (row-major), borrowed until the end.
** Tokens are [batch, time]; a token's row index is b * time + t. */
typedef struct EvalInput {
    int64_t batch, time;
    const int32_t *tokens, *targets; /* targets may be NULL */
    const double *(*param)(void *user, const Node *param);
    /* a statistic's of a buffer's rule; NULL, or returning it: zeros */
    const double *(*statistic)(void *user, const Node *statistic);
    void *user;
    double seed;                           /* value of 'seed', usually 1 */
    double generating, training, decoding; /* values of these */
    uint64_t draw;                         /* which random numbers; 0: none, 'sampling' is 0 */
    bool keep;                             /* all values, not only those of outputs */
    /* NULL, or an evaluation that kept all values: stop_gradient, step, greater and peak take their
    ** results from it.  For finite differences. */
    const struct Eval *frozen;
    /* NULL, or called with every computed result, which it may change, for example by rounding.  If
    ** the op adds up products of its operands, 'size' is, by element, the sum of their absolute
    ** values, to which rounding errors are proportional; otherwise it is NULL. */
    void (*computed)(void *user, const Node *n, double *value, const double *size, int64_t count);
} EvalInput;
typedef struct Eval Eval;
Eval *eval_new(const Graph *g, const EvalInput *in); /* runs all that the outputs need */
/* Result 0, row-major.  NULL: no output and not kept, or it needs targets and there are none. */
const double *eval_value(const Eval *ev, const Node *n);
void eval_free(Eval *ev);

#endif
