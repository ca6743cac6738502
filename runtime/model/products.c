/* SPDX-License-Identifier: MIT
** Products: by row, with weights as they are or packed before, and the packing. */
#include "actions.h"
#include "packed.h"
#include "small_product.h"

static bool takes_repacked(const Frame *f, const ProductAction *a) {
    return f->repacked && a->repacked >= 0;
}

/* Whether each task packs what it needs: of bfloat16s, which are turned around faster than they
** come from memory, where a worker has one task and would not read them twice. */
static bool packs_itself(const Frame *f, const Action *s) {
    if (!s->product.bf16) return false;
    return frame_rows(f, s->list) <= (int64_t)f->ctx->setup.workers * k_constants.chunk;
}

/* Of plain rows of floats; few of them are read at memory speed, which OpenBLAS does not do. */
static bool is_blas(const Frame *f, const ProductAction *a) {
    return a->blas && !f->few && frame_blas(f, a->blas);
}

/* Where a product's weights were packed; NULL: they were not. */
static const float *packed_of(const Frame *f, const Action *s) {
    const ProductAction *a = &s->product;
    if (is_blas(f, a)) return 0;
    if (takes_repacked(f, a)) return f->repacked + a->repacked;
    if (!f->packed || f->few || a->packed < 0 || packs_itself(f, s)) return 0;
    return f->packed + a->packed;
}

/* A product's weights that lie at w, in rows of ld floats. */
static Weights products_weights_of(const ProductAction *a, const float *w, int64_t ld) {
    return a->bf16 ? (Weights){ 0, (const uint16_t *)w, ld } : (Weights){ w, 0, ld };
}

static int64_t weights_row(const ProductAction *a, int back) {
    return back ? a->columns : a->steps;
}

/* A product of --precision bf16: x is bfloat16. */
static void product_bf16(const TaskWork *w, const Action *s, int back) {
    const ProductAction *a = &s->product;
    const uint16_t *x = (const uint16_t *)work_row(w, s, REF(LINEAR, x));
    const float *packed = packed_of(w->f, s);
    float *scratch = frame_scratch(w->f, w->worker), *few = frame_scratch(w->f, w->runs),
          *at = work_row(w, s, REF(LINEAR, y));
    Weights m = products_weights_of(
        a, k_resolve(w->f, &k_refs[s->ref + REF(LINEAR, w)], w->worker, w->first),
        weights_row(a, back));
    int64_t ldx = 2 * stride_of(s, REF(LINEAR, x)), ldy = stride_of(s, REF(LINEAR, y)),
            m1 = w->m1 < 0 ? a->columns : w->m1;
    Result y = { at, 0, ldy, a->add };
    if (a->narrow) y = (Result){ 0, (uint16_t *)at, 2 * ldy, 0 };
    if (packed) k_multiply_bf16(w->count, a->columns, a->steps, x, ldx, packed, y, scratch);
    else if (w->f->few && !back && m.bf16)
        k_linear_few_bf16_weights(w->count, w->m0, m1, a->steps, x, ldx, m.bf16, m.ld, y, few);
    else if (w->f->few && !back)
        k_linear_few_bf16(w->count, w->m0, m1, a->steps, x, ldx, m.floats, m.ld, y, few);
    else k_linear_bf16(w->count, a->columns, a->steps, x, ldx, m, back, y, scratch);
}

/* x w^T, or dy w if 'back'. */
static void product_f32(const TaskWork *w, const Action *s, int back) {
    const ProductAction *a = &s->product;
    float *y = work_row(w, s, REF(LINEAR, y)), *x = work_row(w, s, REF(LINEAR, x)),
          *scratch = frame_scratch(w->f, w->worker);
    const float *packed = packed_of(w->f, s);
    const float *m = k_resolve(w->f, &k_refs[s->ref + REF(LINEAR, w)], w->worker, w->first);
    int64_t columns = a->columns, steps = a->steps, ldx = stride_of(s, REF(LINEAR, x)),
            ldy = stride_of(s, REF(LINEAR, y));
    int64_t m1 = w->m1 < 0 ? columns : w->m1;
    if (is_blas(w->f, a))
        k_sgemm(&(BlasProduct){ w->count, columns, steps, x, ldx, m, weights_row(a, back), y, ldy,
                                (back ? 0 : RIGHT_TRANSPOSED) | (a->add ? ADDED : 0) });
    else if (packed) k_multiply(w->count, columns, steps, x, ldx, packed, y, ldy, a->add);
    else if (w->f->few && !back)
        k_linear_few(w->count, w->m0, m1, steps, x, ldx, m, steps, y, ldy, a->add,
                     frame_scratch(w->f, w->runs));
    else if (back)
        k_linear_back(w->count, steps, columns, x, ldx, m, columns, y, ldy, a->add, scratch);
    else k_linear(w->count, columns, steps, x, ldx, m, steps, y, ldy, a->add, scratch);
}

