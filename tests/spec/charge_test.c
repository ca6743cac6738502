/* SPDX-License-Identifier: MIT
** What a spec's instructions may cost: library calls, values, strings and blocks count by what they
** touch, not by the instructions that ask for them, and the same spec stops where it did before.
*/
#include "load_spec.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "scratch.h"

enum { INSTRUCTIONS = 1000000 };

/* 'body' runs more than 'times' times in so many instructions. */
static bool repeats(void **state, const char *begin, const char *body, int times) {
    const SpecLimits limits = { .instructions = INSTRUCTIONS, .seconds = 1000 };
    char text[512];
    Error error;
    snprintf(text, sizeof text,
             "%s local n = 0 while true do %s n = n + 1 if n > %d then error('repeated') end end",
             begin, body, times);
    assert_null(load_spec_text(state, "charge.lua", text, &limits, &error));
    bool stopped = strstr(error.text, "instructions, found more") != NULL;
    assert_true(stopped || strstr(error.text, "repeated"));
    assert_int_equal(error.status, stopped ? STATUS_LIMIT : STATUS_USER);
    return !stopped;
}

#define LONG "local s = ('x'):rep(16000) "

static void what_is_touched_counts(void **state) {
    static const struct {
        const char *begin, *body;
        int most; /* repetitions in so many instructions, at 10 ns each: none takes much more */
    } c[] = {
        { LONG, "s:upper()", 500 },
        { LONG, "s:reverse()", 500 },
        { LONG, "local a = s .. 'y'", 500 },
        { LONG, "local a = s:sub(2)", 500 },
        { LONG, "local a = { s:byte(1, -1) }", 250 },
        { LONG, "local a = s == t", 1000 },
        { "", "('ab'):rep(8000)", 500 },
        { "local s = ('0'):rep(16000)", "tonumber(s)", 500 },
        { "", "('%99.99f'):format(1e300)", 3000 },
        { "", "tostring(1e300)", 4000 },
        { "", "pcall(error, 'x')", 4000 },
        { "local t = {} for i = 1, 200 do t[i] = i end", "math.max(table.unpack(t))", 10000 },
        { "local function f(n) if n == 0 then return end return 1, f(n - 1) end", "f(2000)", 4 },
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        if (repeats(state, c[i].begin, c[i].body, c[i].most))
            fail_msg("%s: expected it at most %d times, found more", c[i].body, c[i].most);
    assert_true(repeats(state, "", "local a = n * 2", 60000));
    assert_true(repeats(state, "local function f(a) return a end", "f(n)", 40000));
    assert_true(repeats(state, "", "local t = { n, n }", 40000));
}

static void values_of_dots(void **state) {
    static const char *const text[] = {
        "local function f(...) return f(1, ...) end f()",
        "local function f(...) end f(('x'):rep(251):byte(1, -1))",
    };
    Error error;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        assert_null(load_spec_text(state, "charge.lua", text[i], NULL, &error));
        assert_int_equal(error.status, STATUS_LIMIT);
        assert_non_null(strstr(error.text, "charge.lua:1: expected at most 250 values for '...'"));
    }
}

static const char ordinary[] =
    "local names = {}\n"
    "for i = 1, 300 do names[i] = ('name %d'):format(i) end\n"
    "local long = table.concat(names, ', ', 1, 40)\n"
    "local ok = pcall(error, long)\n"
    "return model { name = 'x', vocab = 16, context = 8, dim = 8, norm = rmsnorm {},\n"
    "  residual = haares { blocks = 2 }, layers = times(4, layer { mlp { hidden = 8 } }) }\n";

static bool loads(void **state, int64_t instructions) {
    const SpecLimits limits = { .instructions = instructions };
    Error error;
    Model *m = load_spec_text(state, "charge.lua", ordinary, &limits, &error);
    if (!m) assert_non_null(strstr(error.text, "instructions, found more"));
    spec_free(m);
    return m != NULL;
}

static void stops_where_it_did(void **state) {
    int64_t low = 0, high = 10 * INSTRUCTIONS;
    assert_true(loads(state, high));
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (loads(state, middle)) high = middle;
        else low = middle;
    }
    for (int i = 0; i < 10; i++) {
        assert_true(loads(state, high));
        assert_false(loads(state, low));
    }
}

/* Where instructions are slow ones, the clock ends the run, with the line. */
static void time_is_limited(void **state) {
    const SpecLimits limits = { .instructions = INT64_MAX, .seconds = 0.05 };
    Error error;
    assert_null(load_spec_text(state, "charge.lua", "\nwhile true do end", &limits, &error));
    assert_int_equal(error.status, STATUS_LIMIT);
    assert_non_null(strstr(error.text, "charge.lua:2: expected at most 0 s of processor time"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_touched_counts),
        cmocka_unit_test(values_of_dots),
        cmocka_unit_test(stops_where_it_did),
        cmocka_unit_test(time_is_limited),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
