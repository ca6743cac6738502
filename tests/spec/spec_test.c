/*
** The front end: what is refused and whose line is blamed, what a spec can
** reach, its limits, and what the specs of this project come out as.
*/
#include "test.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "spec.h"

static char *slurp(const char *path) {
    size_t n;
    char *text = scratch_read(path, &n);
    if (!text) fail_msg("cannot read %s", path);
    return text;
}

static Model *load(const char *path) {
    Error error;
    Model *m = spec_load(path, NULL, &error);
    if (!m) fail_msg("%s", error.text);
    return m;
}

/* Loads a spec given as text, under the name NAME.lua. */
static Model *load_text(void **state, const char *name, const char *text, const SpecLimits *limits,
                        Error *error) {
    char path[SCRATCH_PATH];
    scratch_write(scratch_path(state, name, path), text, strlen(text));
    return spec_load(path, limits, error);
}

/* The head and tail of a spec around its residual and layers. */
#define MODEL(fields) \
    "return model { name = 'm', vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, " fields " }"

/* == Mistakes: tests/errors =============================================== */

/* Finds "--> message" (status 1) or "--3> message" (status 3): the line that
** must be blamed, and how the message must begin.  At least one in a file. */
static bool find_marker(char *text, int *line, int *status, char **message) {
    *line = 0;
    for (char *next, *p = text; p; p = next) {
        next = strchr(p, '\n');
        if (next) *next++ = 0;
        ++*line;
        char *one = strstr(p, "--> "), *three = strstr(p, "--3> ");
        if (!one && !three) continue;
        *status = one ? 1 : 3;
        *message = one ? one + 4 : three + 5;
        return true;
    }
    return false;
}

static void check_error(const char *path) {
    static const SpecLimits limits = { .memory = 8000000, .instructions = 2000000 };
    int line, status;
    char *text = slurp(path), *message = NULL, expected[1200];
    if (!find_marker(text, &line, &status, &message)) fail_msg("%s has no marker", path);
    snprintf(expected, sizeof expected, "%s:%d: %s", path, line, message);
    Error error;
    if (spec_load(path, &limits, &error)) fail_msg("%s is accepted", path);
    if (strncmp(error.text, expected, strlen(expected)) || error.status != status)
        fail_msg("status %d instead of %d, or the wrong message:\n  %s\ninstead of\n  %s",
                 error.status, status, error.text, expected);
    for (const char *p = error.text; *p; p++) /* one newline, before the source line */
        if ((unsigned char)*p < 32) assert_true(*p == '\n' && !strchr(p + 1, '\n'));
    free(text);
}

static void test_errors(void **state) {
    struct dirent **entry;
    int n = scandir("tests/errors", &entry, NULL, alphasort), count = 0;
    (void)state;
    for (int i = 0; i < n; i++) {
        char path[300];
        snprintf(path, sizeof path, "tests/errors/%s", entry[i]->d_name);
        size_t length = strlen(path);
        if (length > 4 && !strcmp(path + length - 4, ".lua")) check_error(path), count++;
        free(entry[i]);
    }
    free(entry);
    assert_true(count >= 60);
}

/* == Files that are not specs ============================================= */

static void expect_failure(const char *path, int status, const char *message) {
    Error error;
    assert_null(spec_load(path, NULL, &error));
    if (error.status != status || !strstr(error.text, message))
        fail_msg("status %d (expected %d): %s (expected %s)", error.status, status, error.text,
                 message);
}

