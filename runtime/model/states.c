/* SPDX-License-Identifier: MIT
** The states of sequences: first what operations over time carry, then the caches.  This file
** knows where they lie, how many rows they have room for, and how rows are appended.  A call
** raises lengths only when it has succeeded, so that a call that finds no room for a row leaves
** its states unchanged.  Two things change before that: a cache of averages adds to its last row,
** and carried values are overwritten.  Both are saved first and restored on failure.
*/
#include "states.h"
#include "functions.h"
#include "text.h"

enum { MILLION = 1000000 };

/* == Layout =============================================================== */

/* Rows of a routed layer's cache, for a share of the context in millionths. */
static int64_t rows_of_share(int64_t context, int32_t share) {
    return (context * share + MILLION - 1) / MILLION;
}

static float *cache_at(State *s, const Cache *c) {
    return state_carried(s) + carried_room(&k_constants) + s->context * c->offset
        + s->rows * c->some_offset + c->fixed;
}

static size_t carried_bytes(void) { return (size_t)k_constants.carried_floats * sizeof(float); }

static int64_t states_rows_of(const State *s, const Cache *c) {
    return cache_rows(c, s->context, s->rows);
}

/* Its keys; values follow, then the row that is saved. */
static float *keys_at(State *s, const Cache *c) { return cache_at(s, c) + cache_head(c); }

static float *values_at(State *s, const Cache *c) {
    return keys_at(s, c) + states_rows_of(s, c) * c->groups * c->dk;
}

static void set_length(State *s, const Cache *c, int64_t rows) {
    __builtin_memcpy(cache_at(s, c), &rows, sizeof rows);
}

/* Positions that a cache has, or the tokens that a route took. */
static int64_t length_of(State *s, const Cache *c) {
    int64_t rows;
    if (!c->list) return s->length;
    __builtin_memcpy(&rows, cache_at(s, c), sizeof rows);
    return rows;
}

/* Of the model, and of what its caches keep: builds of one spec may differ in that. */
static uint64_t state_hash(void) {
    return model()->spec_hash ^ (uint64_t)k_constants.cache * UINT64_C(0xd6e8feb86659fd93);
}

/* Another number for any other context, or rows. */
static uint64_t seal_of(const State *s) {
    return (s->hash + (uint64_t)s->context) * UINT64_C(0x9e3779b97f4a7c15)
        ^ (uint64_t)s->rows * UINT64_C(0xc2b2ae3d27d4eb4f);
}

EXPORT size_t model_state_bytes_share(int64_t context, int32_t share) {
    if (context < 1 || context > model()->context || share < 1 || share > MILLION) return 0;
    int64_t rows = rows_of_share(context, share);
    return STATE_HEAD + (size_t)held_floats(&k_constants, context, rows) * sizeof(float);
}

EXPORT size_t model_state_bytes(int64_t context) {
    return model_state_bytes_share(context, MILLION);
}

EXPORT int32_t model_state_init_share(void *ctx, void *state, int64_t context, int32_t share) {
    Context *c = ctx;
    if (!begin_call(c)) return STRATA_ERROR_ARGUMENT;
    int32_t status = check_region(c, "the state", state);
    if (status) return status;
    if (context < 1 || context > model()->context)
        return fail(c, STRATA_ERROR_ARGUMENT, "the context of a state is ", context,
                    ", expected 1 to ", model()->context);
    if (share < 1 || share > MILLION)
        return fail(c, STRATA_ERROR_ARGUMENT, "the share of a state is ", share, ", expected 1 to ",
                    MILLION);
    State *s = state;
    *s = (State){ .hash = state_hash(), .context = context, .rows = rows_of_share(context, share) };
    s->seal = seal_of(s);
    __builtin_memset(state_carried(s), 0, carried_bytes());
    for (int32_t i = 0; i < k_constants.caches; i++)
        if (k_caches[i].list) set_length(s, &k_caches[i], 0);
    return STRATA_OK;
}

EXPORT int32_t model_state_init(void *ctx, void *state, int64_t context) {
    return model_state_init_share(ctx, state, context, MILLION);
}

