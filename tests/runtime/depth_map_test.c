/* SPDX-License-Identifier: MIT
** The picture of depth mixing: names of sublayers, blocks, a sentence for every cell, and for
** every row of a large one.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "depth_map.h"
#include "page_check.h"

enum { LAYERS = 3, SIZE = 2 * LAYERS + 1 };

static const char *const site[SIZE] = { "layers.0.attention",
                                        "layers.0.mlp",
                                        "layers.1.attention",
                                        "layers.1.mlp",
                                        "layers.2.attention",
                                        "layers.2.mlp",
                                        "readout" };

static void names_tell_sublayers_apart(void **state) {
    (void)state;
    static const char *const kinds[] = { "layers.10.mla", "layers.10.mlp", "layers.11.moe",
                                         "prelude", "readout" };
    char name[SIZE][DEPTH_NAME];
    depth_names(site, SIZE, name);
    assert_string_equal(name[0], "0a");
    assert_string_equal(name[5], "2m");
    assert_string_equal(name[6], "out");
    depth_names(kinds, 5, name);
    assert_string_equal(name[0], "10mla");
    assert_string_equal(name[1], "10mlp");
    assert_string_equal(name[2], "11moe");
    assert_string_equal(name[3], "prelu");
}

static void blocks_are_what_the_final_read_takes_alike(void **state) {
    (void)state;
    double weight[16] = { 0 };
    bool begins[4];
    memcpy(weight + 12, (double[]){ 1, 0.5, 0.5, 0.25 }, 4 * sizeof *weight);
    assert_true(depth_blocks(weight, 4, 1e-6, begins));
    assert_true(!begins[0] && begins[1] && !begins[2] && begins[3]);
    memcpy(weight + 12, (double[]){ 1, 1, 1, 1 }, 4 * sizeof *weight);
    assert_false(depth_blocks(weight, 4, 1e-6, begins));
    memcpy(weight + 12, (double[]){ 1, 2, 3, 4 }, 4 * sizeof *weight);
    assert_false(depth_blocks(weight, 4, 1e-6, begins));
    assert_true(!begins[1] && !begins[2] && !begins[3]);
}

static char *drawn(const char *const *read, int size, const double *weight, const bool *begins) {
    Text t = { 0 };
    depth_map(
        &(DepthMap){ .weight = weight, .size = size, .read = read, .scale = 1, .boundary = begins },
        &t);
    assert_false(t.failed);
    page_check_tags(t.at);
    return t.at;
}

static void every_cell_tells_what_it_is(void **state) {
    (void)state;
    double weight[SIZE * SIZE];
    for (int i = 0; i < SIZE * SIZE; i++)
        weight[i] = 0.01 * i;
    char *picture = drawn(site, SIZE, weight, (bool[SIZE]){ [2] = true });
    assert_non_null(strstr(picture, "layers.1.mlp takes layers.0.mlp: 0.23"));
    assert_non_null(strstr(picture, "readout takes the embedding: 0.42"));
    assert_null(strstr(picture, "layers.0.attention takes layers"));
    assert_int_equal(page_count(picture, "<title>"), SIZE * (SIZE + 1) / 2);
    assert_int_equal(page_count(picture, "class=\"edge\""), 1);
    assert_non_null(strstr(picture, ">2a</text>"));
    assert_non_null(strstr(picture, ">out</text>"));
    free(picture);
}

static void names_of_a_spec_do_nothing(void **state) {
    (void)state;
    static const char *const bad[] = { "layers.0.<script>", "\"><b>" };
    char *picture = drawn(bad, 2, (double[]){ 1, 0, 0.5, 0.5 }, NULL);
    assert_null(strstr(picture, "<script"));
    assert_null(strstr(picture, "<b>"));
    free(picture);
}

/* 49 sublayers: cells would be more sentences than text; the largest weights come first. */
static void rows_of_a_large_map_tell_their_largest(void **state) {
    (void)state;
    enum { LARGE = 97 };
    static char name[LARGE][32];
    static const char *read[LARGE];
    static double weight[LARGE * LARGE];
    for (int r = 0; r < LARGE; r++) {
        snprintf(name[r], sizeof name[r], "layers.%d.%s", r / 2, r % 2 ? "mlp" : "attention");
        read[r] = name[r];
        for (int s = 0; s <= r; s++)
            weight[r * LARGE + s] = 1.0 / (1 + s);
    }
    char *picture = drawn(read, LARGE, weight, NULL);
    assert_int_equal(page_count(picture, "<title>"), LARGE);
    assert_non_null(strstr(picture, "layers.1.mlp takes e 1, 0a 0.5, 0m 0.333, 1a 0.25</title>"));
    assert_non_null(strstr(picture, "5a 0.0833, less of others</title>"));
    assert_non_null(strstr(picture, ">40a</text>"));
    assert_null(strstr(picture, ">7m</text>")); /* names are left out by whole layers */
    Text t = { 0 };
    depth_map(
        &(DepthMap){ .weight = weight, .size = LARGE, .read = read, .scale = 1, .letter = 14 }, &t);
    assert_false(t.failed); /* larger letters leave room for fewer names */
    assert_true(page_count(t.at, "</text>") < page_count(picture, "</text>"));
    assert_non_null(strstr(t.at, ">45a</text>"));
    free(picture);
    text_free(&t);
}

