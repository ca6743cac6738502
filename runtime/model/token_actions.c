/* SPDX-License-Identifier: MIT
** Actions of token phases, for the rows of one task. */
#include "actions.h"
#include "guard.h"
#include "philox.h"
#include "small_product.h"

void k_run_row(const TaskWork *w, const Action *s) {
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

void k_run_embed(const TaskWork *w, const Action *s) {
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

void k_run_gather(const TaskWork *w, const Action *s) {
    const float *x = k_resolve(w->f, &k_refs[s->ref + REF(GATHER, x)], w->worker, w->first);
    k_embed(w->count, s->rows.columns, x, stride_of(s, REF(GATHER, x)),
            w->f->list[s->list].token + w->first, work_row(w, s, REF(GATHER, y)),
            stride_of(s, REF(GATHER, y)));
}

void k_run_scatter_rows(const TaskWork *w, const Action *s) {
    const float *x = k_resolve(w->f, &k_refs[s->ref + REF(SCATTER_ROWS, x)], w->worker, w->first);
    k_scatter_rows(w->count, s->rows.columns, x, stride_of(s, REF(SCATTER_ROWS, x)),
                   w->f->list[s->list].place + w->first, work_row(w, s, REF(SCATTER_ROWS, y)),
                   stride_of(s, REF(SCATTER_ROWS, y)));
}

/* Choices among each token's own numbers, and what goes with the places. */
void k_run_largest(const TaskWork *w, const Action *s) {
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

void k_run_random(const TaskWork *w, const Action *s) {
    float *y = work_row(w, s, REF(RANDOM, y));
    int64_t from = w->f->draw_from + w->first;
    for (int64_t t = 0; t < w->count; t++, y += stride_of(s, REF(RANDOM, y)))
        for (int64_t i = 0; i < s->random.count; i++)
            y[i] = w->f->draw ? philox_uniform(w->f->draw, (uint32_t)s->random.stream,
                                               (uint64_t)(from + t), (uint32_t)i)
                              : 0.5f;
}

void k_run_cross_entropy(const TaskWork *w, const Action *s) {
    k_cross_entropy(w->count, s->loss.vocab, work_row(w, s, REF(CROSS_ENTROPY, logits)),
                    stride_of(s, REF(CROSS_ENTROPY, logits)), ids_of(w, s, REF(CROSS_ENTROPY, ids)),
                    work_row(w, s, REF(CROSS_ENTROPY, nll)), stride_of(s, REF(CROSS_ENTROPY, nll)),
                    work_row(w, s, REF(CROSS_ENTROPY, lse)), stride_of(s, REF(CROSS_ENTROPY, lse)));
}

#define GRAD(name) REF(CROSS_ENTROPY_GRAD, name)
void k_run_cross_entropy_grad(const TaskWork *w, const Action *s) {
    k_cross_entropy_grad(w->count, s->loss.vocab, work_row(w, s, GRAD(logits)),
                         stride_of(s, GRAD(logits)), work_row(w, s, GRAD(lse)),
                         stride_of(s, GRAD(lse)), ids_of(w, s, GRAD(ids)), work_row(w, s, GRAD(dy)),
                         stride_of(s, GRAD(dy)), work_row(w, s, GRAD(dlogits)),
                         stride_of(s, GRAD(dlogits)));
}
#undef GRAD

void k_token_action(const TaskWork *w, const Action *s) {
    if (k_constants.check && k_check_found(w->f)) return;
    frame_profile(w->f, s, 1, w->worker);
    switch (s->what) {
#define TOKEN_CASE(action, run) \
    case DO_##action: k_run_##run(w, s); break;
#define GLOBAL_CASE(action, run)
#define AFTER_CASE(action, run)
#define ACTION(action, member, phase, run, ...) phase##_CASE(action, run)
#define ANCHOR(op, action, member, results, set, phase, run, ...) phase##_CASE(action, run)
#include "anchors.def"
    default: __builtin_trap();
    }
    frame_profile(w->f, s, 0, w->worker);
    if (!k_constants.check) return;
    k_check_step(w->f, s, w->worker);
    k_check_free(w->f, s, w->worker);
}