static void test_files(void **state) {
    char path[SCRATCH_PATH];
    Error error;
    expect_failure(scratch_path(state, "none.lua", path), 1, "No such file");
    expect_failure(scratch_path(state, "", path), 1, "it is a folder");
    expect_failure("/dev/null", 1, "it is no regular file");
    scratch_write(scratch_path(state, "compiled.lua", path), "\x1bLua", 4);
    expect_failure(path, 1, ":1: expected Lua source text, found compiled code");
    scratch_write(scratch_path(state, "strange\n.lua", path), "x", 1);
    expect_failure(path, 1, "strange\\n.lua:1: expected valid Lua");
    scratch_write(scratch_path(state, "zero.lua", path), "return \0 1", 10);
    expect_failure(path, 1, "zero.lua:1: expected valid Lua");
    const SpecLimits small = { .file = 10 };
    assert_null(load_text(state, "large.lua", "-- more than ten bytes", &small, &error));
    assert_int_equal(error.status, 3);
    assert_non_null(strstr(error.text, "expected a Lua file of at most 10 bytes"));
}

/* Names longer than Lua keeps for messages come out whole. */
static void test_long_names(void **state) {
    char name[200], expected[300];
    Error error;
    memset(name, 'n', 150);
    strcpy(name + 150, ".lua");
    snprintf(expected, sizeof expected, "%s:2: expected a function to call", name);
    assert_null(load_text(state, name, "local f\nf()", NULL, &error));
    assert_non_null(strstr(error.text, expected));
    snprintf(expected, sizeof expected, "%s:1: expected <name>, found '='", name);
    assert_null(load_text(state, name, "local = 3", NULL, &error));
    assert_non_null(strstr(error.text, expected));
}

static void test_require(void **state) {
    char path[SCRATCH_PATH], folder[SCRATCH_PATH];
    Error error;
    assert_int_equal(mkdir(scratch_path(state, "parts", folder), 0700), 0);
    scratch_write(scratch_path(state, "parts/width.lua", path), "return 24", 9);
    Model *m = load_text(
        state, "uses.lua",
        "local d = require 'parts.width'\nassert(rawequal(require 'parts.width', d))\n"
        "return model { name = 'm', vocab = 16, context = 8, dim = d, norm = rmsnorm {}, layers = "
        "{ layer { mlp { hidden = 8 } } } }",
        NULL, &error);
    if (!m) fail_msg("%s", error.text);
    assert_int_equal(m->dim, 24);
    assert_int_equal(m->nread_file, 2);
    assert_string_equal(m->read_file[0], m->file);
    assert_non_null(strstr(m->read_file[1], "/parts/width.lua"));
    uint64_t hash = m->hash;
    spec_free(m);
    scratch_write(path, "return 32", 9); /* what is required is part of the hash */
    m = load(scratch_path(state, "uses.lua", folder));
    assert_true(m->hash != hash);
    spec_free(m);
    scratch_write(path, "local x = nil + 1", 17);
    expect_failure(folder, 1, "parts/width.lua:1: expected a number or tensor");
}

/* Links may lead about the folder, not out of it. */
static void test_require_links(void **state) {
    char link[SCRATCH_PATH], path[SCRATCH_PATH];
    Error error;
    scratch_write(scratch_path(state, "three.lua", path), "return 3", 8);
    assert_int_equal(symlink("three.lua", scratch_path(state, "inside.lua", link)), 0);
    assert_int_equal(symlink("/etc/passwd", scratch_path(state, "outside.lua", link)), 0);
    Model *m = load_text(
        state, "links.lua",
        "assert(require 'inside' == 3)\n" MODEL("layers = { layer { mlp { hidden = 8 } } }"), NULL,
        &error);
    if (!m) fail_msg("%s", error.text);
    spec_free(m);
    assert_null(load_text(state, "links.lua", "require 'outside'", NULL, &error));
    assert_non_null(strstr(error.text,
                           "links.lua:1: require: expected 'outside.lua' inside the spec's folder, "
                           "found a link that leads out of it"));
}

/* == The sandbox ========================================================== */

/* What 'write' writes is the committed file; STRATA_UPDATE=1 renews it. */
static void check_generated(void **state, int (*write)(FILE *f), const char *committed) {
    char path[SCRATCH_PATH];
    FILE *f = fopen(getenv("STRATA_UPDATE") ? committed : scratch_path(state, "generated", path),
                    "w");
    assert_non_null(f);
    assert_int_equal(write(f), 0);
    fclose(f);
    if (getenv("STRATA_UPDATE")) return;
    char *found = slurp(path), *listed = slurp(committed);
    assert_string_equal(found, listed);
    free(found);
    free(listed);
}

