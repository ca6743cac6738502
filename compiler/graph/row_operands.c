/* SPDX-License-Identifier: MIT
** Operands of anchors that need one row per token.  A value that is the same for all tokens is
** accepted too: it is repeated to the rows of the operand beside it.
*/
#include "op.h"

/* The value of tokens that is nearest to operand i, a later one first; NULL: there is none. */
static const Node *operands_beside(int nin, Node *const *in, int i) {
    for (int far = 1; far < nin; far++) {
        const Node *after = i + far < nin ? in[i + far] : NULL,
                   *before = i >= far ? in[i - far] : NULL;
        if (after && after->shape.lead == LEAD_TOKENS) return after;
        if (before && before->shape.lead == LEAD_TOKENS) return before;
    }
    return NULL;
}

Node *op_as_rows(Op op, int nin, Node *const *in, int i) {
    Shape s = in[i]->shape;
    const Node *like = operands_beside(nin, in, i);
    bool taken = i < 8 && (op_info[op].rows >> i & 1);
    if (!taken || !like || s.lead == LEAD_TOKENS || s.type != F32) return NULL;
    s.lead = LEAD_TOKENS;
    s.list = op == OP_gather ? 0 : like->shape.list;
    return op_broadcast(in[i], &s);
}
