/* SPDX-License-Identifier: MIT
** Actions over time whose past is of a fixed size: a task has some rows. */
#include "actions.h"
#include "states.h"

enum { HISTORY_ROWS = 128, CONV_COLUMNS = 64 };

static History history_of(const Frame *f, const Action *s, int64_t carry, int x) {
    const Ref *r = &k_refs[s->ref + x];
    return (History){
        .sequences = f->B,
        .time = f->T,
        .first = s->list ? f->list[s->list].first : 0,
        .x = k_resolve(f, r, 0, 0),
        .ldx = r->stride,
        .states = (void *const *)f->states,
        .carried = (int64_t)sizeof(State) + carry * (int64_t)sizeof(float),
    };
}

static History shift_of(const Frame *f, const Action *s) {
    History h = history_of(f, s, s->shift.carry, REF(SHIFT, x));
    h.columns = s->shift.columns;
    h.depth = s->shift.tokens;
    return h;
}

/* 'x', 'w': which operands; w: -1: there is none */
static Convolution conv_of(const Frame *f, const Action *s, int x, int w) {
    const ConvAction *a = &s->conv;
    const Ref *r = &k_refs[s->ref + w];
    Convolution c = { history_of(f, s, a->carry, x), a->groups, a->taps, 0, 0 };
    c.x.columns = a->columns;
    c.x.depth = a->taps - 1;
    if (s->what != DO_CONV) c.x.states = 0;
    if (w >= 0) c.w = k_resolve(f, r, 0, 0), c.ldw = a->by_row ? r->stride : 0;
    return c;
}

/* Whole groups of columns, some at a time, of taps that all rows share. */
static int64_t groups_of_task(const ConvAction *a) {
    return max64(1, CONV_COLUMNS / (a->columns / a->groups));
}

static void weight_task(const Frame *f, const Action *s, int64_t task) {
    Convolution c = conv_of(f, s, REF(CONV_WEIGHT, x), -1);
    const Ref *r = &k_refs[s->ref];
    int64_t groups = groups_of_task(&s->conv), first = task * groups;
    k_conv_weight(&c, k_resolve(f, &r[REF(CONV_WEIGHT, dy)], 0, 0), r[REF(CONV_WEIGHT, dy)].stride,
                  k_constants.granule, first, min64(first + groups, s->conv.groups),
                  k_resolve(f, r, 0, 0), r->area != AREA_CONSTANT);
}

/* Out of the way of the actions that every model has. */
__attribute__((noinline)) int64_t k_count_history(const GlobalWork *w, const Action *s) {
    if (s->what == DO_CONV_WEIGHT) return blocks(s->conv.groups, groups_of_task(&s->conv));
    return blocks(frame_rows(w->f, s->list), HISTORY_ROWS);
}

__attribute__((noinline)) void k_run_history(const GlobalWork *w, const Action *s) {
    const Frame *f = w->f;
    int64_t task = w->task;
    const Ref *r = &k_refs[s->ref];
    int64_t first = task * HISTORY_ROWS, end = min64(first + HISTORY_ROWS, frame_rows(f, s->list));
    float *y = k_resolve(f, r, 0, 0);
    History h;
    Convolution c;
    switch (s->what) {
    case DO_SHIFT:
        h = shift_of(f, s);
        k_shift(&h, s->shift.earlier, first, end, y, r->stride);
        break;
    case DO_CONV:
        c = conv_of(f, s, REF(CONV, x), REF(CONV, w));
        k_conv(&c, first, end, y, r->stride);
        break;
    case DO_CONV_BACK:
        c = conv_of(f, s, REF(CONV_BACK, dy), REF(CONV_BACK, w));
        k_conv_back(&c, first, end, y, r->stride);
        break;
    case DO_CONV_WEIGHT: weight_task(f, s, task); break;
    default:
        c = conv_of(f, s, REF(CONV_TAPS, x), -1);
        k_conv_taps(&c, k_resolve(f, &r[REF(CONV_TAPS, dy)], 0, 0), r[REF(CONV_TAPS, dy)].stride,
                    first, end, y, r->stride);
    }
}

__attribute__((noinline)) void k_global_end(const Frame *f, const Action *s) {
    if (s->what != DO_SHIFT && s->what != DO_CONV) return;
    History h = s->what == DO_SHIFT ? shift_of(f, s) : conv_of(f, s, REF(CONV, x), REF(CONV, w)).x;
    k_carry(&h);
}
