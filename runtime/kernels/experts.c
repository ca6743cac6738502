/* SPDX-License-Identifier: MIT
** Products by experts (kernels.h, Experts): the slots of each expert are brought together, some
** rows at a time, multiplied by its matrix as any other product, and their results put where they
** belong. Tasks are (expert, some of its slots, block of columns), of weight gradients (expert,
** block of rows, block of columns): small experts do not wait for each other. The slots that chose
** nothing are the last list; their results are zeros.
*/
#include "kernels.h"
#include "packed.h"
#include "small_product.h"
#include "vector.h"

/* Slots of a task, and those that are brought together at once; rows and columns of a task of a
** weight gradient. */
enum { SLOTS_MOST = 516, GATHERED = 48, SIDE = BLOCK };
/* Floats of what is brought together, and of results that go where they belong. */
enum { SQUARE = BLOCK * STEPS_MAX };
_Static_assert(GATHERED *STEPS_MAX <= SQUARE && GATHERED * BLOCK <= SQUARE && SIDE <= BLOCK,
               "there is room");

static int64_t inner_bytes(void) {
    int64_t floats = k_gemm_scratch(), bf16 = k_gemm_bf16_scratch();
    return ((floats > bf16 ? floats : bf16) + 63) & ~(int64_t)63;
}

static int64_t packed_room(void) {
    return packed_floats(BLOCK, STEPS_MAX, 2 * LANES, FLOATS_PACKED);
}

int64_t k_expert_scratch(void) {
    return inner_bytes() + (packed_room() + 2 * SQUARE) * (int64_t)sizeof(float);
}

/* A worker's scratch: for the products themselves, a block of weights, rows, results. */
typedef struct Room {
    float *inner, *packed, *rows, *results;
} Room;

static Room experts_room_of(float *scratch) {
    float *packed = scratch + inner_bytes() / (int64_t)sizeof(float);
    float *rows = packed + packed_room();
    return (Room){ scratch, packed, rows, rows + SQUARE };
}

/* == Lists ================================================================ */

void k_expert_lists(int64_t tokens, int64_t slots, const int32_t *place, int64_t ld,
                    int64_t experts, int32_t *order, int32_t *first) {
    for (int64_t e = 0; e <= experts; e++)
        first[e] = 0;
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t i = 0; i < slots; i++) {
            int32_t e = place[t * ld + i];
            first[e < 0 ? experts : e]++;
        }
    int32_t at = 0;
    for (int64_t e = 0; e <= experts; e++) {
        int32_t count = first[e];
        first[e] = at;
        at += count;
    }
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t i = 0; i < slots; i++) {
            int32_t e = place[t * ld + i];
            order[first[e < 0 ? experts : e]++] = (int32_t)(t * slots + i);
        }
    for (int64_t e = experts; e > 0; e--)
        first[e] = first[e - 1];
    first[0] = 0;
}

/* Where the list behind e ends: that of nothing takes the rest. */
static int64_t experts_end_of(const Experts *x, int64_t e) {
    return e < x->experts ? x->first[e + 1] : x->tokens * x->slots;
}

/* A slot's row of an operand, in its floats or bfloat16s. */
INLINE int64_t row_at(const Experts *x, SlotRows r, int64_t slot) {
    return slot / x->slots * r.ld + slot % x->slots * r.each;
}

INLINE void copy_floats(int64_t n, const float *from, float *to) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        v_store(to + i, v_load(from + i));
    if (i < n) v_store_part(to + i, v_load_part(from + i, n - i), n - i);
}

/* Numbers [c0, c0 + width) of the rows of 'count' slots, side by side, ld apart. */
static void gather_slots(const Experts *x, SlotRows r, const int32_t *slot, int64_t count,
                         int64_t c0, int64_t width, float *to, int64_t ld) {
    for (int64_t i = 0; i < count; i++) {
        int64_t at = row_at(x, r, slot[i]) + c0;
        if (x->bf16)
            __builtin_memcpy((uint16_t *)to + i * ld, (const uint16_t *)r.at + at,
                             (size_t)width * sizeof(uint16_t));
        else copy_floats(width, (const float *)r.at + at, to + i * ld);
    }
}

/* == Tasks ================================================================

** Experts with long lists come first, so that no worker begins a long task when the others are
** done: by eighths of what twice the mean list has. Whole tiles of rows are a task's but the last.
*/
enum { LENGTHS = 8, TILE_ROWS = 12 };

/* Whether the list of e is of length 'c' of LENGTHS. */
INLINE int has_length(const Experts *x, int64_t e, int64_t c, int64_t unit) {
    int64_t n = experts_end_of(x, e) - x->first[e];
    return n >= c * unit && (c == LENGTHS - 1 || n < (c + 1) * unit);
}

