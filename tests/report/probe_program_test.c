/* SPDX-License-Identifier: MIT
** A program's 'probe' says the same of its weights as the float64 interpreter.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"
#include "json.h"
#include "probe_result.h"
#include "program_run.h"
#include "saved_values.h"
#include "spec.h"

enum { CONTEXT = 16, WIDTH = 32 };

static const char spec[] =
    "return model { name = 'probed', vocab = 256, context = 16, dim = 32, tokenizer = 'bytes', "
    "norm = rmsnorm { eps = 1e-6 },\n"
    "  residual = attnres { full = true }, train = { optimizer = adamw { lr = 2e-2 } },\n"
    "  layers = times(2, layer { attention { heads = 4, rope = { theta = 10000 } }, mlp { hidden = "
    "40, activation = 'swiglu' } }) }\n";
static const char text[] = "to be or not to b"; /* a window and one more */

static Folder folder;

static int open_folder(void **state) {
    (void)state;
    folder_open(&folder);
    folder_write(&folder, "probed.lua", spec, sizeof spec - 1);
    folder_write(&folder, "text", text, sizeof text - 1);
    folder_shell(&folder, "strata build probed.lua");
    folder_shell(&folder, "./probed train --data text --steps 0 --out first");
    folder_shell(&folder, "./probed train --data text --steps 6 --batch 1 --out last");
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

typedef struct Loaded {
    Model *m;
    ProbeGraph p;
    Graph *g;
    SavedValues saved;
    double *keep, *codes, *direction;
} Loaded;

static const double *loaded_value(void *user, const Node *p) {
    Loaded *x = user;
    const char *name = p->attr->name;
    int s;
    if (sscanf(name, "probe.keep.%d", &s) == 1) return x->keep + s;
    if (!strcmp(name, "probe.codes.0")) return x->codes;
    if (sscanf(name, "probe.direction.%d", &s) == 1) return x->direction + s * WIDTH;
    return saved_value(&x->saved, p);
}

static void loaded_open(Loaded *x, const char *weights) {
    char path[256];
    Error error;
    memset(x, 0, sizeof *x);
    snprintf(path, sizeof path, "%s/probed.lua", folder.path);
    x->m = spec_load(path, NULL, &error);
    assert_non_null(x->m);
    x->p = probe_graph(x->m);
    x->g = x->p.graph;
    snprintf(path, sizeof path, "%s/%s", folder.path, weights);
    saved_open(&x->saved, path);
    x->keep = malloc((size_t)x->m->nsource * sizeof(double));
    x->codes = calloc(PROBE_CODES * WIDTH, sizeof(double));
    x->direction = calloc((size_t)x->m->nsource * WIDTH, sizeof(double));
    for (int s = 0; s < x->m->nsource; s++)
        x->keep[s] = 1;
}

static void loaded_close(Loaded *x) {
    graph_free(x->g);
    spec_free(x->m);
    saved_close(&x->saved);
    free(x->keep), free(x->codes), free(x->direction);
}

static Eval *evaluate(Loaded *x, const Graph *g) {
    static int32_t token[CONTEXT], target[CONTEXT];
    for (int i = 0; i < CONTEXT; i++)
        token[i] = text[i], target[i] = text[i + 1];
    saved_forget(&x->saved);
    return eval_new(g,
                    &(EvalInput){ .batch = 1,
                                  .time = CONTEXT,
                                  .tokens = token,
                                  .targets = target,
                                  .param = loaded_value,
                                  .user = x,
                                  .seed = 1 });
}

static double mean_nll(const Eval *ev, const Graph *g) {
    double sum = 0;
    for (int t = 0; t < CONTEXT; t++)
        sum += eval_value(ev, graph_find(g, "nll"))[t];
    return sum / CONTEXT;
}

static double number(const Json *j, const JsonNode *in, const char *key, int row, int column) {
    const JsonNode *n = json_member(j, in, key);
    double value = NAN;
    if (n && row >= 0)
        for (n = json_first(j, n); n && row--; n = json_next(j, n)) {
        }
    if (n && column >= 0)
        for (n = json_first(j, n); n && column--; n = json_next(j, n)) {
        }
    if (!n || !json_double(n, &value)) fail_msg("expected a number in '%s'", key);
    return value;
}

/* Weights along code 0, that source s alone is given. */
static void check_weights(Loaded *x, const Json *j, const JsonNode *in) {
    for (int i = 0; i < WIDTH; i++)
        x->codes[i] = i % 3 ? 1 : -1;
    for (int s = 0; s < x->m->nsource; s++) {
        memset(x->direction, 0, (size_t)x->m->nsource * WIDTH * sizeof(double));
        memcpy(x->direction + s * WIDTH, x->codes, WIDTH * sizeof(double));
        Eval *ev = evaluate(x, x->g);
        for (int r = 0; r < x->m->nread; r++) {
            const double *told = probe_result(&x->p, ev, RESULT_READ, r);
            double mean = told[1] / CONTEXT, square = told[1 + PROBE_CODES] / CONTEXT;
            expect_near(number(j, in, "depth_mixing", r, s), mean, 2e-5, "weight", r);
            expect_near(number(j, in, "depth_mixing_deviation", r, s),
                        sqrt(fmax(square - mean * mean, 0)), 1e-3, "deviation", r);
        }
        eval_free(ev);
    }
}

static void check_gradients(Loaded *x, const Json *j, const JsonNode *in) {
    double sum[2] = { 0 };
    Graph *g = graph_extract(x->m->graph, (const char *const[]){ "loss", NULL });
    pass_gradient(g);
    Eval *ev = evaluate(x, g);
    for (int i = 0; i < g->nout; i++) {
        const Node *n = g->out[i].node;
        int layer;
        if (sscanf(g->out[i].name, "grad.layers.%d.", &layer) != 1) continue;
        for (int64_t k = 0; k < shape_count(&n->shape); k++)
            sum[layer] += eval_value(ev, n)[k] * eval_value(ev, n)[k];
    }
    for (int layer = 0; layer < 2; layer++)
        expect_near(number(j, in, "gradient_norm", layer, -1), sqrt(sum[layer]), 2e-4,
                    "gradient of layer", layer);
    eval_free(ev);
    graph_free(g);
}

static void check_layers(Loaded *x, const Json *j, const JsonNode *in) {
    Eval *ev = evaluate(x, x->g);
    double loss = mean_nll(ev, x->g);
    expect_near(number(j, in, "loss", -1, -1), loss, 1e-5, "loss", 0);
    for (int i = 0; i < 2; i++) {
        expect_near(number(j, in, "output_norm", i, -1),
                    sqrt(*probe_result(&x->p, ev, RESULT_LAYER, i) / CONTEXT), 2e-5,
                    "output of layer", i);
        for (int k = 0; k < 2; k++)
            expect_near(number(j, in, "layer_similarity", i, k),
                        probe_result(&x->p, ev, RESULT_SIMILARITY, i)[k] / CONTEXT, 2e-5,
                        "similarity", i);
        expect_near(number(j, in, "layer_similarity", i, i), 1, 1e-5, "a layer is like itself", i);
    }
    eval_free(ev);
    for (int i = 0; i < 2; i++) {
        x->keep[2 * i + 1] = x->keep[2 * i + 2] = 0;
        ev = evaluate(x, x->g);
        expect_near(number(j, in, "loss_increase", i, -1), mean_nll(ev, x->g) - loss, 2e-5,
                    "without layer", i);
        eval_free(ev);
        x->keep[2 * i + 1] = x->keep[2 * i + 2] = 1;
    }
}

static void check_file(const char *weights, const Json *j, const JsonNode *in) {
    Loaded *x = malloc(sizeof *x);
    loaded_open(x, weights);
    check_layers(x, j, in);
    check_weights(x, j, in);
    check_gradients(x, j, in);
    loaded_close(x);
    free(x);
}

static void a_program_says_what_the_interpreter_does(void **state) {
    (void)state;
    size_t length;
    Json j = { 0 };
    Error e = { 0 };
    folder_shell(&folder,
                 "./probed probe --weights last --before first --data text --json -o page.html");
    char *out = folder_read(&folder, "out", &length),
         *page = folder_read(&folder, "page.html", NULL);
    if (json_parse(&j, "out", out, length, 100000, &e)) fail_msg("%s", e.text);
    check_file("last", &j, j.node);
    check_file("first", &j, json_member(&j, j.node, "before"));
    assert_true(number(&j, j.node, "tokens", -1, -1) == CONTEXT);
    assert_non_null(strstr(page, "</html>"));
    assert_null(strstr(page, "<script"));
    assert_non_null(strstr(page, " matters most: "));
    assert_non_null(strstr(page, " tokens of text."));
    assert_non_null(strstr(page, " takes the embedding: "));
    assert_non_null(strstr(page, ">Change<"));
    assert_null(strstr(page, "<tbody>\n</tbody>")); /* no empty table */
    assert_null(strstr(page, "http"));
    json_free(&j);
    free(out), free(page);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    size_t n[2];
    folder_shell(&folder, "./probed probe --weights last --data text --json --threads 1");
    char *one = folder_read(&folder, "out", &n[0]);
    folder_shell(&folder, "./probed probe --weights last --data text --json --threads 2");
    char *two = folder_read(&folder, "out", &n[1]);
    assert_true(n[0] == n[1] && !memcmp(one, two, n[0]));
    free(one), free(two);
}

static void inference_has_no_gradients(void **state) {
    (void)state;
    folder_shell(&folder, "strata build probed.lua --inference -o still");
    folder_shell(&folder, "./still probe --weights last --data text --json");
    char *out = folder_read(&folder, "out", NULL);
    assert_non_null(strstr(out, "\"gradient_norm\": null"));
    free(out);
    folder_shell(&folder, "./still probe --weights last --data text");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_says_what_the_interpreter_does),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(inference_has_no_gradients),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
