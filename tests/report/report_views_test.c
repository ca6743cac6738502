/* SPDX-License-Identifier: MIT
** The views of inspect: listings that a diff can read, a memory plan in which no
** two values share a byte at one time, pictures that are well-formed.
*/
#include "test.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory_view.h"
#include "views.h"
#include "scratch_spec.h"
#include "work.h"

static Report *report_written(void **state, const char *residual, int layers, bool inference) {
    return scratch_report(state, "model.lua", &(ReportOptions){ .passes.inference = inference },
                          "return model {\n  name = 'm', vocab = 64, context = 64, dim = 48, norm "
                          "= rmsnorm {},\n  residual = %s,\n"
                          "  layers = times(%d, layer {\n    attention { heads = 3, rope = {} },\n "
                          "   mlp { hidden = 96, activation = 'swiglu' } }) }\n",
                          residual, layers);
}

static char *text_of(const Report *r, void (*write)(const Report *, Text *)) {
    Text t = { 0 };
    write(r, &t);
    assert_non_null(t.at);
    return t.at;
}

static const char *const residuals[] = { "standard {}",
                                         "haares { blocks = 2 }",
                                         "attnres { full = true, heads = 2 }",
                                         "hyper { streams = 2 }",
                                         "mhc { streams = 3, lite = true }",
                                         "denseformer {}",
                                         "highway {}" };
enum { RESIDUALS = sizeof residuals / sizeof *residuals };

/* == Listings ============================================================= */

