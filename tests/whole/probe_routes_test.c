/* SPDX-License-Identifier: MIT
** What a program's 'probe' says of routes is what the model's graph says in the float64
** interpreter: which tokens each takes, none and all among them, and how large the outputs
** of layers are at those; as JSON and on the page.
*/
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "page_check.h"
#include "routed_programs.h"
#include "saved_values.h"
#include "spec.h"
#include "tokenizer.h"

static Folder folder;

static int open_folder(void **state) {
    (void)state;
    routed_open(&folder);
    for (int i = 0; i < ROUTED_KINDS; i++)
        routed_build(&folder, &routed_kind[i]);
    routed_build(&folder, &routed_gated);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

/* == The interpreter ====================================================== */

typedef struct Loaded {
    Model *m;
    SavedValues saved;
    Eval *ev;
} Loaded;

static Loaded *loaded_open(const RoutedKind *k) {
    static int32_t token[CONTEXT], target[CONTEXT];
    Loaded *x = calloc(1, sizeof *x);
    char path[256];
    Error error;
    for (int i = 0; i < CONTEXT; i++)
        token[i] = (unsigned char)routed_text[i], target[i] = (unsigned char)routed_text[i + 1];
    snprintf(path, sizeof path, "%s/%s.lua", folder.path, k->name);
    x->m = spec_load(path, NULL, &error);
    if (!x->m) fail_msg("%s", error.text);
    snprintf(path, sizeof path, "%s/%s.st", folder.path, k->name);
    saved_open(&x->saved, path);
    x->ev = eval_new(x->m->graph,
                     &(EvalInput){ .batch = 1,
                                   .time = CONTEXT,
                                   .tokens = token,
                                   .targets = target,
                                   .param = saved_value,
                                   .user = &x->saved,
                                   .seed = 1,
                                   .keep = true });
    return x;
}

static void loaded_close(Loaded *x) {
    eval_free(x->ev);
    spec_free(x->m);
    saved_close(&x->saved);
    free(x);
}

/* Does a list have the token? */
static bool takes(const Loaded *x, int list, int token) {
    return !list || eval_value(x->ev, graph_list(x->m->graph, list)->in[0])[token] > 0;
}

/* A sublayer's output at a token, [WIDTH]; NULL: it has none. */
static const double *output_at(const Loaded *x, int source, int token) {
    const Node *n = x->m->source[source];
    int row = 0;
    if (!takes(x, n->shape.list, token)) return NULL;
    for (int t = 0; t < token; t++)
        row += takes(x, n->shape.list, t);
    return eval_value(x->ev, n) + row * WIDTH;
}

/* Outputs of the sublayers from 'first' on, 'count' of them, at a token, added up; false: they have
** none. */
static bool sum_at(const Loaded *x, int first, int count, int token, double *sum) {
    memset(sum, 0, WIDTH * sizeof *sum);
    for (int s = first; s < first + count; s++) {
        const double *y = output_at(x, s, token);
        if (!y) return false;
        for (int i = 0; i < WIDTH; i++)
            sum[i] += y[i];
    }
    return true;
}

static double dot(const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Root mean square over the tokens that list 'of' has ('not': has not) and the outputs are there
** for. */
static double rms_of(const Loaded *x, int first, int count, int of, bool not) {
    double sum = 0, y[WIDTH];
    int tokens = 0;
    for (int t = 0; t < CONTEXT; t++) {
        if (takes(x, of, t) == not) continue;
        bool there = sum_at(x, first, count, t, y);
        if (there) sum += dot(y, y) / WIDTH;
        tokens += there || of;
    }
    return sqrt(sum / tokens);
}

static double cosine_of(const Loaded *x, int a, int b) {
    double sum = 0, y[WIDTH], z[WIDTH];
    int tokens = 0;
    for (int t = 0; t < CONTEXT; t++) {
        if (!sum_at(x, 1 + 2 * a, 2, t, y) || !sum_at(x, 1 + 2 * b, 2, t, z)) continue;
        sum += dot(y, z) / sqrt(dot(y, y) * dot(z, z));
        tokens++;
    }
    return sum / tokens;
}

/* == JSON ================================================================= */

static const JsonNode *item(const Json *j, const JsonNode *list, int index) {
    const JsonNode *n = list ? json_first(j, list) : NULL;
    while (n && index--)
        n = json_next(j, n);
    if (!n) fail_msg("expected more items");
    return n;
}

/* null is not a number, which is right where one is expected. */
static void expect(const JsonNode *n, double expected, const char *what, int index) {
    double found = NAN;
    if (!n) fail_msg("no %s %d", what, index);
    json_double(n, &found);
    if (isnan(expected) ? !isnan(found) : !(fabs(found - expected) <= 2e-6 + 1e-4 * fabs(expected)))
        fail_msg("%s %d: expected %.9g, found %.9g", what, index, expected, found);
}

static int route_at(const Json *j, const char *site) {
    const JsonNode *n = json_first(j, json_member(j, j->node, "routes"));
    for (int i = 0; n; n = json_next(j, n), i++)
        if (!strcmp(n->text, site)) return i;
    fail_msg("no route %s", site);
    return -1;
}

/* Where the route of a layer is: its name, list and first source. */
typedef struct Place {
    char site[64];
    int list, source, count;
} Place;

static Place place_of(const Loaded *x, const Json *j, int layer) {
    Place p = { .source = 1 + 2 * layer, .count = 1 };
    bool whole = !strcmp(x->m->name, "whole");
    snprintf(p.site, sizeof p.site, whole ? "layers.%d" : "layers.%d.attention", layer);
    if (whole) p.count = 2;
    p.list = 1 + route_at(j, p.site);
    return p;
}

static void check_route(const Loaded *x, const Json *j, int layer) {
    Place p = place_of(x, j, layer);
    int route = p.list - 1;
    double taken = 0;
    const JsonNode *tokens = json_member(j, j->node, "routed_tokens");
    assert_string_equal(item(j, json_member(j, tokens, "layers"), route)->text, p.site);
    for (int t = 0; t < CONTEXT; t++) {
        expect(item(j, item(j, json_member(j, tokens, "taken"), route), t), takes(x, p.list, t),
               "taken: token", t);
        taken += takes(x, p.list, t);
    }
    expect(item(j, json_member(j, j->node, "routed"), route), taken / CONTEXT, "share of layer",
           layer);
    expect(item(j, json_member(j, j->node, "routed_output_norm"), route),
           rms_of(x, p.source, p.count, p.list, false), "output taken, layer", layer);
    expect(item(j, json_member(j, j->node, "bypassed_output_norm"), route),
           rms_of(x, p.source, p.count, p.list, true), "output of others, layer", layer);
}

static void check_averages(const Loaded *x, const Json *j) {
    for (int s = 1; s < x->m->nsource; s++)
        expect(json_member(j, item(j, json_member(j, j->node, "sources"), s), "rms"),
               rms_of(x, s, 1, 0, false), "source", s);
    for (int a = 0; a < LAYERS; a++) {
        expect(item(j, json_member(j, j->node, "output_norm"), a),
               rms_of(x, 1 + 2 * a, 2, 0, false), "layer", a);
        for (int b = 0; b < LAYERS; b++)
            expect(item(j, item(j, json_member(j, j->node, "layer_similarity"), a), b),
                   cosine_of(x, a, b), "similarity of", 10 * a + b);
    }
}

static void check_text(const Json *j) {
    char all[CONTEXT * 24] = "";
    const JsonNode *tokens = json_member(j, j->node, "routed_tokens");
    for (int t = 0; t < CONTEXT; t++) {
        expect(item(j, json_member(j, tokens, "tokens"), t), (unsigned char)routed_text[t], "token",
               t);
        strcat(all, item(j, json_member(j, tokens, "text"), t)->text);
    }
    assert_true(strlen(all) == CONTEXT && !memcmp(all, routed_text, CONTEXT));
}

static void a_program_says_what_routes_do(void **state) {
    (void)state;
    double most = 0, least = 1;
    for (int i = 0; i < ROUTED_KINDS; i++) {
        Json j = { 0 };
        Loaded *x = loaded_open(&routed_kind[i]);
        routed_probe(&folder, &routed_kind[i], &j);
        for (int layer = 1; layer < LAYERS; layer++)
            check_route(x, &j, layer);
        check_averages(x, &j);
        check_text(&j);
        for (int r = 0; r < 4; r++) {
            double share;
            assert_true(json_double(item(&j, json_member(&j, j.node, "routed"), r), &share));
            most = fmax(most, share), least = fmin(least, share);
        }
        json_free(&j);
        loaded_close(x);
    }
    assert_true(least == 0 && most == 1);
}

/* Two windows a call, of which the first is shown; what dtr decides does not depend on what comes
** later. */
static void the_first_window_is_shown(void **state) {
    (void)state;
    size_t length;
    Json j = { 0 };
    Error e = { 0 };
    Loaded *x = loaded_open(&routed_kind[0]);
    folder_shell(&folder,
                 "./mixed probe --weights mixed.st --data text --json --length 10 --tokens 20");
    char *out = folder_read(&folder, "out", &length);
    if (json_parse(&j, "out", out, length, 100000, &e)) fail_msg("%s", e.text);
    assert_true(json_member(&j, json_member(&j, j.node, "routed_tokens"), "tokens")->count == 10);
    for (int layer = 1; layer < LAYERS; layer++) {
        Place p = place_of(x, &j, layer);
        const JsonNode *taken = item(
            &j, json_member(&j, json_member(&j, j.node, "routed_tokens"), "taken"), p.list - 1);
        for (int t = 0; t < 10; t++)
            expect(item(&j, taken, t), takes(x, p.list, t), "taken: token", t);
    }
    json_free(&j);
    free(out);
    loaded_close(x);
}

static void what_was_not_measured_is_no_number(void **state) {
    (void)state;
    Json j = { 0 };
    int none = 0;
    routed_probe(&folder, &routed_gated, &j);
    for (const JsonNode *g = json_first(&j, json_member(&j, j.node, "gates")); g;
         g = json_next(&j, g)) {
        bool never_runs = !strncmp(json_member(&j, g, "site")->text, "layers.1.", 9);
        none += never_runs;
        assert_int_equal(json_member(&j, g, "mean")->type, never_runs ? JSON_NULL : JSON_NUMBER);
        assert_int_equal(json_member(&j, g, "deviation")->type,
                         never_runs ? JSON_NULL : JSON_NUMBER);
    }
    assert_int_equal(none, 2);
    json_free(&j);
    folder_shell(&folder,
                 "./gated probe --weights gated.st --before gated.st --data text -o page.html");
    char *page = folder_read(&folder, "page.html", NULL);
    page_check_tags(page);
    page_check_labels(page);
    assert_null(strstr(page, "nan"));
    assert_int_equal(page_count(page,
                                "</th><td>\xe2\x80\x93</td><td>\xe2\x80\x93</td><td>\xe2\x80\x93</"
                                "td><td>\xe2\x80\x93</td>"),
                     none);
    free(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_says_what_routes_do),
        cmocka_unit_test(the_first_window_is_shown),
        cmocka_unit_test(what_was_not_measured_is_no_number),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
