/* SPDX-License-Identifier: MIT
** Actions of token phases, for the rows of one task. */
#include "actions.h"
#include "guard.h"
#include "philox.h"
#include "small_product.h"

void k_row_action(const TaskWork *w, const Action *s) {
    if (k_constants.check) {
        k_check_row(w->f, s, w->worker, w->first, w->count);
        return;
    }
    float *few[FEW_REFS], **p = few, *scratch = frame_scratch(w->f, w->worker);
    if (__builtin_expect(s->refs > FEW_REFS, 0)) {
        p = (float **)scratch;
        scratch += pointer_floats(false, s->refs);
    }
    k_resolve_all(w->f, s, w->worker, w->first, p);
    k_row(p, w->first, w->count, scratch, s->row.kernel);
}

static const int32_t *ids_of(const TaskWork *w, const Action *s, int i) {
    return (const int32_t *)k_resolve(w->f, &k_refs[s->ref + i], w->worker, w->first) + w->first;
}

static void embed_action(const TaskWork *w, const Action *s) {
    const float *table = k_resolve(w->f, &k_refs[s->ref + REF(EMBED, w)], w->worker, w->first);
    int64_t columns = s->embed.columns;
    if (s->embed.small) {
        SmallWeights m = { (const uint8_t *)table, 0, columns, s->embed.small };
        k_embed_small(w->count, &m, ids_of(w, s, REF(EMBED, ids)), work_row(w, s, REF(EMBED, y)),
                      stride_of(s, REF(EMBED, y)));
    } else if (k_constants.bf16 && s->embed.bf16)
        k_embed_bf16(w->count, columns, (const uint16_t *)table, columns,
                     ids_of(w, s, REF(EMBED, ids)), work_row(w, s, REF(EMBED, y)),
                     stride_of(s, REF(EMBED, y)));
    else
        k_embed(w->count, columns, table, columns, ids_of(w, s, REF(EMBED, ids)),
                work_row(w, s, REF(EMBED, y)), stride_of(s, REF(EMBED, y)));
}

static void gather_action(const TaskWork *w, const Action *s) {
    const float *x = k_resolve(w->f, &k_refs[s->ref + REF(GATHER, x)], w->worker, w->first);
    k_embed(w->count, s->rows.columns, x, stride_of(s, REF(GATHER, x)),
            w->f->list[s->list].token + w->first, work_row(w, s, REF(GATHER, y)),
            stride_of(s, REF(GATHER, y)));
}

static void scatter_action(const TaskWork *w, const Action *s) {
    const float *x = k_resolve(w->f, &k_refs[s->ref + REF(SCATTER_ROWS, x)], w->worker, w->first);
    k_scatter_rows(w->count, s->rows.columns, x, stride_of(s, REF(SCATTER_ROWS, x)),
                   w->f->list[s->list].place + w->first, work_row(w, s, REF(SCATTER_ROWS, y)),
                   stride_of(s, REF(SCATTER_ROWS, y)));
}

/* Choices among each token's own numbers, and what goes with the places. */
static void largest_action(const TaskWork *w, const Action *s) {
    const LargestAction *a = &s->largest;
    float *y = work_row(w, s, REF(PICK, y)), *x = work_row(w, s, REF(PICK, x)),
          *z = s->refs > 2 ? work_row(w, s, REF(PICK, places)) : 0;
    for (int64_t t = 0; t < w->count;
         t++, y += stride_of(s, REF(PICK, y)), x += stride_of(s, REF(PICK, x))) {
        const int32_t *place = z ? (const int32_t *)(z + t * stride_of(s, REF(PICK, places))) : 0;
        switch (s->what) {
        case DO_LARGEST: k_largest(a->rows, a->columns, a->count, x, y); break;
        case DO_CHOSEN: k_chosen(a->columns, a->count, x, (int32_t *)y); break;
        case DO_PICK: k_pick(a->count, x, place, y); break;
        default: k_place(a->columns, a->count, x, place, y);
        }
    }
}

static void random_action(const TaskWork *w, const Action *s) {
    float *y = work_row(w, s, REF(RANDOM, y));
    int64_t from = w->f->draw_from + w->first;
    for (int64_t t = 0; t < w->count; t++, y += stride_of(s, REF(RANDOM, y)))
        for (int64_t i = 0; i < s->random.count; i++)
            y[i] = w->f->draw ? philox_uniform(w->f->draw, (uint32_t)s->random.stream,
                                               (uint64_t)(from + t), (uint32_t)i)
                              : 0.5f;
}

void k_token_action(const TaskWork *w, const Action *s) {
    if (k_constants.check && k_check_found(w->f)) return;
    frame_profile(w->f, s, 1, w->worker);
    switch (s->what) {
    case DO_ROW: k_row_action(w, s); break;
    case DO_LINEAR:
    case DO_LINEAR_BACK: k_product_action(w, s); break;
    case DO_LINEAR_EACH: k_each_action(w, s); break;
    case DO_EMBED: embed_action(w, s); break;
    case DO_RANDOM: random_action(w, s); break;
    case DO_LARGEST:
    case DO_CHOSEN:
    case DO_PICK:
    case DO_PLACE: largest_action(w, s); break;
    case DO_GATHER: gather_action(w, s); break;
    case DO_SCATTER_ROWS: scatter_action(w, s); break;
    case DO_CROSS_ENTROPY:
        k_cross_entropy(
            w->count, s->loss.vocab, work_row(w, s, REF(CROSS_ENTROPY, logits)),
            stride_of(s, REF(CROSS_ENTROPY, logits)), ids_of(w, s, REF(CROSS_ENTROPY, ids)),
            work_row(w, s, REF(CROSS_ENTROPY, nll)), stride_of(s, REF(CROSS_ENTROPY, nll)),
            work_row(w, s, REF(CROSS_ENTROPY, lse)), stride_of(s, REF(CROSS_ENTROPY, lse)));
        break;
    case DO_CROSS_ENTROPY_GRAD:
        k_cross_entropy_grad(
            w->count, s->loss.vocab, work_row(w, s, REF(CROSS_ENTROPY_GRAD, logits)),
            stride_of(s, REF(CROSS_ENTROPY_GRAD, logits)),
            work_row(w, s, REF(CROSS_ENTROPY_GRAD, lse)),
            stride_of(s, REF(CROSS_ENTROPY_GRAD, lse)), ids_of(w, s, REF(CROSS_ENTROPY_GRAD, ids)),
            work_row(w, s, REF(CROSS_ENTROPY_GRAD, dy)), stride_of(s, REF(CROSS_ENTROPY_GRAD, dy)),
            work_row(w, s, REF(CROSS_ENTROPY_GRAD, dlogits)),
            stride_of(s, REF(CROSS_ENTROPY_GRAD, dlogits)));
        break;
    default: __builtin_trap();
    }
    frame_profile(w->f, s, 0, w->worker);
    if (!k_constants.check) return;
    k_check_step(w->f, s, w->worker);
    k_check_free(w->f, s, w->worker);
}
