/* SPDX-License-Identifier: MIT
** Choices among a token's own numbers, and products by experts, against plain loops in double: ties
** and what is no number, lists with nothing in them, more slots than a task has, more steps and
** columns than a block; a slot's bits are those of its row in a product of any other rows.
*/
#include "kernel_test.h"
#include <math.h>
#include <stdio.h>

/* == Choices ============================================================== */

/* a[i] comes before a[k]. */
static bool before(const float *a, int64_t i, int64_t k) {
    if (isnan(a[i]) || isnan(a[k])) return isnan(a[i]) ? isnan(a[k]) && i < k : true;
    return a[i] > a[k] || (a[i] == a[k] && i < k);
}

static void the_largest_are_marked(void **state) {
    (void)state;
    static const float odd[] = { NAN, -NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-42f };
    Draw d = { 3 };
    for (int round = 0; round < 400; round++) {
        int64_t n = 1 + draw_below(&d, round % 4 ? 20 : 300), k = 1 + draw_below(&d, n);
        Guarded x = guard_bytes(2 * n * (int64_t)sizeof(float), AFTER),
                mask = guard_bytes(2 * n * (int64_t)sizeof(float), AFTER);
        for (int64_t i = 0; i < 2 * n; i++)
            x.at[i] = round % 3 == 0 ? odd[draw_below(&d, 7)]
                : round % 3 == 1     ? (float)draw_below(&d, 4)
                                     : draw_real(&d);
        guard_readonly(x);
        k_largest(2, n, k, x.at, mask.at);
        for (int64_t i = 0; i < 2 * n; i++) {
            int64_t row = i / n * n, ahead = 0;
            for (int64_t j = row; j < row + n; j++)
                ahead += before(x.at, j, i);
            assert_true(mask.at[i] == (ahead < k ? 1.0f : 0.0f));
        }
        guard_free(x), guard_free(mask);
    }
}

static void places_are_the_first_of_a_mask(void **state) {
    (void)state;
    const float mask[] = { 0, 1, -1, NAN, 0.5f, 2 }, x[] = { 10, 11, 12, 13, 14, 15 };
    int32_t place[4];
    float y[4], back[6];
    k_chosen(6, 2, mask, place);
    assert_true(place[0] == 1 && place[1] == 4);
    k_chosen(6, 4, mask, place);
    assert_true(place[0] == 1 && place[1] == 4 && place[2] == 5 && place[3] == -1);
    k_pick(4, x, place, y);
    assert_true(y[0] == 11 && y[1] == 14 && y[2] == 15 && y[3] == 0);
    k_place(6, 4, y, place, back);
    for (int i = 0; i < 6; i++)
        assert_true(back[i] == (i == 1 || i > 3 ? x[i] : 0));
}

/* == Experts ============================================================== */

typedef struct Size {
    int64_t tokens, slots, experts, rows, columns;
    int own, uneven; /* a row for each slot; the first expert gets nearly all */
} Size;

static const Size sizes[] = {
    { 1, 1, 1, 1, 1, 0, 0 },      { 3, 2, 4, 5, 7, 0, 0 },      { 40, 3, 7, 33, 17, 1, 0 },
    { 130, 2, 3, 300, 20, 0, 1 }, { 700, 2, 3, 20, 300, 1, 1 }, { 60, 4, 5, 260, 515, 0, 0 },
};

typedef struct Bench {
    Size size;
    Experts experts;
    int32_t *place, *order, *first;
    Guarded w, x, dy, y, dw, scratch;
    int64_t ldx, ldy;
} Bench;

static Guarded filled(Draw *d, int64_t count) {
    Guarded g = guard_bytes(count * (int64_t)sizeof(float), AFTER);
    for (int64_t i = 0; i < count; i++)
        g.at[i] = draw_real(d);
    return g;
}

static Bench bench_of(const Size *z, uint64_t seed) {
    Draw d = { seed };
    int64_t slots = z->tokens * z->slots;
    Bench b = { .size = *z,
                .ldx = (z->own ? z->slots : 1) * z->columns + 3,
                .ldy = z->slots * z->rows + 5 };
    b.place = malloc((size_t)slots * sizeof *b.place);
    b.order = malloc((size_t)slots * sizeof *b.order);
    b.first = malloc((size_t)(z->experts + 1) * sizeof *b.first);
    for (int64_t i = 0; i < slots; i++)
        b.place[i] = z->uneven && draw_below(&d, 9) ? 0
                                                    : (int32_t)draw_below(&d, z->experts + 1) - 1;
    k_expert_lists(z->tokens, z->slots, b.place, z->slots, z->experts, b.order, b.first);
    b.experts = (Experts){ z->tokens, z->slots, z->experts, b.order, b.first, 0 };
    b.w = filled(&d, z->experts * z->rows * z->columns);
    b.dw = filled(&d, z->experts * z->rows * z->columns);
    b.x = filled(&d, z->tokens * b.ldx);
    b.dy = filled(&d, z->tokens * b.ldy);
    b.y = filled(&d, z->tokens * b.ldy);
    b.scratch = guard_bytes((k_expert_scratch() + 63) / 64 * 64, AFTER);
    guard_readonly(b.w), guard_readonly(b.x), guard_readonly(b.dy);
    return b;
}

static void bench_free(Bench *b) {
    free(b->place), free(b->order), free(b->first);
    guard_free(b->w), guard_free(b->x), guard_free(b->dy), guard_free(b->y), guard_free(b->dw);
    guard_free(b->scratch);
}

static const float *x_of(const Bench *b, int64_t slot) {
    const Size *z = &b->size;
    return b->x.at + slot / z->slots * b->ldx + (z->own ? slot % z->slots * z->columns : 0);
}