/* Routed layers cache at most what there are tokens and rows for. */
static bool lists_fit(State *s) {
    for (int32_t i = 0; i < k_constants.caches; i++) {
        if (!k_caches[i].list) continue;
        int64_t rows = length_of(s, &k_caches[i]);
        if (rows < 0 || (rows > s->rows && !k_caches[i].ring) || rows > s->length) return false;
    }
    return true;
}

/* Whether what it says of itself can be: a state may have come from a file. */
static inline bool is_state(State *s) {
    if (!s || (uintptr_t)s % STRATA_ALIGN || s->hash != state_hash()) return false;
    if (s->seal != seal_of(s) || s->mark | s->reserved[0] | s->reserved[1]) return false;
    uint64_t context = (uint64_t)s->context; /* below, 0 and what is negative are large numbers */
    return context - 1 < (uint64_t)model()->context && (uint64_t)s->rows - 1 < context
        && (uint64_t)s->length <= context && (!k_constants.lists || lists_fit(s));
}

static inline int32_t check_state(Context *c, State *s, int64_t more) {
    if (!is_state(s)) {
        TextBuffer t = message(c);
        put(&t, "the state is not one of this model");
        return STRATA_ERROR_STATE;
    }
    if (more > s->context - s->length)
        return fail(c, STRATA_ERROR_FULL, "the sequence would have ", s->length + more,
                    " tokens, its context is ", s->context);
    return STRATA_OK;
}

int32_t k_check_state(Context *c, State *s, int64_t more) { return check_state(c, s, more); }

static int32_t check_alike(Context *c, const State *s, const State *first) {
    if (s->context != first->context)
        return fail(c, STRATA_ERROR_STATE, "states of one batch need one context; found ",
                    s->context, " and ", first->context);
    if (s->rows != first->rows)
        return fail(c, STRATA_ERROR_STATE,
                    "states of one batch need one share; found room for routed tokens: ", s->rows,
                    " and ", first->rows);
    return STRATA_OK;
}

/* No state is there twice: each bears its place, of two places the later. */
static int32_t check_apart(Context *c, State *const *states, int32_t batch) {
    int32_t status = STRATA_OK;
    for (int32_t b = 0; b < batch; b++)
        states[b]->mark = b + 1;
    for (int32_t b = 0; b < batch; b++) {
        if (states[b]->mark == b + 1) states[b]->mark = 0;
        else
            status = fail(c, STRATA_ERROR_ARGUMENT, "sequences of one batch need a state each; ", b,
                          " has that of ", states[b]->mark - 1);
    }
    return status;
}

int32_t k_check_batch(Context *c, State *const *states, int32_t batch) {
    int32_t status = STRATA_OK;
    for (int32_t b = 0; !status && b < batch; b++) {
        status = check_state(c, states[b], 1);
        if (!status && b) status = check_alike(c, states[b], states[0]);
    }
    return status || batch == 1 ? status : check_apart(c, states, batch);
}

/* == Appending ============================================================ */

/* Rows that this call's tokens are in a cache of sequence b. */
static int64_t more_rows(const Frame *f, const Cache *c, int64_t b) {
    const int64_t *first = c->list ? f->list[c->list].first : 0;
    return first ? first[b + 1] - first[b] : f->T;
}

static int32_t states_refuse(Frame *f, const Cache *cache, int32_t sequence, int64_t rows) {
    Context *c = f->ctx;
    const State *state = f->states[sequence];
    TextBuffer t = message(c);
    put(&t, "sequence "), put_number(&t, sequence), put(&t, ": "),
        put(&t, strata_routed(model(), cache->list - 1));
    put(&t, " would have taken "), put_number(&t, rows),
        put(&t, " tokens, its state has room for "), put_number(&t, state->rows);
    put(&t, " (a context of "), put_number(&t, state->context), put(&t, ")");
    return STRATA_ERROR_FULL;
}

/* The row that a cache's newest, unfinished average is in, of group g: keys or values. */
static float *unfinished(State *s, const Cache *c, int64_t g, bool value) {
    int64_t d = value ? c->dv : c->dk;
    return (value ? values_at(s, c) : keys_at(s, c))
        + (g * states_rows_of(s, c) + s->length / c->pool) * d;
}

