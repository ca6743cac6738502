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

static void identify_value(const Rows *r, const RowValue *v, FILE *f) {
    const Node *n = v->n;
    const Attr *a = &n->attr;
    fprintf(f, "%d%s:%d %d", op_read(v), plan_bf16(n) ? "h" : "", n->shape.lead, n->shape.rank);
    for (int i = 0; i < n->shape.rank; i++)
        fprintf(f, " %lld", (long long)n->shape.dim[i]);
    if (v->here || n->op == OP_fill) {
        fprintf(f, "|%a %d %lld %lld", n->op == OP_fill ? a->value : 0, a->axis,
                (long long)a->first, (long long)a->count);
        for (int i = 0; op_info[n->op].attr == PERM && i < MAXRANK; i++)
            fprintf(f, " %d", a->perm[i]);
    }
    for (int i = 0; v->here && i < node_reads(n); i++)
        fprintf(f, " %%%d", r->slot[n->in[i]->id]);
    fprintf(f, "|%d", v->operand);
    for (int i = 0; i < v->nout; i++)
        fprintf(f, " >%d", v->out[i]);
    fputc('\n', f);
}

char *rows_identity(const Rows *r) {
    char *text;
    size_t size;
    FILE *f = checked_file(&text, &size);
    fprintf(f, "%d\n", r->step->kind);
    for (int i = 0; i < r->nvalue; i++)
        identify_value(r, &r->value[i], f);
    for (int i = 0; i < r->noperand; i++) {
        const Operand *o = &r->operand[i];
        bool row = o->node && o->node->shape.lead == LEAD_TOKENS;
        fprintf(f, "%d %d %d %d\n",
                o->ref.area == AREA_TABLE || o->ref.area == AREA_GRANULE ? o->ref.area : 0, row,
                o->ref.stride, o->add);
    }
    for (int i = 0; i < r->step->n; i++)
        if (class_of(r->step->node[i]) == TOKENSUM)
            fprintf(f, "sum %%%d\n", r->slot[r->step->node[i]->in[0]->id]);
    checked_written(f, &text);
    return text;
}
