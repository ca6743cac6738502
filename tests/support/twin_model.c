/* SPDX-License-Identifier: MIT
** See twin_model.h. */
#include "twin_model.h"

#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"
#include "scratch.h"

int param_index(const Graph *g, const char *name) {
    for (int i = 0; i < g->nparam; i++)
        if (!strcmp(g->param[i].node->attr->name, name)) return i;
    return -1;
}

Graph *with_gradients(const Graph *g) {
    static const char *const outputs[] = { "logits", "nll", "cross_entropy", "loss", NULL };
    Graph *own = graph_extract(g, outputs);
    pass_gradient(own);
    return own;
}

const double *gradient_of(const Eval *ev, const Graph *g, const char *name) {
    char output[600];
    snprintf(output, sizeof output, "grad.%s", name);
    const Node *n = graph_find(g, output);
    if (!n) fail_msg("there is no gradient of '%s'", name);
    return eval_value(ev, n);
}

void copy_values(const Case *from, Case *to) {
    for (int i = 0; i < to->g->nparam; i++) {
        const Node *n = to->g->param[i].node;
        int at = param_index(from->g, n->attr->name);
        if (at < 0) fail_msg("there is no parameter '%s'", n->attr->name);
        assert_true(shape_equal(&from->g->param[at].node->shape, &n->shape));
        memcpy(to->value[i], from->value[at], (size_t)shape_count(&n->shape) * sizeof(double));
    }
}

Case *case_like(const Case *c, Graph *g) {
    Case *d = case_new(g, 1, c->batch, c->time, 1, 0, 0);
    size_t bytes = (size_t)(c->batch * c->time) * sizeof *c->tokens;
    memcpy(d->tokens, c->tokens, bytes);
    memcpy(d->targets, c->targets, bytes);
    assert_int_equal(g->nparam, c->g->nparam);
    copy_values(c, d);
    return d;
}

void expect_twin(const char *spec, const char *what, const double *got, const double *want,
                 int64_t count, double least) {
    double largest = least;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(want[i]));
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-9 * largest))
            fail_msg("%s\n%s: element %d is %.12g, expected %.12g", spec, what, (int)i, got[i],
                     want[i]);
}

void copy_routes(void **state, const char *const *file) {
    for (; *file; file++) {
        char from[SCRATCH_PATH], to[SCRATCH_PATH];
        size_t n;
        snprintf(from, sizeof from, "%s/tests/routes/%s", SOURCE_DIR, *file);
        char *text = scratch_read(from, &n);
        assert_non_null(text);
        scratch_write(scratch_path(state, *file, to), text, n);
        free(text);
    }
}