INLINE int64_t length_unit(const Experts *x) {
    int64_t unit = 2 * x->tokens * x->slots / (x->experts * LENGTHS);
    return unit > 0 ? unit : 1;
}

/* == Results by slot ====================================================== */

/* The slots of a task: of a list, a part of it. */
typedef struct ExpertPart {
    int64_t expert, first, count;
} ExpertPart;

static int64_t parts_in(const Experts *x, int64_t e) {
    return (experts_end_of(x, e) - x->first[e] + SLOTS_MOST - 1) / SLOTS_MOST;
}

static int64_t experts_parts_of(const Experts *x) {
    int64_t n = 0;
    for (int64_t e = 0; e <= x->experts; e++)
        n += parts_in(x, e);
    return n;
}

/* Part i of those that the list of e has. */
static ExpertPart experts_part_of(const Experts *x, int64_t e, int64_t i) {
    int64_t all = experts_end_of(x, e) - x->first[e], parts = parts_in(x, e),
            size = ((all + parts - 1) / parts + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    int64_t left = all - i * size;
    return (ExpertPart){ e, x->first[e] + i * size, left < size ? left : size };
}

static ExpertPart part_at(const Experts *x, int64_t number) {
    int64_t unit = length_unit(x), n;
    for (int64_t c = LENGTHS; c-- > 0;)
        for (int64_t e = 0; e < x->experts; e++) {
            if (!has_length(x, e, c, unit)) continue;
            if (number < (n = parts_in(x, e))) return experts_part_of(x, e, number);
            number -= n;
        }
    return experts_part_of(x, x->experts, number);
}

int64_t k_expert_tasks(const Experts *x, int64_t columns) {
    return experts_parts_of(x) * ((columns + BLOCK - 1) / BLOCK);
}

static float *result_of(const ExpertProduct *p, int64_t slot, int64_t column) {
    const Experts *x = &p->experts;
    return p->y + slot / x->slots * p->ldy + slot % x->slots * p->columns + column;
}

/* c[count][columns], ld apart, to the slots' results, added to them or not. */
static void put_results(const ExpertProduct *p, const int32_t *slot, int64_t count, int64_t j,
                        int64_t columns, const float *c, int64_t ld, int add) {
    for (int64_t i = 0; i < count; i++, c += ld) {
        float *y = result_of(p, slot[i], j);
        int64_t n = 0;
        for (; n + LANES <= columns; n += LANES)
            v_store(y + n, add ? v_load(y + n) + v_load(c + n) : v_load(c + n));
        int64_t left = columns - n;
        if (left && add) v_store_part(y + n, v_load_part(y + n, left) + v_load(c + n), left);
        else if (left) v_store_part(y + n, v_load(c + n), left);
    }
}

static void put_zeros(const ExpertProduct *p, ExpertPart part, int64_t j, int64_t columns) {
    for (int64_t i = 0; i < part.count; i++)
        k_zero(columns, result_of(p, p->experts.order[part.first + i], j));
}

/* Lines of memory of 'width' numbers that lie at p. */
INLINE void ask_for(const char *p, int64_t bytes, int write) {
    for (int64_t i = 0; i < bytes; i += 64)
        if (write) __builtin_prefetch(p + i, 1, 2);
        else __builtin_prefetch(p + i, 0, 2);
}

/* Asks for the results' places and for the rows that the slots after these have. */
static void ask_for_rows(const ExpertProduct *p, const int32_t *slot, int64_t count, int64_t next,
                         int64_t j, int64_t columns, int64_t s, int64_t steps) {
    const Experts *x = &p->experts;
    int64_t size = x->bf16 ? sizeof(uint16_t) : sizeof(float);
    for (int64_t i = 0; i < count; i++) {
        ask_for((const char *)result_of(p, slot[i], j), columns * (int64_t)sizeof(float), 1);
        if (i < next)
            ask_for((const char *)p->x.at + (row_at(x, p->x, slot[count + i]) + s) * size,
                    steps * size, 0);
    }
}

/* Steps [s, s + steps) of the slots' products with the packed block: brought together. */
static void multiply_slots_bf16(const ExpertProduct *p, ExpertPart part, int64_t j, int64_t columns,
                                int64_t s, int64_t steps, Room room) {
    const Experts *x = &p->experts;
    for (int64_t i = 0; i < part.count; i += GATHERED) {
        const int32_t *slot = x->order + part.first + i;
        int64_t count = part.count - i < GATHERED ? part.count - i : GATHERED;
        int64_t left = part.count - i - count, next = left < count ? left : count;
        gather_slots(x, p->x, slot, count, s, steps, room.rows, STEPS_MAX);
        ask_for_rows(p, slot, count, next, j, columns, s, steps);
        k_multiply_bf16(count, columns, steps, (const uint16_t *)room.rows, STEPS_MAX, room.packed,
                        (Result){ room.results, 0, BLOCK, 0 }, room.inner);
        put_results(p, slot, count, j, columns, room.results, BLOCK, s > 0);
    }
}

/* Where numbers from c0 on of the slots' rows lie; of those after the last too, which are asked
** for: there it is that of the last. */
static void rows_at(const Experts *x, SlotRows r, const int32_t *slot, int64_t count, int64_t c0,
                    const float **row) {
    for (int64_t i = 0; i < count; i++)
        row[i] = (const float *)r.at + row_at(x, r, slot[i]) + c0;
    for (int64_t i = 0; i < ROWS_AHEAD; i++)
        row[count + i] = row[count - 1];
}

/* The same of float32, as the rows lie. */
static void multiply_slots(const ExpertProduct *p, ExpertPart part, int64_t j, int64_t columns,
                           int64_t s, int64_t steps, Room room) {
    const Experts *x = &p->experts;
    const int32_t *slot = x->order + part.first;
    const float *row[SLOTS_MOST + ROWS_AHEAD];
    float *result[SLOTS_MOST];
    if (x->bf16) {
        multiply_slots_bf16(p, part, j, columns, s, steps, room);
        return;
    }
    rows_at(x, p->x, slot, part.count, s, row);
    for (int64_t i = 0; i < part.count; i++)
        result[i] = result_of(p, slot[i], j);
    k_multiply_at(part.count, columns, steps, row, room.packed, result, s > 0);
}

/* Number 'from' of all experts' weights, and on. */
static Weights weights_from(const ExpertProduct *p, int64_t from, int64_t ld) {
    return (Weights){ p->w.floats ? p->w.floats + from : 0, p->w.bf16 ? p->w.bf16 + from : 0, ld };
}

void k_expert_product(const ExpertProduct *p, int64_t task, float *scratch) {
    const Experts *x = &p->experts;
    int64_t parts = experts_parts_of(x), j = task / parts * BLOCK, left = p->columns - j;
    int64_t columns = left < BLOCK ? left : BLOCK, ld = p->back ? p->columns : p->steps;
    ExpertPart part = part_at(x, task % parts);
    if (part.expert == x->experts) {
        put_zeros(p, part, j, columns);
        return;
    }
    Room room = experts_room_of(scratch);
    int64_t chunk = block_steps(p->steps);
    if (x->bf16) chunk = (chunk + 31) / 32 * 32;              /* whole tiles, */
    else if (STRATA_TILES) chunk = (chunk + 127) / 128 * 128; /* or what is added at once */
    int64_t w = part.expert * p->columns * p->steps + (p->back ? j : j * ld);
    for (int64_t s = 0; s < p->steps; s += chunk) {
        int64_t steps = p->steps - s < chunk ? p->steps - s : chunk;
        int64_t from = w + (p->back ? s * ld : s);
        if (x->bf16)
            k_pack_bf16(columns, steps, weights_from(p, from, ld), p->back, 0, room.packed,
                        room.inner);
        else k_pack(columns, steps, p->w.floats + from, ld, p->back, 0, room.packed);
        multiply_slots(p, part, j, columns, s, steps, room);
    }
}

/* Their scratch is behind that of the other products. */
static void few_slots_small(const ExpertProduct *p, int64_t expert, const float *rows,
                            int64_t count, int64_t j, int64_t columns, Room room) {
    SmallWeights w = { p->small + expert * small_bytes(p->columns, p->steps, p->bits)
                           + j / PANEL_COLUMNS * small_panel(p->steps, p->bits),
                       columns, p->steps, p->bits };
    SmallRows x = { rows, 0, p->steps };
    if (p->experts.bf16) x = (SmallRows){ 0, (const uint16_t *)rows, p->steps };
    k_linear_small(count, 0, columns, x, &w, (Result){ room.results, 0, BLOCK, 0 },
                   room.inner + k_expert_scratch() / (int64_t)sizeof(float));
}

/* Nothing is packed: each weight is read once for some slots. */
static void few_slots(const ExpertProduct *p, ExpertPart part, int64_t j, int64_t columns,
                      Weights w, Room room) {
    const Experts *x = &p->experts;
    const int32_t *slot = x->order + part.first;
    int64_t count = part.count;
    float *rows = room.rows;
    int64_t ld = p->steps, at = row_at(x, p->x, slot[0]);
    if (count == 1) rows = x->bf16 ? (float *)((uint16_t *)p->x.at + at) : (float *)p->x.at + at;
    else gather_slots(x, p->x, slot, count, 0, p->steps, rows, ld);
    Result results = { room.results, 0, BLOCK, 0 };
    if (p->small) few_slots_small(p, part.expert, rows, count, j, columns, room);
    else if (w.bf16)
        k_linear_few_bf16_weights(count, 0, columns, p->steps, (const uint16_t *)rows, ld, w.bf16,
                                  w.ld, results, NULL);
    else if (x->bf16)
        k_linear_few_bf16(count, 0, columns, p->steps, (const uint16_t *)rows, ld, w.floats, w.ld,
                          results, NULL);
    else
        k_linear_few(count, 0, columns, p->steps, rows, ld, w.floats, w.ld, room.results, BLOCK, 0,
                     NULL);
    put_results(p, slot, count, j, columns, room.results, BLOCK, 0);
}

void k_expert_few(const ExpertProduct *p, int64_t task, float *scratch) {
    enum { TOGETHER = 8 };
    const Experts *x = &p->experts;
    int64_t parts = experts_parts_of(x), j = task / parts * BLOCK, left = p->columns - j;
    int64_t columns = left < BLOCK ? left : BLOCK;
    ExpertPart part = part_at(x, task % parts);
    if (part.expert == x->experts) {
        put_zeros(p, part, j, columns);
        return;
    }
    Weights w = weights_from(p, (part.expert * p->columns + j) * p->steps, p->steps);
    int64_t most = p->small ? SQUARE / (p->steps < BLOCK ? BLOCK : p->steps) : TOGETHER;
    int64_t once = most > 0 && p->steps * most <= SQUARE ? most : 1;
    for (int64_t i = 0; i < part.count; i += once) {
        int64_t left = part.count - i;
        few_slots(p, (ExpertPart){ part.expert, part.first + i, left < once ? left : once }, j,
                  columns, w, experts_room_of(scratch));
    }
}

/* == Weight gradients ===================================================== */

int64_t k_expert_weight_tasks(const ExpertOuter *p) {
    return p->experts.experts * ((p->rows + SIDE - 1) / SIDE) * ((p->columns + SIDE - 1) / SIDE);
}

/* The expert of place 'number' in the order of tasks. */
static int64_t expert_at(const Experts *x, int64_t number) {
    int64_t unit = length_unit(x);
    for (int64_t c = LENGTHS; c-- > 0;)
        for (int64_t e = 0; e < x->experts; e++)
            if (has_length(x, e, c, unit) && number-- == 0) return e;
    return 0;
}

/* Rows and columns of a matrix that a task adds to. */
typedef struct MatrixPart {
    int64_t m, rows, k, columns;
} MatrixPart;

static void weight_steps(const ExpertOuter *p, const int32_t *slot, int64_t steps, MatrixPart b,
                         float *dw, int add, Room room) {
    const Experts *x = &p->experts;
    const float *dy_row[STEPS_MAX + ROWS_AHEAD], *x_row[STEPS_MAX + ROWS_AHEAD];
    if (!x->bf16) {
        rows_at(x, p->dy, slot, steps, b.m, dy_row);
        rows_at(x, p->x, slot, steps, b.k, x_row);
        k_linear_weight_at(steps, b.rows, b.columns, dy_row, x_row, dw, p->columns, add,
                           room.inner);
        return;
    }
    gather_slots(x, p->dy, slot, steps, b.m, b.rows, room.rows, SIDE);
    gather_slots(x, p->x, slot, steps, b.k, b.columns, room.results, SIDE);
    k_linear_weight_bf16(steps, 0, b.rows, 0, b.columns, (const uint16_t *)room.rows, SIDE,
                         (const uint16_t *)room.results, SIDE, dw, p->columns, add, room.inner);
}

void k_expert_weight(const ExpertOuter *p, int64_t task, float *scratch) {
    const Experts *x = &p->experts;
    int64_t down = (p->rows + SIDE - 1) / SIDE, across = (p->columns + SIDE - 1) / SIDE;
    int64_t e = expert_at(x, task / (down * across)), m = task / across % down * SIDE,
            k = task % across * SIDE;
    int64_t rows = p->rows - m < SIDE ? p->rows - m : SIDE;
    int64_t columns = p->columns - k < SIDE ? p->columns - k : SIDE, end = experts_end_of(x, e);
    float *dw = p->dw + (e * p->rows + m) * p->columns + k;
    for (int64_t i = 0; !p->add && x->first[e] == end && i < rows; i++)
        k_zero(columns, dw + i * p->columns);
    for (int64_t i = x->first[e]; i < end; i += STEPS_MAX) {
        int64_t steps = end - i < STEPS_MAX ? end - i : STEPS_MAX;
        weight_steps(p, x->order + i, steps, (MatrixPart){ m, rows, k, columns }, dw,
                     p->add || i > x->first[e], experts_room_of(scratch));
    }
}
