/* SPDX-License-Identifier: MIT
** The front end: what specs come out as, those of this project among them: parameters, sources,
** settings, the lines of nodes, and the same graph every time.
*/
#include "test.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load_spec.h"
#include "scratch.h"

/* Counts published with the papers, and what mixers add to them. */
static void test_parameter_counts(void **state) {
    static const struct {
        const char *size;
        int layers;
        int64_t dim, count;
    } family[] = {
        { "small", 12, 128, 5540992 },    { "small", 24, 128, 11049088 },
        { "small", 48, 128, 22065280 },   { "medium", 12, 512, 50475520 },
        { "medium", 24, 512, 100819456 }, { "medium", 48, 512, 201507328 },
        { "large", 48, 768, 453255936 },
    };
    static const char *const mixer[] = { "standard", "attnres", "haares" };
    (void)state;
    for (size_t i = 0; i < sizeof family / sizeof *family; i++)
        for (int k = 0; k < 3; k++) {
            char path[200];
            snprintf(path, sizeof path, "specs/papers/haares/%s-%s-%d.lua", mixer[k],
                     family[i].size, family[i].layers);
            Model *m = load_spec(path);
            int64_t more = (k ? 2 * (2 * family[i].layers + 1) * family[i].dim : 0)
                + (k == 2 ? 4 : 0);
            assert_int_equal(m->parameters, family[i].count + more);
            assert_string_equal(m->mixer, mixer[k]);
            assert_int_equal(m->nread, 2 * family[i].layers + 1);
            spec_free(m);
        }
    Model *m = load_spec("specs/papers/gpt2-124m.lua");
    assert_int_equal(m->parameters, 124439808);
    spec_free(m);
    m = load_spec("specs/papers/smollm-360m.lua");
    assert_int_equal(m->parameters, 361821120);
    spec_free(m);
}

/* Average over the reads before sublayers, and the most, of published-numbers 1. */
static const struct {
    const char *residual;
    int layers;
    double average;
    int64_t most, last;
} counts[] = {
    { "attnres { blocks = 4 }", 48, 332 / 96.0, 5, 5 },
    { "haares { blocks = 4 }", 48, 568 / 96.0, 9, 5 },
    { "attnres { blocks = 6 }", 48, 4.4375, 7, 7 },
    { "haares { blocks = 6 }", 48, 7.875, 13, 7 },
    { "attnres { blocks = 8 }", 48, 520 / 96.0, 9, 9 },
    { "haares { blocks = 8 }", 48, 944 / 96.0, 17, 9 },
    { "attnres { blocks = 4 }", 12, 80 / 24.0, 5, 5 },
    { "haares { blocks = 4 }", 12, 136 / 24.0, 9, 5 },
    { "attnres { full = true }", 12, 12.5, 24, 25 },
    { "attnres { full = true }", 48, 48.5, 96, 97 },
    { "attnres { blocks = 1 }", 12, 47 / 24.0, 2, 2 },
    { "standard {}", 12, 1, 1, 1 },
    { "attnres { full = true, window = 3 }", 12, 90 / 24.0, 4, 4 },
};

static void test_source_counts(void **state) {
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char text[400];
        Error error;
        snprintf(
            text, sizeof text,
            MODEL("residual = %s, layers = times(%d, layer { mlp { hidden = 8 }, mlp { hidden = 8, "
                  "name = 'b' } })"),
            counts[i].residual, counts[i].layers);
        Model *m = load_spec_text(state, "sources.lua", text, NULL, &error);
        if (!m) fail_msg("%s", error.text);
        double sum = 0;
        int64_t most = 0;
        for (int k = 0; k < m->nread - 1; k++) {
            sum += (double)m->read[k].sources;
            most = m->read[k].sources > most ? m->read[k].sources : most;
        }
        if (fabs(sum / (m->nread - 1) - counts[i].average) > 1e-9 || most != counts[i].most)
            fail_msg("%s, %d layers: %g on average, %d at most", counts[i].residual,
                     counts[i].layers, sum / (m->nread - 1), (int)most);
        assert_int_equal(m->read[m->nread - 1].sources, counts[i].last);
        assert_string_equal(m->read[m->nread - 1].site, "readout");
        assert_string_equal(m->read[1].site, "layers.0.b");
        spec_free(m);
    }
}

