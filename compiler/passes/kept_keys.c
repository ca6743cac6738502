/* SPDX-License-Identifier: MIT
** --cache bf16|q8: in programs that do not train, attention reads keys and values rounded as the
** caches of sequences store them (graph/ops_small.c).  Prompts and evaluation thus compute what
** decoding computes.  Averages of keys are not rounded.
*/
#include "passes.h"
#include "kept_rows.h"
#include "rebuild.h"

static Node *kept_keys_rule(Rebuild *r, const Node *old, Node **in) {
    if (old->op != OP_attention || old->attr->count) return NULL;
    Attr attr = *old->attr;
    attr.bits = *(const int *)r->user == KEPT_Q8 ? 8 : 16;
    return rebuild_as(r, old, in, attr);
}

Graph *pass_cache(Graph *g, int kept) { return rebuild(g, kept_keys_rule, &kept); }
