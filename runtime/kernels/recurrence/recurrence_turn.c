/* SPDX-License-Identifier: MIT
** Converts rows of heads, each of a few numbers, to arrays with heads side by side, and back
** (recurrence_lanes.h).
*/
#include "recurrence_lanes.h"
#include "transpose.h"

/* LANES heads from 'from' on, 'heads' of which are there, and LANES of their parts. */
static void square_in(int64_t heads, int64_t parts, int64_t left, const float *from, float *to,
                      int64_t room) {
    V r[LANES];
    for (int l = 0; l < LANES; l++)
        r[l] = l < heads ? load_left(from + l * parts, left) : v_zero();
    transpose(r);
    for (int64_t c = 0; c < min64(LANES, left); c++)
        v_store(to + c * room, r[c]);
}

static void square_out(int64_t heads, int64_t parts, int64_t left, const float *from, float *to,
                       int64_t room) {
    V r[LANES];
    for (int64_t c = 0; c < LANES; c++)
        r[c] = c < left ? v_load(from + c * room) : v_zero();
    transpose(r);
    for (int64_t l = 0; l < min64(LANES, heads); l++)
        store_left(to + l * parts, left, r[l]);
}

void k_lanes_in(const LaneBlock *b, int64_t count, int64_t parts, const float *from, int64_t ld,
                float *to) {
    for (int64_t t = 0; t < count; t++, from += ld, to += parts * b->room)
        for (int64_t h = 0; h < b->heads; h += LANES) {
            if (parts == 1) v_store(to + h, load_left(from + h, b->heads - h));
            for (int64_t c = 0; parts > 1 && c < parts; c += LANES)
                square_in(b->heads - h, parts, parts - c, from + h * parts + c,
                          to + c * b->room + h, b->room);
        }
}

void k_lanes_out(const LaneBlock *b, int64_t count, int64_t parts, const float *from, float *to,
                 int64_t ld) {
    for (int64_t t = 0; t < count; t++, to += ld, from += parts * b->room)
        for (int64_t h = 0; h < b->heads; h += LANES) {
            if (parts == 1) store_left(to + h, b->heads - h, v_load(from + h));
            for (int64_t c = 0; parts > 1 && c < parts; c += LANES)
                square_out(b->heads - h, parts, parts - c, from + c * b->room + h,
                           to + h * parts + c, b->room);
        }
}

/* == What heads share ===================================================== */

static int64_t shared_by(const Recurrence *a) { return a->heads / a->groups; }

/* Heads of the block up to the end of a group. */
static int64_t turn_end_of(const LaneBlock *b, int64_t group) {
    return min64(b->heads, (group + 1) * shared_by(b->a) - b->first);
}

/* Whether all of the block's heads share. */
static int is_one_group(const LaneBlock *b) {
    return turn_end_of(b, b->first / shared_by(b->a)) == b->heads;
}

static void spread_one(const LaneBlock *b, int64_t count, const float *from, int64_t ld,
                       float *to) {
    for (int64_t t = 0; t < count; t++, from += ld)
        for (int64_t c = 0; c < b->a->dk; c++, to += b->room) {
            V x = v_splat(from[c]);
            for (int64_t h = 0; h < b->heads; h += LANES)
                v_store(to + h, x);
        }
}

/* Sums of LANES channels at once.  Lanes without a head hold zeros: their values and gradients of
** outputs are. */
static void gather_one(const LaneBlock *b, int64_t count, const float *from, float *to, int64_t ld,
                       int add) {
    int64_t dk = b->a->dk;
    for (int64_t t = 0; t < count; t++, to += ld, from += dk * b->room)
        for (int64_t c = 0; c < dk; c += LANES) {
            V r[LANES];
            for (int l = 0; l < LANES; l++) {
                r[l] = v_zero();
                for (int64_t h = 0; c + l < dk && h < b->heads; h += LANES)
                    r[l] += v_load(from + (c + l) * b->room + h);
            }
            V sum = sums_of(r);
            store_left(to + c, dk - c, add ? load_left(to + c, dk - c) + sum : sum);
        }
}

void k_lanes_spread(const LaneBlock *b, int64_t count, const float *from, int64_t ld, float *to) {
    int64_t dk = b->a->dk, shared = shared_by(b->a);
    from += b->first / shared * dk;
    if (shared == 1) {
        k_lanes_in(b, count, dk, from, ld, to);
        return;
    }
    if (is_one_group(b)) {
        spread_one(b, count, from, ld, to);
        return;
    }
    for (int64_t t = 0; t < count; t++, from += ld)
        for (int64_t c = 0; c < dk; c++, to += b->room) {
            int64_t h = 0, group = b->first / shared;
            for (const float *x = from + c; h < b->heads; x += dk, group++) {
                int64_t end = turn_end_of(b, group);
                for (; h < end && end - h >= LANES; h += LANES)
                    v_store(to + h, v_splat(*x));
                for (; h < end; h++)
                    to[h] = *x;
            }
            for (; h % LANES; h++)
                to[h] = 0;
        }
}

void k_lanes_gather(const LaneBlock *b, int64_t count, const float *from, float *to, int64_t ld,
                    int add) {
    int64_t dk = b->a->dk, shared = shared_by(b->a);
    to += b->first / shared * dk;
    if (shared == 1) {
        k_lanes_out(b, count, dk, from, to, ld);
        return;
    }
    if (is_one_group(b)) {
        gather_one(b, count, from, to, ld, add);
        return;
    }
    for (int64_t t = 0; t < count; t++, to += ld)
        for (int64_t c = 0; c < dk; c++, from += b->room) {
            int64_t h = 0, group = b->first / shared;
            for (float *x = to + c; h < b->heads; x += dk, group++) {
                V sum = v_zero();
                for (int64_t end = turn_end_of(b, group), left = end - h; left > 0; left -= LANES)
                    sum += load_left(from + end - left, left);
                h = turn_end_of(b, group);
                *x = add ? *x + v_sum(sum) : v_sum(sum);
            }
        }
}
