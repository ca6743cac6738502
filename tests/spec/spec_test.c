/* SPDX-License-Identifier: MIT
** The front end: what is refused and whose line is blamed, what a spec can reach, its limits.
*/
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load_spec.h"
#include "scratch.h"

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
    char *text = text_of_file(path), *message = NULL, expected[1200];
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
    assert_null(load_spec_text(state, "large.lua", "-- more than ten bytes", &small, &error));
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
    assert_null(load_spec_text(state, name, "local f\nf()", NULL, &error));
    assert_non_null(strstr(error.text, expected));
    snprintf(expected, sizeof expected, "%s:1: expected <name>, found '='", name);
    assert_null(load_spec_text(state, name, "local = 3", NULL, &error));
    assert_non_null(strstr(error.text, expected));
}

static void test_require(void **state) {
    char path[SCRATCH_PATH], folder[SCRATCH_PATH];
    Error error;
    assert_int_equal(mkdir(scratch_path(state, "parts", folder), 0700), 0);
    scratch_write(scratch_path(state, "parts/width.lua", path), "return 24", 9);
    Model *m = load_spec_text(
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
    char start[17];
    snprintf(start, sizeof start, "%016llx", (unsigned long long)hash);
    assert_int_equal(strlen(m->key), 64);
    assert_memory_equal(m->key, start, 16);
    spec_free(m);
    scratch_write(path, "return 32", 9); /* what is required is part of the hash */
    m = load_spec(scratch_path(state, "uses.lua", folder));
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
    Model *m = load_spec_text(
        state, "links.lua",
        "assert(require 'inside' == 3)\n" MODEL("layers = { layer { mlp { hidden = 8 } } }"), NULL,
        &error);
    if (!m) fail_msg("%s", error.text);
    spec_free(m);
    assert_null(load_spec_text(state, "links.lua", "require 'outside'", NULL, &error));
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
    char *found = text_of_file(path), *listed = text_of_file(committed);
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
    Model *m = load_spec_text(state, "order.lua", text, NULL, &error);
    if (!m) fail_msg("%s", error.text);
    spec_free(m);
}

/* One spec's changes of its environment are not another's, nor the library's. */
static void test_tampering(void **state) {
    Error error;
    Model *m = load_spec_text(
        state, "tamper.lua",
        "math.floor, string.format, table.insert, pairs, error = nil\n"
        "string.rep, math.log, table.concat, type, exp, sum, rsqrt = nil\n" MODEL(
            "residual = haares { blocks = 1 }, layers = { layer { mlp { hidden = 8 } } }"),
        NULL, &error);
    if (!m) fail_msg("%s", error.text);
    spec_free(m);
    m = load_spec_text(state, "tamper.lua", "model = nil\nreturn model", NULL, &error);
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
        assert_null(load_spec_text(state, "limit.lua", text, limits[i], &error));
        if (error.status != 3 || !strstr(error.text, message[i]))
            fail_msg("status %d: %s (expected %s)", error.status, error.text, message[i]);
    }
    Model *m = load_spec_text(state, "limit.lua", text, NULL, &error);
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
        Model *m = load_spec_text(state, "memory.lua", text, &limits, &error);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),        cmocka_unit_test(test_files),
        cmocka_unit_test(test_long_names),    cmocka_unit_test(test_require),
        cmocka_unit_test(test_require_links), cmocka_unit_test(test_reachable),
        cmocka_unit_test(test_defined_order), cmocka_unit_test(test_tampering),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_memory_everywhere),
        cmocka_unit_test(test_ops_page),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
