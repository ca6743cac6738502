/* SPDX-License-Identifier: MIT
** Actions of experts: lists of slots, and products that go through them. */
#include "actions.h"

/* Operands from 'lists' on are the order and where each list begins. */
static Experts experts_of(const Frame *f, const Action *s, int lists) {
    const Ref *r = &k_refs[s->ref + lists];
    return (Experts){ frame_rows(f, s->list),
                      s->expert.slots,
                      s->expert.experts,
                      (const int32_t *)k_resolve(f, r, 0, 0),
                      (const int32_t *)k_resolve(f, r + 1, 0, 0),
                      k_constants.bf16 };
}

/* Operand i by slot, 'width' numbers each; 'own': a token's slots have rows of their own. */
static SlotRows actions_rows_of(const Frame *f, const Action *s, int i, int64_t width,
                                int32_t own) {
    const Ref *r = &k_refs[s->ref + i];
    return (SlotRows){ k_resolve(f, r, 0, 0), (int64_t)r->stride * (k_constants.bf16 ? 2 : 1),
                       own ? width : 0 };
}

static Weights actions_weights_of(const ExpertAction *a, const float *w) {
    if (a->small) return (Weights){ 0, 0, 0 };
    return a->bf16 ? (Weights){ 0, (const uint16_t *)w, 0 } : (Weights){ w, 0, 0 };
}

static ExpertProduct product_of(const Frame *f, const Action *s) {
    const Ref *r = &k_refs[s->ref];
    const ExpertAction *a = &s->expert;
    int back = s->what == DO_EXPERT_BACK;
    return (ExpertProduct){
        experts_of(f, s, REF(EXPERT_LINEAR, order)),
        actions_rows_of(f, s, REF(EXPERT_LINEAR, x), back ? a->rows : a->columns, a->own[0]),
        actions_weights_of(a, k_resolve(f, &r[REF(EXPERT_LINEAR, w)], 0, 0)),
        back ? a->columns : a->rows,
        back ? a->rows : a->columns,
        back,
        k_resolve(f, r, 0, 0),
        r->stride,
        a->small ? (const uint8_t *)k_resolve(f, &r[REF(EXPERT_LINEAR, w)], 0, 0) : 0,
        a->small
    };
}

/* Nothing was added to the gradient before, nor is anything to stay. */
static ExpertOuter outer_of(const Frame *f, const Action *s) {
    const Ref *r = &k_refs[s->ref];
    const ExpertAction *a = &s->expert;
    bool overwrites = r->area == AREA_CONSTANT || (a->first && !f->accumulate);
    return (ExpertOuter){ experts_of(f, s, REF(EXPERT_WEIGHT, order)),
                          actions_rows_of(f, s, REF(EXPERT_WEIGHT, dy), a->rows, a->own[0]),
                          actions_rows_of(f, s, REF(EXPERT_WEIGHT, x), a->columns, a->own[1]),
                          k_resolve(f, r, 0, 0),
                          a->rows,
                          a->columns,
                          !overwrites };
}

int64_t k_count_expert(const GlobalWork *w, const Action *s) {
    const Frame *f = w->f;
    if (s->what == DO_EXPERT_LISTS) return 1;
    if (s->what == DO_EXPERT_WEIGHT) {
        ExpertOuter o = outer_of(f, s);
        return k_expert_weight_tasks(&o);
    }
    ExpertProduct p = product_of(f, s);
    return k_expert_tasks(&p.experts, p.columns);
}

static void lists_task(const Frame *f, const Action *s) {
    const Ref *r = &k_refs[s->ref];
    k_expert_lists(frame_rows(f, s->list), s->expert.slots,
                   (const int32_t *)k_resolve(f, &r[REF(EXPERT_LISTS, places)], 0, 0),
                   r[REF(EXPERT_LISTS, places)].stride, s->expert.experts,
                   (int32_t *)k_resolve(f, &r[REF(EXPERT_LISTS, order)], 0, 0),
                   (int32_t *)k_resolve(f, &r[REF(EXPERT_LISTS, first)], 0, 0));
}

void k_run_expert(const GlobalWork *w, const Action *s) {
    const Frame *f = w->f;
    int64_t task = w->task;
    float *scratch = frame_scratch(f, w->worker);
    if (s->what == DO_EXPERT_LISTS) lists_task(f, s);
    else if (s->what == DO_EXPERT_WEIGHT) {
        ExpertOuter o = outer_of(f, s);
        k_expert_weight(&o, task, scratch);
    } else {
        ExpertProduct p = product_of(f, s);
        if ((f->few || p.small) && !p.back) k_expert_few(&p, task, scratch);
        else k_expert_product(&p, task, scratch);
    }
}