/* Saves rows of a ring that this call's tokens, 'more' of them, replace, or puts them back; behind
** the ring they have the places that they have in it. */
static void save_replaced(State *s, const Cache *c, int64_t more, bool back) {
    int64_t length = length_of(s, c), n = more < c->ring ? more : c->ring;
    for (int64_t i = 0; c->saves && i < n; i++)
        for (int32_t part = 0; part < 2 * c->groups; part++) {
            int64_t d = part % 2 ? c->dv : c->dk, row = part / 2 * c->ring + (length + i) % c->ring;
            float *at = (part % 2 ? values_at(s, c) : keys_at(s, c)) + row * d;
            float *saved = at + c->ring * cache_row(c);
            __builtin_memcpy(back ? at : saved, back ? saved : at, (size_t)d * sizeof *at);
        }
}

/* Saves that row, or puts it back. */
static void save_unfinished(State *s, const Cache *c, bool back) {
    if (!c->saves || c->ring || s->length % c->pool == 0) return;
    float *saved = values_at(s, c) + states_rows_of(s, c) * c->groups * c->dv;
    for (int32_t i = 0; i < 2 * c->groups; i++) {
        float *row = unfinished(s, c, i / 2, i % 2);
        int64_t d = i % 2 ? c->dv : c->dk;
        __builtin_memcpy(back ? row : saved, back ? saved : row, (size_t)d * sizeof *row);
        saved += d;
    }
}

int32_t k_append(Frame *f, const Action *s, int attention_step, const Attention *a) {
    const Cache *c = &k_caches[s->attention.cache];
    const int64_t *first = c->list ? f->list[c->list].first : 0;
    for (int32_t b = 0; first && !c->ring && b < f->B; b++) {
        int64_t rows = length_of(f->states[b], c) + first[b + 1] - first[b];
        if (rows > f->states[b]->rows) return states_refuse(f, c, b, rows);
    }
    unsigned mode = enter_mode();
    for (int64_t b = 0; b < f->B; b++) {
        int64_t at = attention_step * f->B + b;
        State *state = f->states[b];
        f->past[at] = length_of(state, c), f->keys[at] = keys_at(state, c),
        f->values[at] = c->dv ? values_at(state, c) : keys_at(state, c);
        save_unfinished(state, c, false);
        if (c->ring) save_replaced(state, c, more_rows(f, c, b), false);
        if (k_attention_appends_first(a)) k_attention_append(a, b);
    }
    leave_mode(mode);
    f->appended = s->attention.cache + 1;
    return STRATA_OK;
}

/* Only routes may end a call that has begun. */
void k_begin_sequences(const Frame *f) {
    for (int64_t b = 0; k_constants.lists && b < f->B; b++) {
        float *now = state_carried(f->states[b]);
        __builtin_memcpy(now + k_constants.carried_floats, now, carried_bytes());
    }
}

void k_append_later(const Frame *f, const Attention *a) {
    if (k_attention_appends_first(a)) return;
    unsigned mode = enter_mode();
    for (int64_t b = 0; b < f->B; b++)
        k_attention_append(a, b);
    leave_mode(mode);
}

void k_restore(const Frame *f) {
    for (int64_t b = 0; k_constants.lists && b < f->B; b++) {
        float *now = state_carried(f->states[b]);
        __builtin_memcpy(now, now + k_constants.carried_floats, carried_bytes());
    }
    for (int32_t i = 0; f->states && i < f->appended; i++)
        for (int64_t b = 0; b < f->B; b++) {
            const Cache *c = &k_caches[i];
            save_unfinished(f->states[b], c, true);
            if (c->ring) save_replaced(f->states[b], c, more_rows(f, c, b), true);
        }
}

/* Routed layers cache their own number of rows each. */
void k_advance(const Frame *f) {
    for (int64_t b = 0; b < f->B; b++)
        f->states[b]->length += f->T;
    for (int32_t i = 0; i < k_constants.caches; i++) {
        const Cache *c = &k_caches[i];
        for (int64_t b = 0; c->list && b < f->B; b++)
            set_length(f->states[b], c, length_of(f->states[b], c) + more_rows(f, c, b));
    }
}

/* == Copying ============================================================== */

static void copy_rows(const Cache *c, int64_t rows, int64_t d, const float *from, int64_t from_room,
                      float *to, int64_t to_room) {
    for (int32_t g = 0; g < c->groups; g++)
        __builtin_memcpy(to + g * to_room * d, from + g * from_room * d,
                         (size_t)(rows * d) * sizeof *to);
}