static void product_small(const TaskWork *w, const Action *s) {
    const ProductAction *a = &s->product;
    float *at = work_row(w, s, REF(LINEAR, y)), *x = work_row(w, s, REF(LINEAR, x));
    int64_t ldx = stride_of(s, REF(LINEAR, x)), ldy = stride_of(s, REF(LINEAR, y)),
            m1 = w->m1 < 0 ? a->columns : w->m1;
    SmallRows rows = { x, 0, ldx };
    if (k_constants.bf16) rows = (SmallRows){ 0, (const uint16_t *)x, 2 * ldx };
    Result y = { at, 0, ldy, a->add };
    if (a->narrow) y = (Result){ 0, (uint16_t *)at, 2 * ldy, 0 };
    SmallWeights m = { (const uint8_t *)k_resolve(w->f, &k_refs[s->ref + REF(LINEAR, w)], w->worker,
                                                  w->first),
                       a->columns, a->steps, a->small };
    k_linear_small(w->count, w->m0, m1, rows, &m, y, frame_scratch(w->f, w->runs));
}

void k_run_product(const TaskWork *w, const Action *s) {
    int back = s->what == DO_LINEAR_BACK;
    if (s->product.small) product_small(w, s);
    else if (k_constants.bf16) product_bf16(w, s, back);
    else product_f32(w, s, back);
}

/* Of parts w->m0 ... w->m1 - 1. */
void k_run_each(const TaskWork *w, const Action *s) {
    const EachAction *a = &s->each;
    float *scratch = frame_scratch(w->f, w->worker);
    const float *m = k_resolve(w->f, &k_refs[s->ref + REF(LINEAR_EACH, w)], w->worker, w->first);
    int64_t ldx = stride_of(s, REF(LINEAR_EACH, x)), ldy = stride_of(s, REF(LINEAR_EACH, y)),
            n = w->count, steps = a->steps, in = a->back ? a->count : steps,
            out = a->back ? steps : a->count;
    for (int64_t g = w->m0; g < (w->m1 < 0 ? a->parts : w->m1); g++) {
        const float *x = work_row(w, s, REF(LINEAR_EACH, x)) + g * in,
                    *rows = m + (g * a->rows + a->first) * steps;
        float *y = work_row(w, s, REF(LINEAR_EACH, y)) + g * out;
        if (a->back && w->f->few)
            k_linear_back_few(n, a->count, steps, x, ldx, rows, steps, y, ldy);
        else if (a->back)
            k_linear_back(n, a->count, steps, x, ldx, rows, steps, y, ldy, 0, scratch);
        else if (w->f->few)
            k_linear_few(n, 0, a->count, steps, x, ldx, rows, steps, y, ldy, 0,
                         frame_scratch(w->f, w->runs));
        else k_linear(n, a->count, steps, x, ldx, rows, steps, y, ldy, 0, scratch);
    }
}

/* == Packing ============================================================== */

int64_t k_pack_tasks(const Frame *f, const Action *s) {
    const ProductAction *a = &s->product;
    if (s->what != DO_LINEAR && s->what != DO_LINEAR_BACK) return 0;
    return packed_of(f, s) && !takes_repacked(f, a) ? blocks(a->columns, BLOCK) : 0;
}

void k_pack_task(const Frame *f, const Action *s, int64_t task, int32_t worker) {
    const ProductAction *a = &s->product;
    int back = s->what == DO_LINEAR_BACK;
    int64_t ld = weights_row(a, back);
    const float *w = k_resolve(f, &k_refs[s->ref + REF(LINEAR, w)], worker, 0);
    float *packed = f->packed + a->packed;
    if (k_constants.bf16)
        k_pack_bf16(a->columns, a->steps, products_weights_of(a, w, ld), back, task, packed,
                    frame_scratch(f, worker));
    else k_pack(a->columns, a->steps, w, ld, back, task, packed);
}