static int count(const char *text, const char *word) {
    int n = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

/* Every operand is a number or was named by a line before, in the same kernel. */
static void check_line(const char *line, size_t n, bool seen[2][4096]) {
    const char *end = line + n, *at = memmem(line, n, " = ", 3);
    const char *shape = memmem(line, n, "  [", 3), *ids = memmem(line, n, "  int32[", 8);
    if (ids && (!shape || ids < shape)) shape = ids;
    assert_true(n > 4 && (line[2] == 'a' || line[2] == 'v') && isdigit((unsigned char)line[3]));
    for (const char *c = at; at && shape && c < shape; c++) {
        if ((*c != 'a' && *c != 'v') || (c[-1] != ' ') || !isdigit((unsigned char)c[1])) continue;
        if (!seen[*c == 'v'][atoi(c + 1)]) fail_msg("not yet there: %.*s", (int)n, line);
    }
    if (at && shape) assert_true(memmem(shape, (size_t)(end - shape), "model.lua:", 10) != NULL);
    seen[line[2] == 'v'][atoi(line + 3)] = true;
}

static void listings_name_what_they_use(void **state) {
    for (int i = 0; i < RESIDUALS; i++) {
        Report *r = report_written(state, residuals[i], 3, false);
        char *text = text_of(r, report_kernels_text);
        static bool seen[2][4096];
        int kernels = 0, lines = 0;
        for (char *line = text; *line; line = strchr(line, '\n') + 1) {
            size_t n = (size_t)(strchr(line, '\n') - line);
            if (!n) continue;
            if (*line != ' ') memset(seen, 0, sizeof seen), kernels++;
            else check_line(line, n, seen), lines++;
        }
        assert_int_equal(kernels, r->nkernel);
        assert_true(lines > 5 * kernels);
        assert_null(strstr(text, "?"));
        free(text);
        report_free(r);
    }
}

/* Depth does not show in a kernel: where it is the same, its listing is. */
static void equal_kernels_have_equal_listings(void **state) {
    Text a = { 0 }, b = { 0 };
    Report *few = report_written(state, "standard {}", 3, false);
    for (int i = 0; i < few->nkernel; i++)
        report_kernel_lines(few, &few->kernel[i], &a, NULL);
    Report *many = report_written(state, "standard {}", 7, false);
    for (int i = 0; i < many->nkernel; i++)
        report_kernel_lines(many, &many->kernel[i], &b, NULL);
    assert_int_equal(few->nkernel, many->nkernel);
    assert_int_equal(count(a.at, "\n"), count(b.at, "\n"));
    assert_int_equal(count(a.at, " = mul "), count(b.at, " = mul "));
    text_free(&a), text_free(&b);
    report_free(few), report_free(many);
}

/* == Memory =============================================================== */

static void no_two_values_share_a_byte(void **state) {
    for (int i = 0; i < 2 * RESIDUALS; i++) {
        Report *r = report_written(state, residuals[i / 2], 3, i % 2);
        const Plan *p = memory_plan(r);
        int n, spaces[MEMORY_SPACES] = { 0 };
        const MemoryItem *item = memory_items(p, &n);
        for (int a = 0; a < n; a++) {
            const Buffer *x = item[a].b;
            spaces[item[a].space]++;
            assert_true(item[a].from < item[a].to && item[a].to <= p->nstep);
            assert_true(x->offset >= 0
                        && 4 * (x->offset + x->stride) <= memory_size(p, item[a].space));
            for (int b = 0; b < a; b++) {
                const Buffer *y = item[b].b;
                bool time = item[a].from < item[b].to && item[b].from < item[a].to;
                bool bytes = x->offset < y->offset + y->stride && y->offset < x->offset + x->stride;
                assert_false(item[a].space == item[b].space && time && bytes);
            }
        }
        assert_true(spaces[0] > 3 && spaces[1] > 3);
        report_free(r);
    }
}

static void backward_begins_after_forward(void **state) {
    Report *r = report_written(state, "haares { blocks = 2 }", 3, false);
    const Plan *p = memory_plan(r), *forward = r->planned.plans.plan[PROGRAM_LOGITS];
    int first = work_backward(p);
    assert_true(first > forward->nstep / 2 && first < p->nstep / 2);
    assert_int_equal(work_backward(forward), forward->nstep);
    report_free(r);
}

/* == Pictures ============================================================= */

/* Tags are closed in order, attributes quoted, nothing else between < and >. */
static int check_xml(const char *text) {
    char open[16][16];
    int depth = 0, tags = 0;
    for (const char *c = strchr(text, '<'); c; c = strchr(c, '<'), tags++) {
        const char *end = strchr(c, '>');
        assert_non_null(end);
        assert_null(memchr(c + 1, '<', (size_t)(end - c - 1)));
        int quotes = 0;
        for (const char *q = c; q < end; q++)
            quotes += *q == '"';
        assert_int_equal(quotes % 2, 0);
        char name[16];
        assert_int_equal(sscanf(c + (c[1] == '/' ? 2 : 1), "%15[a-z]", name), 1);
        if (c[1] == '/') assert_true(depth > 0 && !strcmp(open[--depth], name));
        else if (end[-1] != '/') assert_true(depth < 16), strcpy(open[depth++], name);
        c = end;
    }
    assert_int_equal(depth, 0);
    return tags;
}

static void pictures_are_well_formed(void **state) {
    for (int i = 0; i < RESIDUALS; i++) {
        Report *r = report_written(state, residuals[i], 4, false);
        char *memory = text_of(r, report_memory_svg), *graph = text_of(r, report_graph_svg);
        int n;
        memory_items(memory_plan(r), &n);
        assert_true(check_xml(memory) > n && check_xml(graph) > 20);
        assert_int_equal(count(memory, "<title>"), n);
        assert_non_null(strstr(memory, "<title>attention: "));
        /* the stream of standard residuals is in the embedding's place */
        assert_int_equal(strstr(memory, "<title>depth mixing: ") != NULL, i > 0);
        assert_non_null(strstr(memory, ">mlp</text>"));
        assert_null(strstr(memory, "nan"));
        assert_null(strstr(graph, "nan"));
        assert_non_null(strstr(graph, "prefers-color-scheme"));
        free(memory), free(graph);
        report_free(r);
    }
}

static void the_matrix_in_all_forms(void **state) {
    for (int i = 0; i < RESIDUALS; i++) {
        Report *r = report_written(state, residuals[i], 4, true);
        Text text = { 0 }, json = { 0 }, picture = { 0 };
        Error e = { 0 };
        Json j;
        assert_int_equal(report_matrix_text(r, &text, &e) | report_matrix_json(r, &json, &e)
                             | report_matrix_svg(r, &picture, &e),
                         0);
        assert_int_equal(json_parse(&j, "matrix", json.at, json.length, 1 << 20, &e), 0);
        const JsonNode *rows = json_member(&j, &j.node[0], "depth_mixing");
        assert_int_equal(rows ? rows->count : 0, 9);
        for (const JsonNode *row = json_first(&j, rows); row; row = json_next(&j, row))
            assert_int_equal(row->count, 9);
        assert_true((json_member(&j, &j.node[0], "symbols") != NULL)
                    == (strstr(text.at, "In symbols") != NULL));
        assert_true(check_xml(picture.at) > 20);
        assert_null(strstr(picture.at, "nan"));
        assert_non_null(strstr(picture.at, "layers.3.mlp takes layers.1.attention: "));
        json_free(&j);
        text_free(&text), text_free(&json), text_free(&picture);
        report_free(r);
    }
}

/* However deep a model is, a line of its matrix can be read on a screen. */
static void the_matrix_is_narrow_at_any_depth(void **state) {
    static const int layers[] = { 2, 6, 7, 24 };
    for (int i = 0; i < 4; i++) {
        Report *r = report_written(state, "denseformer {}", layers[i], true);
        Text t = { 0 };
        Error e = { 0 };
        assert_int_equal(report_matrix_text(r, &t, &e), 0);
        const char *from = strstr(t.at, "At initial weights"), *to = strstr(from, "\n\n");
        for (const char *line = from, *end; line < to; line = end + 1) {
            end = strchr(line, '\n');
            if (end - line > 120) fail_msg("a line of %d: %.200s", (int)(end - line), line);
        }
        assert_true((strstr(t.at, "largest entries") != NULL) == (layers[i] > 6));
        assert_non_null(strstr(from, "\n1m "));
        assert_non_null(strstr(from, "\nout "));
        text_free(&t);
        report_free(r);
    }
}

/* A curve a share and way of counting, and those without routes; no cache, no panel of it. */
static void what_routes_leave_is_drawn(void **state) {
    static const struct {
        const char *route;
        bool inference;
        int curves;
    } row[] = {
        { "mod { capacity = 0.5 }", false, 2 * (3 + 2) + 2 },
        { "dtr {}", true, 2 * (2 + 2) + 2 },
        { "dtr { choice = 'expert', capacity = 0.5 }", false, 2 * 3 },
    };
    ReportOptions o = { .routed = true, .asked = { .shares = 2, .share = { 0, 0.5 } } };
    for (int i = 0; i < 3; i++) {
        Text t = { 0 };
        o.passes.inference = row[i].inference;
        Report *r = scratch_report(
            state, "model.lua", &o,
            "return model { name = 'm', vocab = 64, context = 64, dim = 48, norm = rmsnorm {},\n"
            "  layers = times(2, layer { attention { heads = 3, rope = {} }, mlp { hidden = 96 }, "
            "route = %s }) }\n",
            row[i].route);
        report_cost_svg(r, &t);
        assert_true(check_xml(t.at) > 20);
        assert_null(strstr(t.at, "nan"));
        /* without routes, the line at 1, the ways of counting */
        int keys = 1 + 1 + (o.passes.inference ? 2 : 3);
        assert_int_equal(count(t.at, "class=\"curve "), row[i].curves + keys);
        text_free(&t);
        report_free(r);
    }
    Report *plain = report_written(state, "standard {}", 2, true);
    char *cost = text_of(plain, report_cost_svg); /* without routes: its bars alone */
    assert_true(check_xml(cost) > 20);
    assert_int_equal(count(cost, "class=\"curve "), 0);
    assert_non_null(strstr(cost, ">product</text>"));
    assert_non_null(strstr(cost, "Forward: "));
    assert_null(strstr(cost, "A training step: "));
    free(cost);
    report_free(plain);
}

static void equal_layers_are_drawn_once(void **state) {
    Report *r = report_written(state, "attnres { blocks = 3 }", 9, false);
    char *graph = text_of(r, report_graph_svg);
    assert_int_equal(count(graph, "weights layers."), 7);
    assert_non_null(strstr(graph,
                           "layers 0 to 8, the same kernels; a\xe2\x80\x93"
                           "b: over the layers; drawn: layer 8<"));
    assert_non_null(strstr(graph, ">from embed, "));
    assert_non_null(strstr(graph, " per token</text>"));
    assert_non_null(strstr(graph, "FLOPs, "));
    free(graph);
    report_free(r);
}

static void the_graph_reads_back(void **state) {
    Report *r = report_written(state, "haares { blocks = 2 }", 2, false);
    char *text = text_of(r, report_graph_text), error[256];
    Graph *g = graph_read(text, error, sizeof error);
    if (!g) fail_msg("%s", error);
    assert_int_equal(g->n, r->model->graph->n);
    graph_free(g);
    free(text);
    report_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(listings_name_what_they_use, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(equal_kernels_have_equal_listings, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(no_two_values_share_a_byte, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(backward_begins_after_forward, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(pictures_are_well_formed, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(the_matrix_in_all_forms, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(the_matrix_is_narrow_at_any_depth, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(what_routes_leave_is_drawn, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(equal_layers_are_drawn_once, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(the_graph_reads_back, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