static int32_t check_room(Context *c, State *to, State *from) {
    int32_t status = k_check_state(c, from, 0);
    if (!status) status = k_check_state(c, to, 0);
    if (!status && from->length > to->context)
        status = fail(c, STRATA_ERROR_FULL, "the sequence has ", from->length,
                      " tokens, the context to copy it to is ", to->context);
    for (int32_t i = 0; !status && i < k_constants.caches; i++)
        if (k_caches[i].list && !k_caches[i].ring && length_of(from, &k_caches[i]) > to->rows)
            status = fail(c, STRATA_ERROR_FULL, "a route took ", length_of(from, &k_caches[i]),
                          " tokens, the state to copy them to has room for ", to->rows);
    return status;
}

EXPORT int32_t model_state_copy(void *ctx, void *to, const void *from) {
    Context *c = ctx;
    if (!begin_call(c)) return STRATA_ERROR_ARGUMENT;
    State *source = (State *)from, *target = to;
    int32_t status = check_room(c, target, source);
    if (status || source == target) return status;
    target->length = source->length;
    __builtin_memcpy(state_carried(target), state_carried(source), carried_bytes());
    for (int32_t i = 0; i < k_constants.caches; i++) {
        const Cache *cache = &k_caches[i];
        int64_t length = length_of(source, cache), rows = (length + cache->pool - 1) / cache->pool;
        int64_t room = states_rows_of(source, cache), new_room = states_rows_of(target, cache);
        if (cache->ring) rows = min64(rows, cache->ring);
        if (cache->list) set_length(target, cache, length);
        copy_rows(cache, rows, cache->dk, keys_at(source, cache), room, keys_at(target, cache),
                  new_room);
        copy_rows(cache, rows, cache->dv, values_at(source, cache), room, values_at(target, cache),
                  new_room);
    }
    return STRATA_OK;
}

/* == Going back =========================================================== */

EXPORT int64_t model_state_length(const void *state) {
    return is_state((State *)state) ? ((const State *)state)->length : -1;
}

/* Why a sequence cannot go back to some of its tokens as far as a cache says; NULL: it can. */
static const char *kept_too_little(State *s, const Cache *c, int64_t length) {
    int64_t rows = length_of(s, c);
    if (rows == 0) return 0;
    if (rows < s->length) return "a route took some of the tokens only";
    if (c->ring && rows > c->ring && rows - length > STRATA_BACK)
        return "a window keeps the newest tokens only";
    if (length % c->pool) return "averages are kept, not the tokens that they are of";
    return 0;
}

static int32_t check_back(Context *c, State *s, int64_t length) {
    const char *why = k_constants.carried_floats ? "operations over time keep their last past only"
                                                 : 0;
    for (int32_t i = 0; !why && i < k_constants.caches; i++)
        why = kept_too_little(s, &k_caches[i], length);
    if (!why) return STRATA_OK;
    TextBuffer t = message(c);
    put(&t, why), put(&t, ": the sequence cannot go back from "), put_number(&t, s->length),
        put(&t, " tokens to "), put_number(&t, length);
    return STRATA_ERROR_PAST;
}

/* A ring's older rows, an average's sum: what comes next overwrites them, or does not look. */
EXPORT int32_t model_state_truncate(void *ctx, void *state, int64_t length) {
    Context *c = ctx;
    State *s = state;
    if (!begin_call(c)) return STRATA_ERROR_ARGUMENT;
    int32_t status = k_check_state(c, s, 0);
    if (status) return status;
    if (length < 0 || length > s->length)
        return fail(c, STRATA_ERROR_ARGUMENT, "the length to go back to is ", length,
                    ", expected 0 to ", s->length);
    if (length && length < s->length) status = check_back(c, s, length);
    if (status || length == s->length) return status;
    for (int32_t i = 0; i < k_constants.caches; i++)
        if (k_caches[i].list)
            set_length(s, &k_caches[i], min64(length, length_of(s, &k_caches[i])));
    if (!length) __builtin_memset(state_carried(s), 0, carried_bytes());
    s->length = length;
    return STRATA_OK;
}
