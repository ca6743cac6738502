/* Actions over time whose past is of a fixed size: a task has some rows. */
#include "actions.h"
#include "states.h"

enum { HISTORY_ROWS = 128 };

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
    History h = history_of(f, s, s->shift.carry, 1);
    h.columns = s->shift.columns;
    h.depth = s->shift.tokens;
    return h;
}

int64_t k_history_tasks(const Frame *f, const Action *s) {
    return blocks(frame_rows(f, s->list), HISTORY_ROWS);
}

void k_history_task(const Frame *f, const Action *s, int64_t task) {
    const Ref *r = &k_refs[s->ref];
    int64_t first = task * HISTORY_ROWS, end = least(first + HISTORY_ROWS, frame_rows(f, s->list));
    History h = shift_of(f, s);
    k_shift(&h, s->shift.earlier, first, end, k_resolve(f, r, 0, 0), r->stride);
}

void k_global_end(const Frame *f, const Action *s) {
    if (s->what != DO_SHIFT) return;
    History h = shift_of(f, s);
    k_carry(&h);
}
