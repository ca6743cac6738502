/* SPDX-License-Identifier: MIT
** The papers' numbers beside ours: every analytic figure that concerns what this
** version has, from the compiler (strata inspect) or computed here by the convention
** that is printed.  tests/published.txt is the output; STRATA_UPDATE=1 writes it anew.
** A figure that does not come out as it is known to fails the test.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mixing.h"
#include "published.h"
#include "published_spec.h"
#include "scratch.h"

/* == The depth-mixing matrix ============================================== */

static int largest_rank(void **folder, const char *residual, double *row_error) {
    Report *r = paper_report(folder, residual, (Sizes){ 12, 64, 64, 64 });
    Error e = { 0 };
    Mixing *x = mixing_measure(r->model, WEIGHTS_RANDOM, 3, &e);
    if (!x) fail_msg("%s", e.text);
    int most = 0;
    *row_error = 0;
    for (int k = 0; k < x->size; k++) {
        int rank = mixing_rank(x, k);
        double sum = 0;
        for (int s = 0; s < x->size; s++)
            sum += x->mean[k * x->size + s];
        most = rank > most ? rank : most;
        *row_error = fmax(*row_error, fabs(sum - 1));
    }
    mixing_free(x);
    report_free(r);
    return most;
}

static void ranks(void **folder) {
    double sums;
    heading("13. Depth-mixing matrix of 24 sublayers on random weights: the largest rank of a "
            "block below the diagonal");
    count("standard", largest_rank(folder, "standard {}", &sums), 1, "");
    count("highway", largest_rank(folder, "highway {}", &sums), 1, "1-semiseparable");
    equal("highway: rows sum to 1, largest error", sums, 0, 9, "");
    for (int m = 2; m <= 4; m++) {
        char what[64];
        print_text(what, sizeof what, "hyper { streams = %d }", m);
        count(what, largest_rank(folder, what, &sums), m, "at most m");
    }
    int block = largest_rank(folder, "attnres { blocks = 4 }", &sums);
    char ours[16];
    print_text(ours, sizeof ours, "%d", block);
    line("attnres { blocks = 4 }, 6 sublayers a block", ours, "4 to 10",
         block >= 4 && block <= 10 ? "equal (N to N + S)" : "WRONG");
    wrong += block < 4 || block > 10;
    count("attnres { full = true }: dense", largest_rank(folder, "attnres { full = true }", &sums),
          13, "half of 25 reads, rounded up");
    equal("attnres { full = true }: rows sum to 1, largest error", sums, 0, 9, "");
}

/* == Depth Routing Residuals ============================================== */

static Report *listing(void **folder, const char *residual) {
    char path[SCRATCH_PATH];
    Error e = { 0 };
    FILE *f = fopen(scratch_path(folder, "listing.lua", path), "w");
    assert_non_null(f);
    fprintf(f,
            "return model { name = 'listing', vocab = 32000, context = 2048, dim = 512, norm = "
            "layernorm {}, residual = %s,\n"
            "  embedding = { positions = 'learned' }, layers = times(12, layer {\n"
            "    attention { heads = 8, bias = true, causal = false }, mlp { hidden = 2048, "
            "activation = 'gelu', bias = true } }) }\n",
            residual);
    assert_int_equal(fclose(f), 0);
    Report *r = report_new(path, &(ReportOptions){ .cpu = "x86-64-v3" }, &e);
    if (!r) fail_msg("%s", e.text);
    return r;
}

static void depth_routing(void **folder) {
    Report *plain = listing(folder, "standard {}"), *routed = listing(folder, "drr { heads = 8 }");
    double head = 2.0 * 32000 * 512, idle = (1 + 4) * 4 * 512 * 512, most = exp(2) + 1 + exp(-0.5);
    heading("14. Depth Routing Residuals, the listing: 12 layers, D 512, vocabulary 32000, context "
            "2048");
    count("parameters without", plain->model->parameters, 55262208, "");
    differs("parameters", (double)routed->model->parameters, 78631460, 0, "83874340",
            "5 of the listing's attention modules, 5242880 numbers, have nothing to read: they do "
            "not exist here");
    count("parameters and those", routed->model->parameters + (int64_t)idle, 83874340, "");
    differs("parameters more, percent",
            100 * ((double)routed->model->parameters + idle) / (double)plain->model->parameters
                - 100,
            51.8, 1, "0.8", "the listing's own modules have so many");
    differs("forward work more, percent, head left out",
            100 * (routed->work[FORWARD].flops - head) / (plain->work[FORWARD].flops - head) - 100,
            189.9, 1, "1.5",
            "memories are attended to at every position; 179 by a count of the listing, which "
            "projects summaries once, not for every token");
    differs("memory positions at the last layer, percent fewer",
            100 - 100 * (4 * 2048 + 2 * 8) / (12 * 2048.0), 66.6, 1, "65",
            "4 layers of 2048 positions and 2 summaries of 8 take the place of 12 layers");
    equal("router at the start: the stream", exp(2) / most, 0.8214, 4, "softmax of 2, 0, -0.5");
    equal("router at the start: short memory", 1 / most, 0.1112, 4, "");
    equal("router at the start: long memory", exp(-0.5) / most, 0.0674, 4, "");
    report_free(plain), report_free(routed);
}

/* == All of it ============================================================ */

static void compare(void) {
    size_t n;
    char *there = scratch_read("tests/published.txt", &n);
    if (getenv("STRATA_UPDATE")) scratch_write("tests/published.txt", table.at, table.length);
    else if (!there || n != table.length || memcmp(there, table.at, n))
        fail_msg(
            "tests/published.txt is not what this test prints; STRATA_UPDATE=1 %s writes it anew",
            "published_test");
    free(there);
}

static void published_numbers(void **state) {
    text_add(
        &table,
        "The papers' analytic numbers beside ours, written by tests/report/published_test.c.\n\n");
    line("", "ours", "published", "");
    published_haares(state);
    published_attnres(state);
    ranks(state);
    depth_routing(state);
    published_routes(state);
    if (table.at) fputs(table.at, stdout);
    assert_int_equal(wrong, 0);
    compare();
    text_free(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(
        published_numbers, scratch_setup, scratch_teardown) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
