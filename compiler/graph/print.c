/*
** The text form of a graph: one line a node, then one an output.
**
**   %0 = param "w" normal 0.02 : [4,3]
**   %2 = slice %1 axis=0 first=1 count=2 : [tokens,2]
**   output "loss" %2
**
** After the shape may follow: copy=N, backward, and with locations
** @ "FILE":LINE and site "PLACE".  read.c reads it back; shapes are printed
** for people and checked when read.
*/
#include "op.h"

#include <stdlib.h>
#include <string.h>

static void print_quoted(FILE *f, const char *s) {
    fputc('"', f);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') fprintf(f, "\\%c", c);
        else if (c < 32 || c == 127) fprintf(f, "\\x%02x", c);
        else fputc(c, f);
    }
    fputc('"', f);
}

/* The shortest decimal that reads back as the same double. */
static void print_double(FILE *f, double v) {
    char buf[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, v);
        if (strtod(buf, NULL) == v) break;
    }
    fputs(buf, f);
}

static void print_list(FILE *f, const double *list, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (i) fputc(',', f);
        print_double(f, list[i]);
    }
}

static void print_init(FILE *f, const Param *p) {
    switch (p->init.kind) {
    case INIT_CONSTANT:
        fputs(" constant ", f);
        print_double(f, p->init.value);
        break;
    case INIT_NORMAL:
        fputs(" normal ", f);
        print_double(f, p->init.value);
        break;
    case INIT_LIST:
        fputs(" list ", f);
        print_list(f, p->init.list, shape_count(&p->node->shape));
        break;
    }
}

static void print_wave(FILE *f, const Attr *a) {
    fputs(" scale=", f);
    print_double(f, a->value);
    fprintf(f, " %s ", a->sine ? "sin" : "cos");
    print_list(f, a->frequency, a->count);
}

/* p: of a parameter, what it starts as; NULL leaves that out. */
static void print_attr(FILE *f, const Node *n, const Param *p) {
    const Attr *a = &n->attr;
    switch (op_info[n->op].attr) {
    case NONE:
    case SHAPE: break; /* the shape that follows says it */
    case NAME: fputc(' ', f), print_quoted(f, a->name), p ? print_init(f, p) : (void)0; break;
    case VALUE: fputc(' ', f), print_double(f, a->value); break;
    case AXIS: fprintf(f, " axis=%d", a->axis); break;
    case RANGE:
        fprintf(f, " axis=%d first=%lld count=%lld", a->axis, (long long)a->first,
                (long long)a->count);
        break;
    case PERM:
        fputs(" perm=", f);
        for (int i = 0; i < n->shape.rank; i++)
            fprintf(f, "%s%d", i ? "," : "", a->perm[i]);
        break;
    case INDEX: fprintf(f, " result=%lld", (long long)a->first); break;
    case COUNT: fprintf(f, " count=%lld", (long long)a->count); break;
    case ATTENTION:
        fputs(" scale=", f), print_double(f, a->value);
        if (a->causal) fputs(" causal", f);
        if (a->count) fprintf(f, a->causal ? " chunk=%lld" : " pools=%lld", (long long)a->count);
        break;
    case WAVE_: print_wave(f, a); break;
    case PRODUCT:
        if (a->half) fputs(" half", f);
        break;
    case SHARE: fputs(" share=", f), print_double(f, a->value); break;
    }
}

static void print_shape(FILE *f, const Shape *s) {
    fprintf(f, "%s[%s", s->type == I32 ? "int32" : "",
            s->lead != LEAD_TOKENS ? ""
                : s->list          ? "rows"
                                   : "tokens");
    if (s->list) fprintf(f, "%d", s->list);
    for (int i = 0; i < s->rank; i++)
        fprintf(f, "%s%lld", i || s->lead == LEAD_TOKENS ? "," : "", (long long)s->dim[i]);
    fputc(']', f);
}

void graph_print_op(const Node *n, FILE *f) {
    fputs(op_info[n->op].name, f);
    print_attr(f, n, NULL);
}

static void print_node(FILE *f, const Node *n, const Param *p, bool locations) {
    fprintf(f, "%%%d = %s", n->id, op_info[n->op].name);
    for (int k = 0; k < n->nin; k++)
        fprintf(f, "%s%%%d", k ? ", " : " ", n->in[k]->id);
    print_attr(f, n, p);
    fputs(" : ", f);
    print_shape(f, &n->shape);
    if (n->attr.copy) fprintf(f, " copy=%d", n->attr.copy);
    if (n->backward) fputs(" backward", f);
    if (locations && n->loc.file) {
        fputs(" @ ", f), print_quoted(f, n->loc.file);
        fprintf(f, ":%d", n->loc.line);
    }
    if (locations && n->site) fputs(" site ", f), print_quoted(f, n->site);
    fputc('\n', f);
}

void graph_print(const Graph *g, FILE *f, bool locations) {
    for (int i = 0, p = 0; i < g->n; i++) {
        const Param *param = g->node[i]->op == OP_param ? &g->param[p++] : NULL;
        print_node(f, g->node[i], param, locations);
    }
    for (int i = 0; i < g->nout; i++) {
        fputs("output ", f), print_quoted(f, g->out[i].name);
        fprintf(f, " %%%d\n", g->out[i].node->id);
    }
}
