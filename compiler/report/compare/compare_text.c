/* SPDX-License-Identifier: MIT
** A comparison for a terminal: the verdict, the variants, the table, and kernels that
** differ.  Variants are columns, a few at a time so that lines stay readable.
*/
#include "escape.h"
#include "comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 3, LABEL = 36, NUMBER = 12, DIFFERENCE = 10 };

/* Columns from..to, of COLUMNS at most. */
typedef struct ColumnBlock {
    const Comparison *c;
    int from, to;
    Text *t;
} ColumnBlock;

static void add_variants(const Comparison *c, Text *t) {
    for (int i = 0; i < c->n; i++) {
        const Variant *v = &c->variant[i];
        const Model *m = v->report->model;
        char file[256];
        text_escape(file, sizeof file, m->file, strlen(m->file));
        text_add(t, "%3d  %s, from %s, residual %s%s\n", i + 1, v->label, file, m->mixer,
                 i ? "" : " (baseline)");
    }
}

/* A column's number and as much of its name as fits; all of it is told above. */
static void add_heads(const ColumnBlock *b, const char *title) {
    text_add(b->t, "\n%-*s", LABEL, title);
    for (int i = b->from; i < b->to; i++) {
        char head[NUMBER + DIFFERENCE];
        print_text(head, sizeof head, "%d %s", i + 1, b->c->variant[i].label);
        text_add(b->t, " %*s", NUMBER + DIFFERENCE - 1, head);
    }
    text_add(b->t, "\n");
}

static void add_pair(const ColumnBlock *b, int i, Unit unit, double value, const char *difference) {
    char number[32];
    text_add(b->t, "%*s", NUMBER, compare_number(number, unit, value));
    text_add(b->t, "%*s", DIFFERENCE, i ? difference : "");
}

static void add_cell(const ColumnBlock *b, int i, Unit unit, double value, double base) {
    char difference[32];
    add_pair(b, i, unit, value, compare_difference(difference, value, base));
}

static void add_metric(const ColumnBlock *b, const Metric *m) {
    const Comparison *c = b->c;
    if (!isfinite(compare_told(c, m, c->variant))) return;
    text_add(b->t, "%-*s", LABEL, m->name);
    for (int i = b->from; i < b->to; i++) {
        char difference[32];
        const Variant *v = &c->variant[i];
        add_pair(b, i, m->unit, compare_told(c, m, v),
                 compare_told_difference(difference, c, m, v));
    }
    text_add(b->t, "\n");
}

static double role_bytes(const Role *r, int variant) {
    return r->of[variant].kernels ? r->of[variant].work[TRAINING].bytes : NAN;
}

static void add_roles(const ColumnBlock *b, const Role *role, int n) {
    int shown = 0, small = 0;
    for (int k = 0; k < n; k++) {
        small += role[k].group == ROLE_SMALL;
        if (role[k].group != ROLE_LARGE) continue;
        if (!shown++) add_heads(b, "kernels that differ: bytes per token");
        text_add(b->t, "%-*.*s", LABEL, LABEL - 1, role[k].name);
        for (int i = b->from; i < b->to; i++)
            add_cell(b, i, UNIT_BYTES, role_bytes(&role[k], i), role_bytes(&role[k], 0));
        text_add(b->t, "\n");
    }
    if (!shown) {
        text_add(b->t, "\nall %d kinds of kernels do the same work\n", n);
        return;
    }
    text_add(b->t, "%d of %d kinds of kernels", shown, n);
    if (small)
        text_add(b->t, "; %d more differ, but %s less than 1 %% of a step together", small,
                 b->c->rounds ? "take" : "should take");
    text_add(b->t, "; the others do the same work\n");
}

static void add_times(const ColumnBlock *b, const Role *role, int n) {
    add_heads(b, "kernels: time per training step");
    for (int k = 0; k < n; k++) {
        text_add(b->t, "%-*.*s", LABEL, LABEL - 1, role[k].name);
        for (int i = b->from; i < b->to; i++) {
            const RoleWork *w = &role[k].of[i];
            char difference[32];
            add_pair(b, i, UNIT_SECONDS, w->seconds, role_slower(difference, w));
        }
        text_add(b->t, "\n");
    }
}

void compare_text(const Comparison *c, Text *t) {
    int n;
    Role *role = compare_roles(c, &n);
    char warning[160];
    compare_load_warning(c, warning);
    if (!role) t->failed = true;
    else compare_roles_sort(c, role, n);
    compare_verdict(c, t);
    if (*warning) text_add(t, "%s\n", warning);
    text_add(t, "\n");
    add_variants(c, t);
    for (int from = 0; role && from < c->n; from += COLUMNS) {
        ColumnBlock b = { c, from, from + COLUMNS < c->n ? from + COLUMNS : c->n, t };
        add_heads(&b, "");
        for (int i = 0; i < compare_nmetric; i++)
            add_metric(&b, &compare_metrics[i]);
        if (c->rounds) add_times(&b, role, n);
        add_roles(&b, role, n);
    }
    if (c->rounds || c->text) text_add(t, "\n~ no difference detected\n");
    if (*compare_routes_note(c)) text_add(t, "\n%s\n", compare_routes_note(c));
    free(role);
}
