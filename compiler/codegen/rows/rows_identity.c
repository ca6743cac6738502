/*
** Which row kernels are the same code: all that rows_emit() looks at, as text.
*/
#include "rows_analysis.h"
#include "fatal.h"

#include <stdio.h>

/* Of a value that comes from memory it does not matter what made it, only how it is read. */
static Op op_read(const RowValue *v) {
    int class = class_of(v->n);
    return v->here || v->n->op == OP_fill || class == WAVE || class == VIEW ? v->n->op : OP_param;
}

/* Those that go with a series are the same wherever they are as near to it. */
static void identify_number(const Rows *r, bool counts, int64_t length, FILE *f) {
    fprintf(f, counts ? " n%lld" : " %lld", (long long)(counts ? length - r->count : length));
}

static void identify_length(const Rows *r, int64_t length, FILE *f) {
    identify_number(r, rows_counts(r, length), length, f);
}

/* How long an operand's first axis is does not matter to who reads some of it. */
static void identify_shape(const Rows *r, const RowValue *v, FILE *f) {
    const Shape *s = &v->n->shape;
    bool part = !r->p->guarded && !v->here && !v->whole && s->rank > 1 && s->dim[0] > ROWS_UNROLL;
    fprintf(f, ":%d %d", s->lead, s->rank);
    for (int i = part; i < s->rank; i++)
        identify_length(r, s->dim[i], f);
}

static void identify_attributes(const Rows *r, const RowValue *v, FILE *f) {
    const Node *n = v->n;
    const Attr *a = n->attr;
    fprintf(f, "|%a %d", n->op == OP_fill ? a->value : 0, a->axis);
    if (v->first >= 0) fprintf(f, " @%d", v->first);
    else identify_number(r, rows_begins(r, a->first), a->first, f);
    identify_length(r, a->count, f);
    for (int i = 0; op_info[n->op].attr == PERM && i < MAXRANK; i++)
        fprintf(f, " %d", a->perm[i]);
}

static void identify_value(const Rows *r, const RowValue *v, FILE *f) {
    const Node *n = v->n;
    if (v->idle) {
        fputs("idle\n", f);
        return;
    }
    fprintf(f, "%d%s", op_read(v), plan_bf16(n) ? "h" : "");
    identify_shape(r, v, f);
    if (v->here || n->op == OP_fill) identify_attributes(r, v, f);
    for (int i = 0; v->here && i < node_reads(n); i++)
        fprintf(f, " %%%d", r->slot[n->in[i]->id]);
    if (v->series >= 0)
        fprintf(f, " series %d of %lld", v->series, r->count ? -1 : (long long)n->nin);
    fprintf(f, "|%d", v->operand);
    for (int i = 0; i < v->nout; i++)
        fprintf(f, " >%d", v->out[i]);
    fputc('\n', f);
}

static void identify_operand(const Operand *o, FILE *f) {
    bool row = o->node && o->node->shape.lead == LEAD_TOKENS;
    int32_t area = o->ref.area;
    if (area != AREA_TABLE && area != AREA_GRANULE && area != AREA_NONE) area = 0;
    fprintf(f, "%d %d %d %d %d\n", area, row, o->stride < 0 ? o->ref.stride : 0, o->add, o->stride);
}

char *rows_identity(const Rows *r) {
    char *text;
    size_t size;
    FILE *f = checked_file(&text, &size);
    fprintf(f, "%d\n", r->step->kind);
    for (int i = 0; i < r->nvalue; i++)
        identify_value(r, &r->value[i], f);
    for (int i = 0; i < r->nfixed; i++)
        identify_operand(&r->operand[i], f);
    for (int i = 0; i < r->nseries; i++)
        identify_operand(&r->operand[r->series[i].first], f);
    for (int i = 0; i < r->step->n; i++)
        if (class_of(r->step->node[i]) == TOKENSUM)
            fprintf(f, "sum %%%d\n", r->slot[r->step->node[i]->in[0]->id]);
    checked_written(f, &text);
    return text;
}
