/* SPDX-License-Identifier: MIT
** Looks things up in a call's frame: where operands lie, and the workers.
*/
#include "frame.h"

static float *table_at(Context *c, int64_t offset) {
    return context_tables(c) + wave_offset(offset, model()->context, c->length);
}

static inline float *resolve(const Frame *f, const Ref *r, int32_t worker, int64_t first) {
    switch (r->area) {
    case AREA_WEIGHT: return (float *)f->weights + r->offset;
    case AREA_GRADIENT: return f->gradients + r->offset;
    case AREA_TOKEN: return f->token + r->offset * rows_apart(f->padded);
    case AREA_LOCAL:
        return f->local + worker * f->local_floats + r->offset * rows_apart(k_constants.chunk)
            - first * r->stride;
    case AREA_GRANULE: return f->granule + r->offset * (f->padded / k_constants.granule);
    case AREA_CONSTANT: return f->constant + r->offset;
    case AREA_TABLE: return table_at(f->ctx, r->offset);
    case AREA_UNIFORM: return (float *)f->uniform + r->offset;
    case AREA_TOKENS: return (float *)f->tokens;
    case AREA_TARGETS: return (float *)f->targets;
    case AREA_POSITION: return (float *)f->position;
    case AREA_LIST_POSITION: return (float *)f->list[r->offset].position;
    case AREA_LOGITS: return f->logits;
    case AREA_MOMENT: return f->gradients + k_constants.gradients + r->offset;
    default: return (float *)r->offset;
    }
}

float *k_resolve(const Frame *f, const Ref *r, int32_t worker, int64_t first) {
    return resolve(f, r, worker, first);
}

void k_resolve_all(const Frame *f, const Action *s, int32_t worker, int64_t first, float **p) {
    for (int32_t i = 0; i < s->refs; i++)
        p[i] = resolve(f, &k_refs[s->ref + i], worker, first);
}

void k_par_for(Context *c, int64_t tasks, strata_task_fn fn, void *arg) {
    if (c->setup.par_for && c->setup.workers > 1 && tasks > 1) {
        c->setup.par_for(c->setup.pool, tasks, fn, arg);
        return;
    }
    for (int64_t i = 0; i < tasks; i++)
        fn(arg, i, 0);
}
