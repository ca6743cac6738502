/* SPDX-License-Identifier: MIT
** The project's own expected results, for checkouts without the golden cases:
** tests/specs/NAME.lua by the interpreter, at a time when it agreed with those.
** Each line of tests/specs/expected.txt has the loss, and the sizes of logits
** and gradient.  STRATA_UPDATE=1 writes the file anew.
*/
#include "test.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"
#include "spec.h"

enum { BATCH = 2, TIME = 8, MAXPARAM = 200 };

typedef struct Values {
    int count;
    const char *name[MAXPARAM];
    double *value[MAXPARAM];
} Values;

typedef struct Result {
    char name[64];
    double loss, logits, gradient;
} Result;

/* Values that depend on the parameter's name only. */
static const double *param_value(void *user, const Node *param) {
    Values *v = user;
    for (int i = 0; i < v->count; i++)
        if (!strcmp(v->name[i], param->attr->name)) return v->value[i];
    int64_t count = shape_count(&param->shape);
    uint64_t x = 1;
    for (const char *p = param->attr->name; *p; p++)
        x = x * 31 + (uint64_t)*p;
    assert_true(v->count < MAXPARAM);
    double *value = v->value[v->count] = malloc((size_t)count * sizeof *value);
    for (int64_t i = 0; i < count; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        value[i] = (double)(x >> 33) / 1073741824.0 - 1;
    }
    v->name[v->count++] = param->attr->name;
    return value;
}

static double squares(const Eval *ev, const Node *n) {
    int64_t count = shape_count(&n->shape) * (n->shape.lead == LEAD_TOKENS ? BATCH * TIME : 1);
    const double *x = eval_value(ev, n);
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sum;
}

static Result evaluate(const char *name) {
    char path[300];
    Error error;
    Result r = { 0 };
    int32_t ids[BATCH * TIME + 1];
    Values values = { 0 };
    snprintf(r.name, sizeof r.name, "%s", name);
    snprintf(path, sizeof path, "tests/specs/%s.lua", name);
    Model *m = spec_load(path, NULL, &error);
    if (!m) fail_msg("%s", error.text);
    for (int i = 0; i <= BATCH * TIME; i++)
        ids[i] = (i * i * 7 + i * 3) % (int)m->vocab;
    pass_gradient(m->graph);
    EvalInput in = { .batch = BATCH,
                     .time = TIME,
                     .tokens = ids,
                     .targets = ids + 1,
                     .param = param_value,
                     .user = &values,
                     .seed = 1 };
    Eval *ev = eval_new(m->graph, &in);
    r.loss = *eval_value(ev, graph_find(m->graph, "loss"));
    r.logits = sqrt(squares(ev, graph_find(m->graph, "logits")));
    for (int i = 0; i < m->graph->nout; i++)
        if (!strncmp(m->graph->out[i].name, "grad.", 5))
            r.gradient += squares(ev, m->graph->out[i].node);
    r.gradient = sqrt(r.gradient);
    eval_free(ev);
    for (int i = 0; i < values.count; i++)
        free(values.value[i]);
    spec_free(m);
    return r;
}

static bool close_to(double got, double want) { return fabs(got - want) <= 1e-9 * fabs(want); }

static void compare(FILE *f, const Result *got) {
    Result want;
    if (fscanf(f, "%63s %lf %lf %lf\n", want.name, &want.loss, &want.logits, &want.gradient) != 4)
        fail_msg("expected.txt has no line for %s", got->name);
    assert_string_equal(got->name, want.name);
    if (!close_to(got->loss, want.loss) || !close_to(got->logits, want.logits)
        || !close_to(got->gradient, want.gradient))
        fail_msg("%s: %.17g %.17g %.17g, expected %.17g %.17g %.17g", got->name, got->loss,
                 got->logits, got->gradient, want.loss, want.logits, want.gradient);
}

static void test_expected(void **state) {
    struct dirent **entry;
    bool update = getenv("STRATA_UPDATE") != NULL;
    int n = scandir("tests/specs", &entry, NULL, alphasort), count = 0;
    FILE *f = fopen("tests/specs/expected.txt", update ? "w" : "r");
    (void)state;
    assert_non_null(f);
    for (int i = 0; i < n; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s", entry[i]->d_name);
        free(entry[i]);
        char *dot = strstr(name, ".lua");
        if (!dot || !strcmp(name, "small.lua")) continue;
        *dot = 0;
        Result r = evaluate(name);
        if (update) fprintf(f, "%s %.17g %.17g %.17g\n", r.name, r.loss, r.logits, r.gradient);
        else compare(f, &r);
        count++;
    }
    free(entry);
    assert_true(update || fgetc(f) == EOF);
    fclose(f);
    assert_true(count >= 10);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_expected) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
