/* SPDX-License-Identifier: MIT
** Shared by the files of the printer.  A part is a sequence of nodes of one site and becomes a
** call of a function.  Nodes that depend on positions only belong to no part and come first.
*/
#ifndef STRATA_TORCH_PRINT_H
#define STRATA_TORCH_PRINT_H

#include "torch_file.h"

/* How tightly an expression holds together. */
typedef enum TorchLevel { LEVEL_SUM, LEVEL_PRODUCT, LEVEL_UNARY, LEVEL_WHOLE } TorchLevel;

/* Of positions only; a parameter, or what is written where it is used. */
enum { PART_FIRST = -1, PART_NONE = -2 };

typedef struct TorchExpression {
    char *text; /* in the function that is being printed; NULL: none yet */
    TorchLevel level;
} TorchExpression;

/* What a part is given: a value, a parameter of another place, or a list of values. */
typedef struct TorchArgument {
    const Node **node;
    int nodes;
    bool list;
} TorchArgument;

/* A part, as a call. */
typedef struct TorchCall {
    int function; /* its index */
    bool params;  /* it is given the parameters of its layer, or of its site */
    const char *site;
    TorchArgument *argument;
    int arguments;
    const Node **out;
    int outs;
} TorchCall;

typedef struct TorchPrinter {
    const Graph *g;
    const Node *logits;
    int *part;   /* by node: which part, or PART_… */
    int *uses;   /* by node: how often it is an operand */
    bool *outer; /* by node: another part takes it */
    TorchExpression *at;
    char **name; /* by node: in the function 'logits'; NULL: none */
    Text taken;  /* names there: " a b " */
    TorchCall *call;
    int calls;
    char **function, **called; /* bodies from the parenthesis on, and names */
    int functions;
    Error *e;
} TorchPrinter;

/* Refuses parameters whose names modules of PyTorch cannot have. */
int torch_check(const Graph *g, Error *e);

/* Of n, what PyTorch's operation takes: lists of tokens are their masks, sides of sorted experts
** the experts' places. */
int torch_operands(const Node *n);
const Node *torch_operand(const Node *n, int i);
/* It has no value of its own: torch_operand looks through it. */
bool torch_is_alias(const Node *n);

/* The value of n, of its operands' texts; false: there is none for it (an error is set). */
bool torch_operation(TorchPrinter *p, const Node *n, Text *out, TorchLevel *level);
/* torch_anchors.c: the same, of those with a kernel of their own. */
bool torch_anchor(TorchPrinter *p, const Node *n, Text *out, TorchLevel *level);
/* What both add to a text: an operand's expression, in parentheses where it binds less than
** 'least'; those from 'first' to 'end'; a number; indexing that gives x as many axes as 'rank'. */
void torch_add_operand(TorchPrinter *p, const Node *n, int i, Text *t, TorchLevel least);
void torch_add_operands(TorchPrinter *p, const Node *n, int first, int end, Text *t);
void torch_number(Text *t, double value);
void torch_add_axes(Text *t, const Node *x, int rank);
/* Is this operand of n written as a number? */
bool torch_literal(const Node *n, int i);
/* Short enough, and clear enough, to stand where it is used. */
bool torch_inline(const Node *n, const Text *text);

/* An identifier like 'wish' that is not among 'taken', which it joins. To be freed. */
char *torch_name(Text *taken, const char *wish);
/* A parameter as Python has it, "root.layers[3].mlp.up.weight", without the first 'skip' bytes of
** its name. */
void torch_param(Text *t, const char *root, const Node *param, size_t skip);
/* Bytes of a site that name whose parameters its part is given: "layers.3", or all of it. */
size_t torch_owner(const char *site);

/* torch_parts.c: the statements of a part, names for what is taken out of it. NULL: an error. */
int torch_part(TorchPrinter *p, int part, TorchCall *call, Text *body);
/* Statements of the nodes that depend on positions only. */
int torch_first(TorchPrinter *p, Text *body);
/* torch_calls.c: the calls, with loops where they repeat. */
void torch_calls(TorchPrinter *p, Text *t);

#endif