static void test_reachable(void **state) {
    check_generated(state, spec_reachable, "tests/specs/reachable.txt");
}

static int write_ops(FILE *f) {
    spec_ops_markdown(f);
    return 0;
}

static void test_ops_page(void **state) {
    check_generated(state, write_ops, "specs/library/ops.md");
}

static void test_defined_order(void **state) {
    Error error;
    static const char text[] =
        "local t = { z = 1, a = 2, [3] = 3, [1] = 4, [2.5] = 5, [true] = 6, [false] = 7, [-1] = 8 "
        "}\n"
        "local order = ''\n"
        "for k, v in pairs(t) do order = order .. tostring(k) .. ' ' end\n"
        "assert(order == '-1 1 2.5 3 a z false true ', order)\n"
        "local k, n = nil, 0\n"
        "repeat k = next(t, k) n = n + 1 until k == nil\n"
        "assert(n == 9 and next({}) == nil)\n"
        "for k in pairs(t) do t[k] = nil end\n"
        "assert(next(t) == nil)\n"
        "local s = {}\n"
        "for i = 1, 100 do s[i] = i * 7919 % 101 end\n"
        "table.sort(s, function(a, b) return a > b end)\n"
        "for i = 2, 100 do assert(s[i - 1] > s[i]) end\n"
        "assert(tostring({}) == 'table' and tostring(pairs) == 'function' and tostring(1.5) == "
        "'1.5')\n"
        "assert(string.format('%s %5.2f %q', {}, 1.5, 'x') == 'table  1.50 \"x\"')\n" MODEL(
            "layers = { layer { mlp { hidden = 8 } } }");
    Model *m = load_text(state, "order.lua", text, NULL, &error);
    if (!m) fail_msg("%s", error.text);
    spec_free(m);
}

/* One spec's changes of its environment are not another's, nor the library's. */
static void test_tampering(void **state) {
    Error error;
    Model *m = load_text(
        state, "tamper.lua",
        "math.floor, string.format, table.insert, pairs, error = nil\n"
        "string.rep, math.log, table.concat, type, exp, sum, rsqrt = nil\n" MODEL(
            "residual = haares { blocks = 1 }, layers = { layer { mlp { hidden = 8 } } }"),
        NULL, &error);
    if (!m) fail_msg("%s", error.text);
    spec_free(m);
    m = load_text(state, "tamper.lua", "model = nil\nreturn model", NULL, &error);
    assert_null(m);
}

static void test_limits(void **state) {
    Error error;
    const char *text = MODEL("layers = times(50, layer { mlp { hidden = 8 } })");
    const SpecLimits no_memory = { .memory = 1000 }, no_graph = { .graph = 10000 };
    const SpecLimits few_layers = { .layers = 49 };
    const SpecLimits *limits[] = { &no_memory, &no_graph, &few_layers };
    const char *message[] = { "expected to need at most 1000 bytes",
                              "expected a model of at most 0 MB of graph",
                              "expected at most 49 layers, found 50" };
    for (int i = 0; i < 3; i++) {
        assert_null(load_text(state, "limit.lua", text, limits[i], &error));
        if (error.status != 3 || !strstr(error.text, message[i]))
            fail_msg("status %d: %s (expected %s)", error.status, error.text, message[i]);
    }
    Model *m = load_text(state, "limit.lua", text, NULL, &error);
    assert_non_null(m);
    spec_free(m);
}

