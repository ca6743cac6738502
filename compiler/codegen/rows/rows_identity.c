/* SPDX-License-Identifier: MIT
** Which row kernels have the same code: everything that rows_emit() looks at, as a list of words.
*/
#include "rows_analysis.h"
#include "array.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"

/* Before a word that means something else than a number would in its place. */
enum { IDLE = -1, NEAR_SERIES = -2, OPERAND = -3, SERIES = -4, FILL = -5 };

static void identity_add(RowsIdentity *to, int64_t word) {
    checked(ARRAY_ROOM(to->word, to->n, to->most, 256) ? to->word : NULL);
    to->word[to->n++] = word;
}

static void add_double(RowsIdentity *to, double value) {
    int64_t word;
    memcpy(&word, &value, sizeof word);
    identity_add(to, word);
}

/* Of a value that comes from memory it does not matter what made it, only how it is read. */
static Op op_read(const RowValue *v) {
    int class = class_of(v->n);
    return v->here || class == WAVE || class == VIEW ? v->n->op : OP_param;
}

/* Those that go with a series are the same wherever they are as near to it. */
static void identity_add_number(RowsIdentity *to, const Rows *r, bool counts, int64_t length) {
    if (counts) identity_add(to, NEAR_SERIES);
    identity_add(to, counts ? length - r->count : length);
}

static void add_length(RowsIdentity *to, const Rows *r, int64_t length) {
    identity_add_number(to, r, rows_counts(r, length), length);
}

/* How long an operand's first axis is does not matter to who reads some of it. */
static void add_shape(RowsIdentity *to, const Rows *r, const RowValue *v) {
    const Shape *s = &v->n->shape;
    bool part = !r->p->guarded && !v->here && !v->use.whole && rows_cut_anywhere(s);
    identity_add(to, s->lead);
    identity_add(to, s->rank);
    for (int i = part; i < s->rank; i++)
        add_length(to, r, s->dim[i]);
}

static void add_attributes(RowsIdentity *to, const Rows *r, const RowValue *v) {
    const Node *n = v->n;
    const Attr *a = n->attr;
    add_double(to, a->value);
    identity_add(to, a->axis);
    if (v->in.first >= 0) identity_add(to, OPERAND), identity_add(to, v->in.first);
    else identity_add_number(to, r, rows_begins(r, a->first), a->first);
    add_length(to, r, a->count);
    for (int i = 0; op_info[n->op].attr == PERM && i < MAXRANK; i++)
        identity_add(to, a->perm[i]);
}

/* Whether two readers share a fill does not matter: each says what it is. */
static void add_read(RowsIdentity *to, const Rows *r, const Node *n, int number) {
    const RowValue *v = rows_value(r, n);
    if (n->op != OP_fill) {
        identity_add(to, v->rank);
        return;
    }
    if (number >= 0) identity_add(to, OPERAND), identity_add(to, number);
    else identity_add(to, FILL), add_double(to, n->attr->value);
    add_shape(to, r, v);
}

static void add_value(RowsIdentity *to, const Rows *r, const RowValue *v) {
    const Node *n = v->n;
    if (n->op == OP_fill) return;
    if (v->use.idle) {
        identity_add(to, IDLE);
        return;
    }
    identity_add(to, 2 * (int64_t)op_read(v) + plan_bf16(n));
    identity_add(to,
                 v->stored + 2 * v->lies.memory + 4 * v->lies.apart
                     + 8 * v->weight); /* they can hang on how long a list is */
    add_shape(to, r, v);
    if (v->here) add_attributes(to, r, v);
    identity_add(to, v->here ? node_reads(n) : 0);
    for (int i = 0; v->here && i < node_reads(n); i++)
        add_read(to, r, n->in[i], i < ROWS_READS ? v->in.number[i] : -1);
    if (v->in.series >= 0) {
        identity_add(to, SERIES);
        identity_add(to, v->in.series);
        identity_add(to, r->count ? 0 : n->nin);
    }
    identity_add(to, v->lies.operand);
    identity_add(to, v->lies.nout);
    for (int i = 0; i < v->lies.nout; i++)
        identity_add(to, v->lies.out[i]);
}

static void identity_add_operand(RowsIdentity *to, const Operand *o) {
    bool row = o->node && o->node->shape.lead == LEAD_TOKENS;
    int32_t area = o->ref.area;
    if (area != AREA_TABLE && area != AREA_GRANULE && area != AREA_NONE) area = 0;
    identity_add(to, area);
    identity_add(to, 2 * (int64_t)row + o->add);
    bool several = row || area; /* rows: of the others there is one */
    identity_add(to, several && o->stride < 0 ? o->ref.stride : 0);
    identity_add(to, o->stride);
}

RowsIdentity rows_identity(const Rows *r) {
    RowsIdentity id = { 0 };
    identity_add(&id, 2 * (int64_t)r->step->kind + r->p->g->short_rows);
    identity_add(&id, r->nranked);
    for (int i = 0; i < r->nvalue; i++)
        add_value(&id, r, &r->value[i]);
    identity_add(&id, r->nfixed);
    for (int i = 0; i < r->nfixed; i++)
        identity_add_operand(&id, &r->operand[i]);
    for (int i = 0; i < r->nseries; i++)
        identity_add_operand(&id, &r->operand[r->series[i].first]);
    for (int i = 0; i < r->step->n; i++)
        if (class_of(r->step->node[i]) == TOKENSUM) add_read(&id, r, r->step->node[i]->in[0], -1);
    id.hash = HASH_START;
    for (int i = 0; i < id.n; i++)
        id.hash = hash_word(id.hash, (uint64_t)id.word[i]);
    return id;
}

bool rows_same_code(const RowsIdentity *a, const RowsIdentity *b) {
    return a->n == b->n && !memcmp(a->word, b->word, (size_t)a->n * sizeof *a->word);
}