static void test_settings(void **state) {
    Error error;
    Model *m = load_spec_text(
        state, "settings.lua",
        MODEL("tokenizer = 'chars', layers = { { layer { attention { heads = 2, causal = false } } "
              "}, { { layer { mlp { hidden = 2 ^ 3 } } } } },"
              "train = { optimizer = adamw { lr = 0.5, betas = { 0.1, 0.2 }, eps = 0, weight_decay "
              "= 0.3, clip = 2 },"
              "schedule = wsd { warmup = 0.1, decay = 0.2, min_lr = 0.01 }, batch = 3, seed = 7 }"),
        NULL, &error);
    if (!m) fail_msg("%s", error.text);
    assert_string_equal(m->name, "m");
    assert_string_equal(m->tokenizer, "chars");
    assert_string_equal(m->mixer, "standard");
    assert_string_equal(m->acausal, "layers.0.attention");
    assert_true(m->vocab == 16 && m->context == 8 && m->dim == 8 && m->layers == 2
                && m->sublayers == 2);
    assert_true(m->train.batch == 3 && m->train.seed == 7 && m->train.schedule == SCHEDULE_WSD);
    assert_true(m->train.lr == 0.5 && m->train.beta1 == 0.1 && m->train.beta2 == 0.2
                && m->train.eps == 0 && m->train.weight_decay == 0.3 && m->train.clip == 2);
    assert_true(m->train.warmup == 0.1 && m->train.decay == 0.2 && m->train.min_lr == 0.01);
    spec_free(m);
    m = load_spec_text(state, "settings.lua", MODEL("layers = { layer { mlp { hidden = 8 } } }"),
                       NULL, &error);
    assert_non_null(m);
    assert_true(m->train.lr == 3e-4 && m->train.beta1 == 0.9 && m->train.beta2 == 0.95
                && m->train.eps == 1e-8 && m->train.weight_decay == 0.01 && m->train.clip == 1);
    assert_true(m->train.batch == 8 && m->train.seed == 0 && m->train.schedule == SCHEDULE_CONSTANT
                && !m->tokenizer && !m->acausal);
    spec_free(m);
}

/* Nodes carry the user's line and the place in the model. */
static void test_locations(void **state) {
    Error error;
    Model *m = load_spec_text(
        state, "lines.lua",
        "local mine = mixer {\n"
        "  open = function(m, e) return { h = e } end,\n"
        "  read = function(m, state) return state.h * 2 end,\n"                       /* line 3 */
        "  write = function(m, state, site, out) return { h = state.h + out } end,\n" /* line 4 */
        "  close = function(m, state) return state.h end }\n"
        "return model { name = 'm', vocab = 16, context = 8, dim = 8,\n" /* line 6 */
        "  norm = rmsnorm {},\n"                                         /* line 7 */
        "  residual = mine {},\n"
        "  layers = { layer {\n"
        "    attention { heads = 2 },\n" /* line 10 */
        "    mlp { hidden = 8 } } } }\n",
        NULL, &error); /* line 11 */
    if (!m) fail_msg("%s", error.text);
    int seen[12] = { 0 };
    for (int i = 0; i < m->graph->n; i++) {
        const Node *n = m->graph->node[i];
        if (!n->loc.file) continue;
        assert_true(n->loc.line >= 1 && n->loc.line <= 11);
        seen[n->loc.line]++;
        if (n->op == OP_attention)
            assert_true(n->loc.line == 10 && !strcmp(n->site, "layers.0.attention"));
        if (n->op == OP_rsqrt) assert_int_equal(n->loc.line, 7);
        if (n->op == OP_sigmoid) assert_true(n->loc.line == 11 && !strcmp(n->site, "layers.0.mlp"));
        if (n->op == OP_cross_entropy) assert_true(n->loc.line == 6 && !strcmp(n->site, "head"));
    }
    assert_true(seen[3] && seen[4] && seen[6] && seen[7] && seen[10] && seen[11]);
    assert_string_equal(m->mixer, "lines");
    spec_free(m);
}

