/* SPDX-License-Identifier: MIT
** strata compare: numbers and differences, kernels matched by role, JSON that reads
** back, a page that is well-formed, safe against what specs say, and small.
*/
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "small_comparison.h"
#include "json_get.h"
#include "page_check.h"
#include "scratch.h"

/* == Numbers ============================================================== */

static void equal_variants_differ_in_nothing(void **state) {
    Comparison c = { .n = 2, .command = "" };
    for (int i = 0; i < 2; i++)
        c.variant[i] =
            (Variant){ .report = small_comparison_report(state, "0.lua", small_residual[1], 3),
                       .code_bytes = NAN,
                       .compile_seconds = NAN };
    compare_name(&c);
    int n;
    Role *role = compare_roles(&c, &n);
    for (int k = 0; k < n; k++)
        assert_false(role_differs(&c, &role[k]));
    char *text = comparison_written(&c, compare_text, NULL);
    assert_non_null(strstr(text, "do the same work"));
    assert_null(strchr(text, '%'));
    assert_null(strstr(text, "compile time")); /* it is not known */
    free(text);
    free(role);
    compare_free(&c);
}

/* All work is in the roles, once. */
static void roles_hold_all_work(void **state) {
    Comparison c = small_comparison(state, SMALL_RESIDUALS, 3);
    int n;
    Role *role = compare_roles(&c, &n);
    assert_non_null(role);
    for (int i = 0; i < c.n; i++) {
        double bytes = 0, flops = 0;
        int kernels = 0, calls = 0;
        for (int k = 0; k < n; k++) {
            bytes += role[k].of[i].work[TRAINING].bytes,
                flops += role[k].of[i].work[TRAINING].flops;
            kernels += role[k].of[i].kernels, calls += role[k].of[i].work[TRAINING].calls;
        }
        const Report *r = c.variant[i].report;
        assert_int_equal(kernels, r->nkernel);
        assert_int_equal(calls, r->work[TRAINING].calls);
        assert_true(fabs(bytes / r->work[TRAINING].bytes - 1) < 1e-9
                    && fabs(flops / r->work[TRAINING].flops - 1) < 1e-9);
    }
    for (int a = 0; a < n; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(role[a].name, role[b].name);
    free(role);
    compare_free(&c);
}

static void numbers_are_readable(void **state) {
    (void)state;
    char to[32];
    assert_string_equal(compare_difference(to, 110, 100), "+10.0 %");
    assert_string_equal(compare_difference(to, 99.96, 100), "-0.04 %");
    assert_string_equal(compare_difference(to, 3, 3), "=");
    assert_string_equal(compare_difference(to, 0, 0), "=");
    assert_string_equal(compare_difference(to, 3, 0), "");
    assert_string_equal(compare_difference(to, NAN, 3), "");
    assert_string_equal(compare_number(to, UNIT_BYTES, 2048), "2.0 KiB");
    assert_string_equal(compare_number(to, UNIT_COUNT, 36), "36");
    assert_string_equal(compare_number(to, UNIT_COUNT, 5.666667), "5.67");
    assert_string_equal(compare_number(to, UNIT_SECONDS, 0.0123), "12.3 ms");
    assert_string_equal(compare_number(to, UNIT_SECONDS, 0.0000123), "12.3 us");
    assert_string_equal(compare_number(to, UNIT_SECONDS, NAN), "-");
}

/* == Outputs ============================================================== */

static void json_reads_back(void **state) {
    Comparison c = small_comparison(state, 3, 3);
    Json j;
    Error e = { 0 };
    size_t n;
    char *text = comparison_written(&c, compare_json, &n);
    if (json_parse(&j, "json", text, n, 100000, &e)) fail_msg("%s", e.text);
    const JsonNode *list = json_get(&j, j.node, "variants"), *first = json_first(&j, list),
                   *second = json_next(&j, first);
    assert_int_equal(list->count, 3);
    double base = json_get_number(&j, json_get(&j, first, "numbers"), "bytes_per_token_training");
    double own = json_get_number(&j, json_get(&j, second, "numbers"), "bytes_per_token_training");
    assert_true(base > 0 && own > base);
    assert_true(
        fabs(json_get_number(&j, json_get(&j, second, "difference"), "bytes_per_token_training")
             - (own / base - 1))
        < 1e-9);
    assert_true(json_get_number(&j, json_get(&j, first, "difference"), "parameters") == 0);
    assert_true(json_get_number(&j, json_get(&j, second, "numbers"), "code_bytes") == 1001);
    assert_true(json_get_number(&j, json_get(&j, second, "inspect"), "parameters")
                == json_get_number(&j, json_get(&j, second, "numbers"), "parameters"));
    const JsonNode *kernel = json_first(&j, json_get(&j, j.node, "kernels"));
    assert_int_equal(json_get(&j, kernel, "variants")->count, 3);
    json_free(&j);
    free(text);
    compare_free(&c);
}

static void columns_hold_all_variants(void **state) {
    Comparison c = small_comparison(state, SMALL_RESIDUALS, 2);
    strcpy(c.variant[1].label, "m (lr=1)");
    char *text = comparison_written(&c, compare_text, NULL), *at = text;
    assert_non_null(strstr(text, "\n  2  m (lr=1), from "));
    assert_int_equal(strncmp(text, "Fewest bytes", 12), 0); /* the answer first */
    assert_non_null(strstr(text, "\nm (lr=1): "));
    assert_int_equal(page_count(text, " 2 m (lr=1)"), 2); /* counts and kernels */
    int blocks = 0;
    for (; (at = strstr(at, "\nparameters ")); at++)
        blocks++;
    assert_int_equal(blocks, 3);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        if (!memmem(line, (size_t)(end - line), "memory traffic", 14)
            && !memmem(line, (size_t)(end - line), "moved by a token", 16)
            && !memmem(line, (size_t)(end - line), ", from ", 7))
            assert_true(end - line < 120);
    at = text;
    for (blocks = 0; (at = strstr(at, " memory traffic, ")); at++)
        blocks++;
    assert_int_equal(blocks, SMALL_RESIDUALS - 1);
    free(text);
    compare_free(&c);
}

static void the_page_needs_nothing_else(void **state) {
    Comparison c = small_comparison(state, SMALL_RESIDUALS, 12);
    size_t n;
    char *page = comparison_written(&c, compare_html, &n);
    assert_true(page_check_tags(page) > 1000);
    assert_true(n < 2000000);
    assert_int_equal(page_count(page, "<script"), 1);
    assert_null(strstr(page, "://"));
    assert_null(strstr(page, "url("));
    assert_null(strstr(page, "nan"));
    assert_non_null(strstr(page, "prefers-color-scheme:dark"));
    assert_non_null(strstr(page, "name=\"viewport\""));
    for (int i = 1; i < SMALL_RESIDUALS; i++)
        assert_non_null(strstr(page, c.variant[i].label));
    assert_non_null(strstr(page, c.command));
    free(page);
    compare_free(&c);
}

/* The data is JSON, the same as of --json; the specs and the library's mixers are there. */
static void the_page_has_what_it_was_made_of(void **state) {
    Comparison c = small_comparison(state, 2, 2);
    Json j;
    Error e = { 0 };
    static TextFile file = { .name = "a<b>.txt", .sha256 = "0123", .bytes = 77 };
    c.text = NULL;
    c.made = (Circumstances){ .date = "2026-11-25 02:00 UTC",
                              .processor = "A Processor",
                              .processors = 3,
                              .load = 0.25,
                              .file = &file,
                              .files = 1 };
    char *page = comparison_written(&c, compare_html, NULL);
    page_check_tags(page);
    static const char *const words[] = { "2026-11-25 02:00 UTC",
                                         "A Processor, 3 processors",
                                         "a&lt;b&gt;.txt",
                                         ">0123<",
                                         "layers = times(2, layer {",
                                         "<summary>library/mixers/haares.lua</summary>",
                                         "<summary>library/mixers/standard.lua</summary>" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(page, words[i])) fail_msg("expected %s in the page", words[i]);
    char *from = strstr(page, "id=\"data\">"), *to = strstr(from, "</script>");
    from += strlen("id=\"data\">");
    if (json_parse(&j, "data", from, (size_t)(to - from), 1000000, &e)) fail_msg("%s", e.text);
    const JsonNode *made = json_get(&j, j.node, "made");
    assert_true(json_get_number(&j, made, "load") == 0.25);
    assert_string_equal(json_get(&j, json_first(&j, json_get(&j, made, "files")), "name")->text,
                        "a<b>.txt");
    json_free(&j);
    free(page);
    c.made.file = NULL;
    compare_free(&c);
}

/* A hostile file name does nothing in a page, a terminal or JSON. */
static void names_are_escaped(void **state) {
    Comparison c = { .n = 2, .command = "strata compare '<script>alert(1)</script>'" };
    for (int i = 0; i < 2; i++)
        c.variant[i] =
            (Variant){ .report = small_comparison_report(
                           state, i ? "<script>&\"\033[31m.lua" : "<b>.lua", small_residual[i], 2),
                       .code_bytes = 1,
                       .compile_seconds = 1 };
    compare_name(&c);
    char *page = comparison_written(&c, compare_html, NULL),
         *text = comparison_written(&c, compare_text, NULL),
         *json = comparison_written(&c, compare_json, NULL);
    assert_int_equal(page_count(page, "<script"), 1); /* its data, which nothing runs */
    assert_non_null(strstr(page, "<script type=\"application/json\" id=\"data\">"));
    assert_int_equal(page_count(page, "</script"), 1);
    assert_null(strstr(page, "<b>"));
    assert_non_null(strstr(page, "&lt;script&gt;"));
    page_check_tags(page);
    assert_null(strchr(page, '\033'));
    assert_null(strchr(text, '\033'));
    assert_null(strchr(json, '\033'));
    free(page), free(text), free(json);
    compare_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_variants_differ_in_nothing, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(roles_hold_all_work, scratch_setup, scratch_teardown),
        cmocka_unit_test(numbers_are_readable),
        cmocka_unit_test_setup_teardown(json_reads_back, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(columns_hold_all_variants, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(the_page_needs_nothing_else, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(the_page_has_what_it_was_made_of, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(names_are_escaped, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
