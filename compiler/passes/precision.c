/* SPDX-License-Identifier: MIT
** --precision bf16: operands of products are rounded to bfloat16.  Activations are rounded in the
** row kernel that computes them, weights where they are packed.  Products of bfloat16 numbers are
** exact in float32, and their operands take half the memory.  Attention itself rounds what it
** multiplies: q, k, v, the output's gradient, probabilities and the gradients of scores.
**
** A value that all its readers take as bfloat16 is stored as such, in half the memory:
**   - results of products that row operations read, including gates and what rotations turn, and
**     results that are added to something once, such as those of sublayers;
**   - in a training step q, k, v and the result of attention, and the gradients of the result and
**     of q, if heads are whole cache lines of bfloat16 and nothing shapes or pools scores;
**   - sources that depth reads take again in layer after layer (is_kept).
** What is added up over layers (the stream and gradients of sources) stays float32, and so does
** everything else.
*/
#include "passes.h"
#include "rebuild.h"

/* The fewest numbers per token of results that are stored as bfloat16: of products, of row
** operations. */
enum { LONG = 16, WIDE = 64 };

static bool has_room_to_gain(const Node *n) {
    return op_info[n->op].class == CONTRACT && n->nin == 2 && n->shape.dim[0] >= LONG;
}

/* Whether this attention of a training step reads its token operands as bfloat16 and stores its
** results as bfloat16; gradients of keys and values are sums and stay float32. */
static bool is_narrow(const Node *n, const bool *bf16) {
    enum { LINE = 32 };
    if (op_info[n->op].class != SEQUENCE || !bf16[n->id]) return false;
    const Attr *a = n->attr;
    return !a->count && !a->window && !a->values && !a->bits && a->softcap == 0
        && n->nin == (n->op == OP_attention ? 3 : 6) && n->in[0]->shape.dim[1] % LINE == 0
        && n->in[2]->shape.dim[1] % LINE == 0;
}

/* Whether operand k is one of these: q, k, v or the result's gradient. */
static bool is_narrow_operand(int k) { return k < 3 || k == 5; }

/* Whether the user may read operand k as bfloat16; for a view, its own users decided.  A product's
** result may be added to something once, as the result of a sublayer is. */
static bool reads_bf16(const Node *user, int k, const bool *bf16) {
    switch (op_info[user->op].class) {
    case POINTWISE:
        return (user->op != OP_add && user->op != OP_sub)
            || op_info[user->in[k]->op].class == CONTRACT;
    case REDUCE: return true;
    case VIEW:
        if (user->op == OP_after && k > 0) return true;
        return user->op != OP_concat && bf16[user->id];
    case CONTRACT:
    case EXPERT: return k == 0;
    case OUTER: return true;
    case SIDE: return true; /* another result */
    case SEQUENCE: return is_narrow_operand(k) && is_narrow(user, bf16);
    default: return false;
    }
}

/* By id: whether all readers may read the value as bfloat16; whether one reads it as a source in a
** list, or together with other values. */
typedef struct Readers {
    bool *bf16, *kept;
} Readers;

static bool trains(const Graph *g) {
    for (int i = 0; i < g->n; i++)
        if (g->node[i]->backward) return true;
    return false;
}

static bool keeps(const Readers *r, const Node *user, int k) {
    if (user->op == OP_stack || user->op == OP_after) return k == 0 || user->op == OP_stack;
    return op_info[user->op].class == VIEW && r->kept[user->id];
}

static Readers readers_of(Graph *g) {
    size_t n = (size_t)g->n + 1;
    Readers r = { graph_alloc(g, n * sizeof *r.bf16), graph_alloc(g, n * sizeof *r.kept) };
    bool back = trains(g);
    for (int i = 0; i < g->n; i++) {
        r.bf16[i] = back || op_info[g->node[i]->op].class != SEQUENCE;
        r.kept[i] = false;
    }
    for (int i = 0; i < g->nout; i++)
        r.bf16[g->out[i].node->id] = false;
    for (int i = g->n; i-- > 0;) {
        const Node *user = g->node[i];
        for (int k = 0; k < user->nin; k++) {
            int read = user->in[k]->id;
            if (!reads_bf16(user, k, r.bf16)) r.bf16[read] = false;
            if (keeps(&r, user, k)) r.kept[read] = true;
        }
    }
    return r;
}

/* Whether depth reads take this result of row operations again in layer after layer: complete
** sources, partial results that reads share, and gradients of reads until those of their sources
** are summed.  Nothing may add to it. */
static bool precision_is_kept(const Readers *r, const Node *n) {
    Class c = op_info[n->op].class;
    bool of_row = c == POINTWISE || c == REDUCE || (c >= PARTWISE && c <= PICK);
    return r->kept[n->id] && r->bf16[n->id] && of_row && n->shape.lead == LEAD_TOKENS
        && shape_count(&n->shape) >= WIDE;
}

/* n, stored as bfloat16: itself if it is already. */
static Node *rounded(Node *n) {
    const Node *stored = n;
    while (stored->op == OP_reshape)
        stored = stored->in[0];
    return plan_bf16(stored) ? n : op_bf16(n);
}

static Node *precision_narrow(Rebuild *r, const Node *old, Node **in) {
    Attr attr = *old->attr;
    attr.bf16 = true;
    return rebuild_as(r, old, in, attr);
}

/* Rounds the operands that are values of tokens, except a product's third operand, its sum so
** far. */
static Node *precision_rule(Rebuild *r, const Node *old, Node **in) {
    const Readers *readers = r->user;
    const bool *bf16 = readers->bf16;
    Class c = op_info[old->op].class;
    if (precision_is_kept(readers, old)) return op_bf16(rebuild_as(r, old, in, *old->attr));
    if (is_narrow(old, bf16)) {
        for (int i = 0; i < old->nin; i++)
            if (is_narrow_operand(i)) in[i] = rounded(in[i]);
        return precision_narrow(r, old, in);
    }
    if (c != CONTRACT && c != OUTER && c != EXPERT) return NULL;
    for (int i = 0; i < 2; i++)
        if (in[i]->shape.lead == LEAD_TOKENS) in[i] = rounded(in[i]);
    return has_room_to_gain(old) && bf16[old->id] ? precision_narrow(r, old, in) : NULL;
}

Graph *pass_precision(Graph *g) {
    Readers readers = readers_of(g);
    g = rebuild(g, precision_rule, &readers);
    g->bf16 = true;
    return g;
}