static char *printed(void **state, const Model *m, bool locations) {
    char path[SCRATCH_PATH];
    FILE *f = fopen(scratch_path(state, "graph", path), "w");
    assert_non_null(f);
    graph_print(m->graph, f, locations);
    fclose(f);
    return text_of_file(path);
}

/* The same spec is the same graph; every shipped spec is well formed. */
static void check_same_twice(void **state, const char *path) {
    Model *a = load_spec(path), *b = load_spec(path);
    char *first = printed(state, a, true), *second = printed(state, b, true);
    assert_string_equal(first, second);
    assert_true(a->hash == b->hash);
    graph_verify(a->graph);
    free(first);
    free(second);
    spec_free(a);
    spec_free(b);
}

/* The specs of a folder, not of those below; how many. */
static int check_specs_of(void **state, const char *folder) {
    struct dirent **entry;
    int n = scandir(folder, &entry, NULL, alphasort), count = 0;
    for (int i = 0; i < n; i++) {
        char path[400];
        size_t length = strlen(entry[i]->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        free(entry[i]);
        if (length < 5 || strcmp(path + strlen(path) - 4, ".lua")) continue;
        check_same_twice(state, path);
        count++;
    }
    if (n >= 0) free(entry);
    return count;
}

static void test_specs(void **state) {
    assert_int_equal(check_specs_of(state, "specs"), 2);
    assert_int_equal(check_specs_of(state, "specs/papers"), 2);
    assert_true(check_specs_of(state, "specs/papers/haares") >= 25);
    assert_true(check_specs_of(state, "specs/papers/routes") >= 30);
    assert_int_equal(check_specs_of(state, "specs/kimi"), 4);
    assert_int_equal(check_specs_of(state, "specs/hybrids"), 5);
    assert_int_equal(check_specs_of(state, "specs/inkling"), 1);
}

/* A mixer of the library, copied beside a spec and required, is the same mixer. */
static void test_library_mixers_are_ordinary(void **state) {
    static const char *const file[] = { "haares.lua", "sources.lua", "features.lua",
                                        "highway.lua" };
    static const struct {
        const char *name, *options;
    } mixer[] = { { "haares", "{ blocks = 2, kernel = 'linear' }" },
                  { "highway", "{ gate = 'scalar' }" } };
    char from[100], path[SCRATCH_PATH], text[2][400];
    for (int i = 0; i < 4; i++) {
        snprintf(from, sizeof from, "specs/library/mixers/%s", file[i]);
        char *copy = text_of_file(from);
        scratch_write(scratch_path(state, file[i], path), copy, strlen(copy));
        free(copy);
    }
    for (int i = 0; i < 2; i++) {
        char *graph[2];
        for (int k = 0; k < 2; k++) {
            Error error;
            snprintf(
                text[k], sizeof text[k],
                "local mine = %s%s%s\n" MODEL("residual = mine %s, "
                                              "layers = times(2, layer { mlp { hidden = 8 } })"),
                k ? "require '" : "", mixer[i].name, k ? "'" : "", mixer[i].options);
            Model *m = load_spec_text(state, "same.lua", text[k], NULL, &error);
            if (!m) fail_msg("%s", error.text);
            assert_string_equal(m->mixer, mixer[i].name);
            graph[k] = printed(state, m, false);
            spec_free(m);
        }
        assert_string_equal(graph[0], graph[1]);
        free(graph[0]);
        free(graph[1]);
    }
}

#define ONE "layer { mlp { hidden = 8 } }"
#define WRITING(statements) WRITING_IN(ONE, statements)
#define WRITING_IN(layers, statements)                                                           \
    "local mine = mixer {\n"                                                                     \
    "  open = function(m, e) return { h = e } end, read = function(m, s) return s.h end,\n"      \
    "  write = function(m, s, site, out) " statements " end,\n"                                  \
    "  close = function(m, s) return s.h end }\n" MODEL("residual = mine {}, layers = { " layers \
                                                        " }")

/* A mixer that makes a parameter and reads it nowhere is wrong; of a sublayer whose
** output it does not use the parameters are left out, and said; so are those of the last
** write, which nothing reads after it. */
static void test_unused_parameters(void **state) {
    Error error;
    assert_null(load_spec_text(
        state, "unread.lua",
        WRITING_IN(ONE ", " ONE, "m:param(site, 'idle', { 3 }, 0) return { h = s.h + out }"), NULL,
        &error));
    assert_int_equal(error.status, 1);
    assert_non_null(strstr(error.text,
                           "unread.lua:3: param: expected a parameter that the model depends on, "
                           "found 'layers.0.mlp.residual.idle'"));
    Model *m = load_spec_text(state, "unused.lua", WRITING("return s"), NULL, &error);
    if (!m) fail_msg("%s", error.text);
    assert_int_equal(m->nnote, 4);
    assert_non_null(strstr(m->note[0], "'layers.0.mlp.norm.weight' is left out"));
    for (int i = 0; i < m->graph->nparam; i++)
        assert_null(strstr(m->graph->param[i].node->attr->name, "mlp"));
    spec_free(m);
    m = load_spec_text(
        state, "fewer.lua",
        MODEL("residual = attnres { blocks = 4 }, layers = times(6, layer { mlp { hidden = 8 } })"),
        NULL, &error);
    assert_non_null(m);
    assert_string_equal(m->note[0], "residual: 3 blocks of 2 sublayers, 4 were asked for");
    spec_free(m);
}

/* A layer that is written twice is noted once, unless it shares or 'times' says so. */
static void test_one_layer_twice(void **state) {
    static const struct {
        const char *layers, *note;
    } row[] = {
        { "one, times(2, two), one, one",
          "layers 0 and 3 are the same layer { ... }, with parameters of their own each: share = "
          "'name' in it shares them, times(n, layer) says that they are meant to be alike" },
        { "times(2, { one, one }), two", NULL },
        { "shared, shared", NULL },
        { "one, { two, { one } }", "layers 0 and 2 are the same layer" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[800];
        Error error;
        snprintf(
            text, sizeof text,
            "local one, two = layer { mlp { hidden = 8 } }, layer { mlp { hidden = 4 } }\n"
            "local shared = layer { share = 'all', mlp { hidden = 8 } }\n" MODEL("layers = { %s }"),
            row[i].layers);
        Model *m = load_spec_text(state, "twice.lua", text, NULL, &error);
        if (!m) fail_msg("%s", error.text);
        assert_int_equal(m->nnote, row[i].note != NULL);
        if (row[i].note) assert_memory_equal(m->note[0], row[i].note, strlen(row[i].note));
        spec_free(m);
    }
}

/* Notes of a mixer's: what is too long is cut between characters, what is too many is left out. */
static void test_notes(void **state) {
    Error error;
    Model *m = load_spec_text(
        state, "notes.lua",
        WRITING("m:note('short') for i = 1, 150 do m:note(i .. ('\\u{20ac}'):rep(1000)) end "
                "return { h = s.h + out }"),
        NULL, &error);
    if (!m) fail_msg("%s", error.text);
    assert_int_equal(m->nnote, 101);
    assert_string_equal(m->note[0], "short");
    for (int i = 1; i < 100; i++) {
        size_t n = strlen(m->note[i]);
        assert_true(n > 290 && n <= 303);
        assert_string_equal(m->note[i] + n - 6, "\xe2\x82\xac...");
    }
    assert_string_equal(m->note[100], "more notes are left out");
    spec_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameter_counts),
        cmocka_unit_test(test_source_counts),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_locations),
        cmocka_unit_test(test_specs),
        cmocka_unit_test(test_unused_parameters),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_one_layer_twice),
        cmocka_unit_test(test_library_mixers_are_ordinary),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