/* Wherever memory ends, the run ends in one line; leaks are the sanitizer's to find. */
static void test_memory_everywhere(void **state) {
    Error error;
    const char *text = MODEL(
        "residual = attnres { full = true }, layers = times(2, layer { mlp { hidden = 8 } })");
    int refused = 0;
    for (size_t memory = 2000; memory < 500000; memory += 7919) {
        const SpecLimits limits = { .memory = memory };
        Model *m = load_text(state, "memory.lua", text, &limits, &error);
        if (m) {
            spec_free(m);
            continue;
        }
        assert_int_equal(error.status, 3);
        assert_non_null(strstr(error.text, "bytes of memory, found more"));
        refused++;
    }
    assert_true(refused > 5);
}

/* == Models =============================================================== */

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
            Model *m = load(path);
            int64_t more = (k ? 2 * (2 * family[i].layers + 1) * family[i].dim : 0)
                + (k == 2 ? 4 : 0);
            assert_int_equal(m->parameters, family[i].count + more);
            assert_string_equal(m->mixer, mixer[k]);
            assert_int_equal(m->nread, 2 * family[i].layers + 1);
            spec_free(m);
        }
    Model *m = load("specs/papers/gpt2-124m.lua");
    assert_int_equal(m->parameters, 124439808);
    spec_free(m);
    m = load("specs/papers/smollm-360m.lua");
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
        Model *m = load_text(state, "sources.lua", text, NULL, &error);
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
    Model *m = load_text(
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
    m = load_text(state, "settings.lua", MODEL("layers = { layer { mlp { hidden = 8 } } }"), NULL,
                  &error);
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
    Model *m = load_text(
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
    return slurp(path);
}

/* The same spec is the same graph; every shipped spec is well formed. */
static void check_same_twice(void **state, const char *path) {
    Model *a = load(path), *b = load(path);
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
        char *copy = slurp(from);
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
            Model *m = load_text(state, "same.lua", text[k], NULL, &error);
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

#define WRITING(statements)                                                                 \
    "local mine = mixer {\n"                                                                \
    "  open = function(m, e) return { h = e } end, read = function(m, s) return s.h end,\n" \
    "  write = function(m, s, site, out) " statements " end,\n"                             \
    "  close = function(m, s) return s.h end }\n" MODEL(                                    \
        "residual = mine {}, layers = { layer { mlp { hidden = 8 } } }")

/* A mixer that makes a parameter and reads it nowhere is wrong; of a sublayer whose
** output it does not use the parameters are left out, and said. */
static void test_unused_parameters(void **state) {
    Error error;
    assert_null(load_text(state, "unread.lua",
                          WRITING("m:param(site, 'idle', { 3 }, 0) return { h = s.h + out }"), NULL,
                          &error));
    assert_int_equal(error.status, 1);
    assert_non_null(strstr(error.text,
                           "unread.lua:3: param: expected a parameter that the model depends on, "
                           "found 'layers.0.mlp.residual.idle'"));
    Model *m = load_text(state, "unused.lua", WRITING("return s"), NULL, &error);
    if (!m) fail_msg("%s", error.text);
    assert_int_equal(m->nnote, 4);
    assert_non_null(strstr(m->note[0], "'layers.0.mlp.norm.weight' is left out"));
    for (int i = 0; i < m->graph->nparam; i++)
        assert_null(strstr(m->graph->param[i].node->attr.name, "mlp"));
    spec_free(m);
    m = load_text(
        state, "fewer.lua",
        MODEL("residual = attnres { blocks = 4 }, layers = times(6, layer { mlp { hidden = 8 } })"),
        NULL, &error);
    assert_non_null(m);
    assert_string_equal(m->note[0], "residual: 3 blocks of 2 sublayers, 4 were asked for");
    spec_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_require),
        cmocka_unit_test(test_require_links),
        cmocka_unit_test(test_reachable),
        cmocka_unit_test(test_defined_order),
        cmocka_unit_test(test_tampering),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_memory_everywhere),
        cmocka_unit_test(test_ops_page),
        cmocka_unit_test(test_parameter_counts),
        cmocka_unit_test(test_source_counts),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_locations),
        cmocka_unit_test(test_specs),
        cmocka_unit_test(test_unused_parameters),
        cmocka_unit_test(test_library_mixers_are_ordinary),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