static int64_t y_of(const Bench *b, int64_t slot) {
    return slot / b->size.slots * b->ldy + slot % b->size.slots * b->size.rows;
}

static void lists_are_sorted(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Bench b = bench_of(&sizes[i], i);
        int64_t slots = b.size.tokens * b.size.slots, E = b.size.experts;
        assert_int_equal(b.first[0], 0);
        for (int64_t e = 0; e <= E; e++) {
            int64_t end = e < E ? b.first[e + 1] : slots;
            for (int64_t n = b.first[e]; n < end; n++) {
                assert_int_equal(b.place[b.order[n]], e < E ? e : -1);
                assert_true(n == b.first[e] || b.order[n - 1] < b.order[n]);
            }
        }
        bench_free(&b);
    }
}

static ExpertProduct forward(const Bench *b) {
    const Size *z = &b->size;
    return (ExpertProduct){ b->experts,
                            { b->x.at, b->ldx, z->own ? z->columns : 0 },
                            { b->w.at, 0, 0 },
                            z->rows,
                            z->columns,
                            0,
                            b->y.at,
                            b->ldy,
                            NULL,
                            0 };
}

static void check_forward(const Bench *b) {
    const Size *z = &b->size;
    for (int64_t slot = 0; slot < z->tokens * z->slots; slot++)
        for (int64_t m = 0; m < z->rows; m++) {
            double want = 0, size = 0;
            int64_t e = b->place[slot];
            for (int64_t k = 0; e >= 0 && k < z->columns; k++) {
                double term = (double)b->w.at[(e * z->rows + m) * z->columns + k]
                    * x_of(b, slot)[k];
                want += term, size += fabs(term);
            }
            float got = b->y.at[y_of(b, slot) + m];
            if (!(fabs(got - want) <= 1e-6 * size))
                fail_msg("slot %d, row %d: %g, expected %g", (int)slot, (int)m, (double)got, want);
        }
}

static void products_are_right(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Bench b = bench_of(&sizes[i], 10 + i);
        ExpertProduct p = forward(&b);
        for (int64_t task = k_expert_tasks(&b.experts, p.columns); task-- > 0;)
            k_expert_product(&p, task, b.scratch.at);
        check_forward(&b);
        for (int64_t n = 0; n < b.size.tokens * b.ldy; n++)
            b.y.at[n] = NAN;
        for (int64_t task = k_expert_tasks(&b.experts, p.columns); task-- > 0;)
            k_expert_few(&p, task, b.scratch.at);
        check_forward(&b);
        bench_free(&b);
    }
}

/* The bits of a slot are those of its row alone, in a product that is not by experts. */
static void a_slot_has_the_bits_of_its_row(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Bench b = bench_of(&sizes[i], 20 + i);
        const Size *z = &b.size;
        ExpertProduct p = forward(&b);
        float *row = malloc((size_t)z->rows * sizeof *row);
        Guarded scratch = guard_bytes((k_gemm_scratch() + 63) / 64 * 64, AFTER);
        for (int64_t task = 0; task < k_expert_tasks(&b.experts, p.columns); task++)
            k_expert_product(&p, task, b.scratch.at);
        for (int64_t slot = 0; slot < z->tokens * z->slots; slot += 7) {
            if (b.place[slot] < 0) continue;
            k_linear(1, z->rows, z->columns, x_of(&b, slot), z->columns,
                     b.w.at + b.place[slot] * z->rows * z->columns, z->columns, row, z->rows, 0,
                     scratch.at);
            assert_memory_equal(row, b.y.at + y_of(&b, slot), (size_t)z->rows * sizeof *row);
        }
        guard_free(scratch);
        free(row);
        bench_free(&b);
    }
}

static void check_weights(const Bench *b, const float *before, int add) {
    const Size *z = &b->size;
    for (int64_t e = 0; e < z->experts; e++)
        for (int64_t m = 0; m < z->rows; m++)
            for (int64_t k = 0; k < z->columns; k += 1 + z->columns / 9) {
                int64_t at = (e * z->rows + m) * z->columns + k;
                double want = add ? before[at] : 0, size = fabs(want);
                for (int64_t s = 0; s < z->tokens * z->slots; s++) {
                    if (b->place[s] != e) continue;
                    double term = (double)b->dy.at[y_of(b, s) + m] * x_of(b, s)[k];
                    want += term, size += fabs(term);
                }
                if (!(fabs(b->dw.at[at] - want) <= 1e-6 * size))
                    fail_msg("expert %d, [%d,%d]: %g, expected %g", (int)e, (int)m, (int)k,
                             (double)b->dw.at[at], want);
            }
}

static void weight_gradients_are_right(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes * 2; i++) {
        Bench b = bench_of(&sizes[i / 2], 30 + i);
        const Size *z = &b.size;
        size_t bytes = (size_t)(z->experts * z->rows * z->columns) * sizeof(float);
        float *before = malloc(bytes);
        memcpy(before, b.dw.at, bytes);
        ExpertOuter p = { b.experts,
                          { b.dy.at, b.ldy, z->rows },
                          { b.x.at, b.ldx, z->own ? z->columns : 0 },
                          b.dw.at,
                          z->rows,
                          z->columns,
                          i % 2 };
        for (int64_t task = k_expert_weight_tasks(&p); task-- > 0;)
            k_expert_weight(&p, task, b.scratch.at);
        check_weights(&b, before, i % 2);
        free(before);
        bench_free(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_are_marked),
        cmocka_unit_test(places_are_the_first_of_a_mask),
        cmocka_unit_test(lists_are_sorted),
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(a_slot_has_the_bits_of_its_row),
        cmocka_unit_test(weight_gradients_are_right),
    };
    if (!host_runs_kernels()) return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
