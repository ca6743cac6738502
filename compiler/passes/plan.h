/* SPDX-License-Identifier: MIT
** The result of the passes: an ordered list of steps in phases, and a place in memory for every
** value that passes between steps.
**
** Token phases and global phases alternate.  In a token phase, a task takes a chunk of tokens, or
** of the rows of one list (Shape.list), through all steps of the phase, so that what passes
** between the steps stays in cache.  In a global phase, the tasks of all steps (attention, weight
** gradients, sums over tokens) run in parallel; then the uniform steps run one after another.
** Steps that add to the same gradient are in different phases.  Row operations between two anchors
** are one row kernel.
*/
#ifndef STRATA_PLAN_H
#define STRATA_PLAN_H

#include "graph.h"

/* Sums over tokens are added up in granules of this many tokens, in order. */
enum { GRANULE = 64 };

typedef enum Domain {
    DOMAIN_NONE,    /* sources */
    DOMAIN_PARAM,   /* uniform, from parameters only: computed where used */
    DOMAIN_UNIFORM, /* uniform, from sums over tokens: a step of its own */
    DOMAIN_ROW,     /* fused into a row kernel */
    DOMAIN_TOKEN,   /* anchor, token by token */
    DOMAIN_GLOBAL   /* anchor over all tokens */
} Domain;

/* clang-format off */
typedef enum Space {
    SPACE_NONE,
    SPACE_WEIGHT,       /* the parameter's place in WEIGHTS */
    SPACE_GRADIENT,     /* added to the parameter's place in TRAIN */
    SPACE_TOKEN,        /* arena, one row per token, rows 'stride' apart */
    SPACE_LOCAL,        /* arena of a worker, one row per token of its chunk */
    SPACE_GRANULE,      /* arena, one row per granule */
    SPACE_CONSTANT,     /* arena, once */
    SPACE_TABLE,        /* the context's tables of cos and sin, one row per position */
    SPACE_INPUT,        /* tokens, targets, position, seed, per_token */
    SPACE_LOGITS        /* the caller's result, one row per token */
} Space;
/* clang-format on */

/* Where a stored value lies.  Offsets and strides in floats; in SPACE_TOKEN
** an offset counts floats per token. */
typedef struct Buffer {
    const Node *node;
    Space space;
    int64_t offset, stride, count;
    int first, last;     /* step that writes it, last step that uses it */
    struct Buffer *into; /* shares the memory of this buffer, in place */
} Buffer;

typedef enum StepKind { STEP_ROW, STEP_UNIFORM, STEP_ANCHOR, STEP_REDUCE } StepKind;

typedef struct Step {
    StepKind kind;
    const Node *anchor; /* STEP_ANCHOR; STEP_REDUCE: the token_sum */
    const Node **node;  /* STEP_ROW, STEP_UNIFORM: nodes to compute, in order */
    int n;
    int phase;
} Step;

typedef struct Phase {
    bool global;
    int list;         /* whose rows a token phase goes through; 0: all tokens */
    int first, count; /* steps */
} Phase;

/* One piece of a parameter's gradient: added by the step that computes node. */
typedef struct Contribution {
    const Node *node;
    const Node *param;
} Contribution;

/* Those of one parameter: part[first] and on. */
typedef struct Pieces {
    int first, count;
    int earliest; /* the first step that adds one; -1: some piece depends on nothing */
} Pieces;

/* What a program's graph shares with that of the training step, by node id. */
typedef struct Alike {
    bool *stored; /* the training step stores it */
    const Node *
        *before; /* of a row: the training step computes it before this anchor; NULL: none */
} Alike;

typedef struct Plan {
    Graph *g;
    Domain *domain;   /* by node id */
    int *step_of;     /* by node id: the step that computes it, -1: none */
    Buffer **buffer;  /* by node id: NULL if it is not stored */
    Buffer **partial; /* by id of a token_sum: its sums by granule */
    Step *step;
    int nstep;
    Phase *phase;
    int nphase;
    Contribution *part;
    int npart;
    int *part_of;       /* by node id: the first part that is the node, -1: none is */
    Pieces *pieces;     /* by id of a parameter */
    const Alike *alike; /* NULL: there is no training step */
    int *next_side;     /* by id of a node: its first other result, by id of that: the next; -1 */
    /* by node id: offset of a parameter's weights and gradient, or of a table; filled by codegen */
    int64_t *place;
    bool rules;           /* gradients are what rules make of buffers */
    bool guarded;         /* leave guard words around every place in the arena */
    int64_t token_floats; /* arena: floats per token */
    int64_t local_floats; /* a worker's, for one token of its chunk */
    int64_t granule_floats, constant_floats;
} Plan;

/* Drops the reshapes between a value and what is stored. */
const Node *plan_storage(const Node *n);
/* Whether n is a transposed parameter, or a reshape of one. */
bool plan_turned(const Node *n);
/* The buffer a node's value is in (through reshapes), or NULL. */
Buffer *plan_buffer(const Plan *p, const Node *n);
/* The gradient of the parameter with that name; none if it has no gradient. */
Pieces plan_pieces(const Plan *p, const char *param);
/* Floats of a guard: per row in SPACE_TOKEN and SPACE_LOCAL, in all elsewhere. */
int64_t plan_guard(const Plan *p, Space space);
/* Whether the value is stored as bfloat16, two numbers per float: pass_precision rounds operands of
** products and some results. */
static inline bool plan_bf16(const Node *n) { return n->op == OP_bf16 || n->attr->bf16; }
/* Whether the value is read in the call's lists of rows: lists themselves, and the positions of
** their tokens. */
static inline bool plan_listed(const Node *n) {
    return n->op == OP_rows || (n->op == OP_gather && n->in[0]->op == OP_position);
}

bool plan_has_forms(const Graph *g);    /* it generates otherwise than it is trained */
bool plan_has_decoding(const Graph *g); /* the program with caches is another */

#endif
