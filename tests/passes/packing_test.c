/* SPDX-License-Identifier: MIT
** Places of values: what the tree of packing.c finds is what a search through all values placed
** before finds, and values that live at the same time lie apart.
*/
#include "test.h"

#include "packing.h"

enum { MOST = 300, ROUNDS = 400 };

typedef struct Case {
    Node node[MOST];
    Buffer buffer[MOST];
    PackItem item[MOST];
    int n;
} Case;

static int64_t below(uint64_t *seed, int64_t n) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*seed >> 33) % (uint64_t)n);
}

/* Lifetimes of a few kinds: short ones, ones around the middle as of what is kept for gradients,
** and any. */
static void draw(Case *c, uint64_t seed) {
    int times = 1 + (int)below(&seed, 200), sizes = 1 + (int)below(&seed, 40);
    *c = (Case){ .n = 1 + (int)below(&seed, MOST) };
    for (int i = 0; i < c->n; i++) {
        int kind = (int)below(&seed, 3), a = (int)below(&seed, times), b = (int)below(&seed, times);
        int from = a < b ? a : b, to = a < b ? b : a;
        if (kind == 0) to = from + (int)below(&seed, 3);
        if (kind == 1) from = a / 2, to = times - from;
        c->node[i].id = i;
        c->buffer[i].node = &c->node[i];
        c->item[i] = (PackItem){ &c->buffer[i], from, to, 16 * (1 + below(&seed, sizes)) };
    }
}

static bool meet(const PackItem *a, const PackItem *b) {
    return a->from <= b->to && b->from <= a->to;
}

/* The lowest offset that no item before it takes: the end of one of them, or 0. */
static int64_t place_simply(const PackItem *item, const int64_t *offset, int i) {
    int64_t best = -1;
    for (int k = -1; k < i; k++) {
        int64_t at = k < 0 ? 0 : offset[k] + item[k].size;
        bool free = k < 0 || meet(&item[k], &item[i]);
        for (int j = 0; free && j < i; j++)
            free = !meet(&item[j], &item[i]) || at + item[i].size <= offset[j]
                || offset[j] + item[j].size <= at;
        if (free && (best < 0 || at < best)) best = at;
    }
    return best;
}

static void places_are_the_lowest(void **state) {
    static Case c;
    int64_t offset[MOST];
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t top = 0;
        draw(&c, (uint64_t)round + 1);
        int64_t found = pack_items(c.item, c.n, true);
        for (int i = 0; i < c.n; i++) {
            offset[i] = place_simply(c.item, offset, i);
            assert_int_equal(c.item[i].b->offset, offset[i]);
            if (offset[i] + c.item[i].size > top) top = offset[i] + c.item[i].size;
            if (i) assert_true(c.item[i].size <= c.item[i - 1].size);
        }
        assert_int_equal(found, top);
    }
}

static void without_reuse_nothing_is_shared(void **state) {
    static Case c;
    (void)state;
    draw(&c, 7);
    int64_t top = pack_items(c.item, c.n, false), sum = 0;
    for (int i = 0; i < c.n; i++) {
        assert_int_equal(c.item[i].b->offset, sum);
        sum += c.item[i].size;
    }
    assert_int_equal(top, sum);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_the_lowest),
        cmocka_unit_test(without_reuse_nothing_is_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
