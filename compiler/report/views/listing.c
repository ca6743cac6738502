/* SPDX-License-Identifier: MIT
** The kernel listing: what each kernel computes, one line per operation.
**
**   rows_mlp: row, 48 calls, 2.1k FLOPs and 6.0 KiB per token
**     a0                                [tokens,512]   linear of layers.0.attention
**     v0 = mul a0, a0                   [tokens,512]   specs/small.lua:8
**
** a is read from memory, v is computed, and an arrow says what is written.  Numbers begin anew in
** every kernel, so that equal kernels have equal lines.  Kernels that share code are listed once,
** with the operands and numbers of the first call.
*/
#include "views.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "rows.h"
#include "work.h"

typedef struct Listing {
    const Plan *p;
    const Step *step;
    const Rows *rows; /* NULL: an anchor */
    int *number;      /* of values: of a or v; of an anchor's operands */
    int reads, values;
    Text *t;
    Text *places; /* a line each, instead of on the operation's; NULL: on it */
} Listing;

/* == Parts of a line ====================================================== */

static void add_printed(Text *t, const Node *n, void (*print)(const Node *, FILE *)) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = checked_file(&text, &size);
    print(n, f);
    checked_written(f, &text);
    text_bytes(t, text, size);
    free(text);
}

static void pad(Text *t, size_t from, size_t width) {
    while (!t->failed && t->length < from + width)
        text_bytes(t, " ", 1);
    text_bytes(t, " ", 1);
}

static void end_line(Listing *l, size_t from, const Node *n) {
    pad(l->t, from, 44);
    size_t shape = l->t->length;
    text_add(l->t, "%s", shape_text(n->g, &n->shape));
    pad(l->t, shape, 18);
}

/* In the lines themselves the user's line; apart from them the innermost, as in line tables. */
static void listing_add_place(Listing *l, const Node *n) {
    Loc at = l->places ? loc_innermost(n->loc) : n->loc;
    if (at.file) text_add(l->places ? l->places : l->t, "%s:%d", at.file, at.line);
}

static void listing_next_line(Listing *l) {
    text_add(l->t, "\n");
    if (l->places) text_add(l->places, "\n");
}

/* Where an operand comes from. */
static void add_origin(Text *t, const Node *n) {
    const Node *s = plan_storage(n);
    if (s->op == OP_param) text_add(t, "%s", s->attr->name);
    else if (op_info[s->op].class == SOURCE || op_info[s->op].class == WAVE)
        text_add(t, "%s", op_info[s->op].name);
    else
        text_add(t, "%s of %s%s", op_info[work_owner(s)->op].name, s->site ? s->site : "the model",
                 s->backward ? ", backward" : "");
}

/* == Row kernels ========================================================== */

static int listing_value_of(const Listing *l, const Node *n) {
    return (int)(rows_value(l->rows, n) - l->rows->value);
}

static void listing_add_operand(Listing *l, const Node *n) {
    const RowValue *v = rows_value(l->rows, n);
    if (!v) text_add(l->t, "?");
    else if (n->op == OP_fill) text_json_number(l->t, n->attr->value);
    else text_add(l->t, "%c%d", v->here ? 'v' : 'a', l->number[listing_value_of(l, n)]);
}

static void add_results(Listing *l, const RowValue *v) {
    for (int i = 0; i < v->lies.nout; i++) {
        const Operand *o = &l->rows->operand[v->lies.out[i]];
        text_add(l->t,
                 o->add                          ? "  added to a gradient"
                     : o->ref.area == AREA_LOCAL ? "  -> local"
                                                 : "  -> memory");
    }
}

/* Rows that are found by number. */
static void add_series(Listing *l, const Node *stack) {
    text_add(l->t, "%d rows, ", stack->nin);
    add_origin(l->t, stack->in[0]);
    text_add(l->t, " to ");
    add_origin(l->t, stack->in[stack->nin - 1]);
}

static void add_value(Listing *l, const RowValue *v) {
    size_t from = l->t->length;
    if (v->n->op == OP_fill) return;
    int number = l->number[v - l->rows->value] = v->here ? l->values++ : l->reads++;
    text_add(l->t, "  %c%d", v->here ? 'v' : 'a', number);
    if (v->here) {
        text_add(l->t, " = ");
        add_printed(l->t, v->n, graph_print_op);
        for (int i = 0; i < node_reads(v->n); i++)
            text_add(l->t, i ? ", " : " "), listing_add_operand(l, v->n->in[i]);
    }
    end_line(l, from, v->n);
    if (v->here) listing_add_place(l, v->n), add_results(l, v);
    else if (v->in.series >= 0) add_series(l, v->n);
    else add_origin(l->t, v->n);
    listing_next_line(l);
}

static void add_token_sum(Listing *l, const Node *n) {
    size_t from = l->t->length;
    text_add(l->t, "  v%d = token_sum ", l->values++);
    listing_add_operand(l, n->in[0]);
    end_line(l, from, n);
    listing_add_place(l, n);
    text_add(l->t, "  -> sums of %d tokens", GRANULE);
    listing_next_line(l);
}

static void list_rows(Listing *l) {
    for (int i = 0; i < l->rows->nvalue; i++)
        add_value(l, &l->rows->value[i]);
    for (int i = 0; i < l->step->n; i++)
        if (op_info[l->step->node[i]->op].class == TOKENSUM) add_token_sum(l, l->step->node[i]);
}

/* == Anchors ============================================================== */

static void list_anchor(Listing *l) {
    const Node *n = l->step->anchor;
    for (int i = 0; i < n->nin; i++) {
        size_t from = l->t->length;
        text_add(l->t, "  a%d", i);
        end_line(l, from, n->in[i]);
        add_origin(l->t, n->in[i]);
        listing_next_line(l);
    }
    size_t from = l->t->length;
    text_add(l->t, "  v0 = ");
    add_printed(l->t, n, graph_print_op);
    for (int i = 0; i < n->nin; i++)
        text_add(l->t, i ? ", a%d" : " a%d", i);
    end_line(l, from, n);
    listing_add_place(l, n);
    listing_next_line(l);
}

/* == A kernel ============================================================= */

void report_kernel_lines(const Report *r, const ReportKernel *k, Text *t, Text *places) {
    const Plan *p = r->planned.plans.plan[k->plan];
    Listing l = { .p = p, .step = &p->step[k->step], .t = t, .places = places };
    if (l.step->kind == STEP_ANCHOR || l.step->kind == STEP_REDUCE) {
        list_anchor(&l);
        return;
    }
    l.rows = rows_analyse(p, k->step, r->planned.lanes, rows_shared(p));
    l.number = graph_alloc(p->g, ((size_t)l.rows->nvalue + 1) * sizeof *l.number);
    list_rows(&l);
}

void report_kernels_text(const Report *r, Text *t) {
    int kind = r->training ? TRAINING : FORWARD;
    for (int i = 0; i < r->nkernel; i++) {
        const ReportKernel *k = &r->kernel[i];
        const Work *w = &k->work[k->work[kind].calls ? kind : FORWARD];
        char a[32], b[32];
        text_add(t, "%s%s: %s, ", i ? "\n" : "", k->name, k->family);
        if (r->training)
            text_add(t, "%d calls a training step, %d reading", k->work[TRAINING].calls,
                     k->work[FORWARD].calls);
        else text_add(t, "%d calls", k->work[FORWARD].calls);
        text_add(t, "; per call: %s and %s per token\n", human_flops(a, w->flops / w->calls),
                 human_bytes(b, w->bytes / w->calls));
        report_kernel_lines(r, k, t, NULL);
    }
}
