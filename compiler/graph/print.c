/* SPDX-License-Identifier: MIT
** The text form of a graph: one line per node, then one per output.
**
**   %0 = param "w" normal 0.02 : [4,3]
**   %2 = slice %1 axis=0 first=1 count=2 : [tokens,2]
**   output "loss" %2
**
** After the shape may follow: copy=N, backward, and with locations
** @ "FILE":LINE and site "PLACE".  read.c reads it back; shapes are printed
** for people and checked when read.
*/
#include "escape.h"
#include "op.h"

#include <stdlib.h>
#include <string.h>

/* As read.c reads it back: what is not inert as \xNN, a byte each. */
static void print_quoted(FILE *f, const char *s) {
    fputc('"', f);
    bool inert;
    for (size_t n; *s; s += n) {
        n = text_character(s, strlen(s), &inert);
        if (*s == '"' || *s == '\\') fputc('\\', f);
        for (size_t i = 0; i < n; i++)
            if (inert) fputc(s[i], f);
            else fprintf(f, "\\x%02x", (unsigned char)s[i]);
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
    case INIT_UNIFORM:
        fputs(" uniform ", f);
        print_list(f, p->init.list, p->init.points);
        break;
    }
}

static void print_tuning(FILE *f, const Tuning *t) {
    if (t->frozen) fputs(" frozen", f);
    if (t->muon) fputs(" muon", f);
    if (t->own_rate) fputs(" rate ", f), print_double(f, t->rate);
    if (t->own_decay) fputs(" weight_decay ", f), print_double(f, t->weight_decay);
}

static void print_field(FILE *f, const Node *n, const AttrField *field, bool flag) {
    const void *x = (const char *)n->attr + field->at;
    bool no = (field->type == FIELD_OPTION && !*(const int64_t *)x)
        || (field->type == FIELD_AMOUNT && *(const double *)x == 0);
    if (no || field->type == FIELD_SHAPE || field->type == FIELD_INNER) return;
    const char *text = flag ? field->text : field->otherwise;
    if (field->type == FIELD_FLAG) {
        fprintf(f, "%s%s", *text ? " " : "", text);
        return;
    }
    fprintf(f, " %s", field->type == FIELD_OPTION ? text : field->text);
    switch (field->type) {
    case FIELD_TEXT: print_quoted(f, *(char *const *)x); break;
    case FIELD_AMOUNT:
    case FIELD_NUMBER: print_double(f, *(const double *)x); break;
    case FIELD_AXIS: fprintf(f, "%d", *(const int *)x); break;
    case FIELD_PERMUTATION:
        for (int i = 0; i < n->shape.rank; i++)
            fprintf(f, "%s%d", i ? "," : "", ((const int *)x)[i]);
        break;
    case FIELD_LIST: print_list(f, *(double *const *)x, n->attr->count); break;
    default: fprintf(f, "%lld", (long long)*(const int64_t *)x); break;
    }
}

/* p: of a parameter, what it starts as; NULL leaves that out. */
static void print_attr(FILE *f, const Node *n, const Param *p) {
    bool flag = false; /* the last one */
    for (const AttrField *field = attr_fields(op_info[n->op].attr); field->type; field++) {
        if (field->type == FIELD_FLAG) flag = *(const bool *)((const char *)n->attr + field->at);
        print_field(f, n, field, flag);
    }
    if (p) print_init(f, p), print_tuning(f, &p->tuning);
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
    if (n->attr->copy) fprintf(f, " copy=%d", n->attr->copy);
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