static void a_residual_stream_is_all_ones(void **state) {
    (void)state;
    double weight[SIZE * SIZE] = { 0 };
    for (int r = 0; r < SIZE; r++)
        for (int c = 0; c <= r; c++)
            weight[r * SIZE + c] = 1;
    assert_true(depth_all_ones(weight, SIZE, 1e-3));
    weight[3 * SIZE + 1] = 0.99;
    assert_false(depth_all_ones(weight, SIZE, 1e-3));
    weight[3 * SIZE + 1] = 1, weight[1 * SIZE + 3] = 0.01; /* above the diagonal */
    assert_false(depth_all_ones(weight, SIZE, 1e-3));
    weight[1 * SIZE + 3] = NAN;
    assert_false(depth_all_ones(weight, SIZE, 1e-3));
}

/* Ticks of all lengths stand beside the name of their axis. */
static void names_of_axes_stand_apart(void **state) {
    (void)state;
    static const double size[] = { 0, 1e-9, 0.0034, 0.02, 0.5, 3, 12345, 3e7 };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int kind = 0; kind < 8; kind++) {
            double y[] = { size[i], kind & 4 ? -size[i] : 0.2 * size[i], 0.7 * size[i] };
            const double *series[] = { y };
            Text t = { 0 };
            chart_lines(&(LineChart){ .series = series,
                                      .nseries = 1,
                                      .count = 3,
                                      .label = "a",
                                      .across = "layer",
                                      .up = "nats per token",
                                      .zero = kind & 1,
                                      .bars = kind & 2 },
                        &t);
            assert_false(t.failed);
            page_check_labels(t.at);
            assert_null(strstr(t.at, "nan"));
            /* nothing but zeros is on a scale of zeros and ones, not of billionths */
            if (size[i] == 0) assert_null(strstr(t.at, "e-10<"));
            if (size[i] == 0) assert_null(strstr(t.at, "e-09<"));
            text_free(&t);
        }
}

static void names_of_rows_stand_apart(void **state) {
    (void)state;
    static const char *const name[] = { "e", "12mla", "119attn", "out" };
    double value[16] = { 1 };
    for (double letter = 0; letter < 16; letter += 14) {
        Text t = { 0 };
        chart_heat_map(&(HeatMap){ .value = value,
                                   .rows = 4,
                                   .columns = 4,
                                   .scale = 1,
                                   .label = "a",
                                   .across = "source",
                                   .down = "read by",
                                   .row = name,
                                   .column = name,
                                   .letter = letter },
                       &t);
        assert_false(t.failed);
        page_check_labels(t.at);
        text_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_sublayers_apart),
        cmocka_unit_test(a_residual_stream_is_all_ones),
        cmocka_unit_test(names_of_axes_stand_apart),
        cmocka_unit_test(names_of_rows_stand_apart),
        cmocka_unit_test(blocks_are_what_the_final_read_takes_alike),
        cmocka_unit_test(every_cell_tells_what_it_is),
        cmocka_unit_test(names_of_a_spec_do_nothing),
        cmocka_unit_test(rows_of_a_large_map_tell_their_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
