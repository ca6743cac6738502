/* SPDX-License-Identifier: MIT
** The optimizer's part of a model's functions (abi.h): sums of squares, and AdamW with
** what products want of the new weights; Muon is in muon_update.c.
*/
#include "actions.h"
#include "functions.h"
#include "muon_update.h"
#include "packed.h"
#include "text.h"

enum { SUM_PIECES = 256, UPDATE_BLOCK = 16384 };

static int32_t check_range(Context *c, const void *train, int64_t first, int64_t count) {
    if (!model()->training) return lacks_training(c);
    if (!begin_call(c)) return STRATA_ERROR_ARGUMENT;
    if (first < 0 || first > k_constants.gradients)
        return fail(c, STRATA_ERROR_ARGUMENT, "the range starts at ", first, ", expected 0 to ",
                    k_constants.gradients);
    if (count < 0 || count > k_constants.gradients - first)
        return fail(c, STRATA_ERROR_ARGUMENT, "the range has ", count, " gradients, expected 0 to ",
                    k_constants.gradients - first);
    return check_region(c, "train", train);
}

typedef struct Squares {
    Context *c;
    const float *g;
    int64_t count;
} Squares;

static void squares_task(void *arg, int64_t task, int32_t worker) {
    (void)worker;
    const Squares *s = arg;
    unsigned mode = enter_mode();
    int64_t from = s->count * task / SUM_PIECES, to = s->count * (task + 1) / SUM_PIECES;
    s->c->sums[task] = k_sum_squares(to - from, s->g + from);
    leave_mode(mode);
}

EXPORT int32_t model_sum_squares(void *ctx, const void *train, int64_t first, int64_t count,
                                 double *out) {
    int32_t status = check_range(ctx, train, first, count);
    if (!status) status = check_pointer(ctx, "out", out);
    if (status) return status;
    int64_t trained = max64(k_constants.trained - first, 0);
    Squares s = { ctx, (const float *)train + first, min64(count, trained) };
    k_par_for(ctx, SUM_PIECES, squares_task, &s);
    unsigned mode = enter_mode();
    *out = 0;
    for (int i = 0; i < SUM_PIECES; i++)
        *out += s.c->sums[i];
    leave_mode(mode);
    return STRATA_OK;
}

typedef struct Update {
    float *w, *train;
    int64_t first, count;
    const strata_adamw *how;
    double c1, c2;
} Update;

/* How a tensor is trained that a gradient trains. */
static strata_tuning tuning_of(const Update *u, int32_t tensor) {
    const strata_model *m = model();
    const strata_tensor *t = &strata_tensors(m)[tensor];
    strata_tuning x = { STRATA_ADAMW, 0, t->gradient, 1, u->how->weight_decay };
    if (m->tuning_table) {
        x = strata_tunings(m)[tensor];
        if (x.weight_decay < 0) x.weight_decay = u->how->weight_decay;
    }
    if (!t->decay) x.weight_decay = 0;
    return x;
}

static void update_piece(const Update *u, int32_t tensor, int64_t from, int64_t to) {
    const strata_tensor *t = &strata_tensors(model())[tensor];
    if (t->decay < 0) return;
    if (from < t->gradient) from = t->gradient;
    if (to > t->gradient + t->count) to = t->gradient + t->count;
    if (from >= to) return;
    const strata_tuning x = tuning_of(u, tensor);
    if (x.by != STRATA_ADAMW) return;
    float *first = u->train + k_constants.gradients, *second = first + k_constants.gradients;
    k_adamw(to - from, u->w + t->weight + (from - t->gradient), u->train + from, first + from,
            second + x.second + (from - t->gradient), (float)(u->how->lr * x.rate),
            (float)u->how->beta1, (float)u->how->beta2, (float)u->how->eps, (float)x.weight_decay,
            (float)u->c1, (float)u->c2, (float)u->how->grad_scale);
}

static bool update_is_kept(int32_t tensor) {
    return k_constants.repacked_floats
        && (k_repacked[tensor].forward >= 0 || k_repacked[tensor].back >= 0);
}

/* Rows from 'row' on to where they lie packed. */
static void pack_rows(const Update *u, int32_t tensor, int64_t row) {
    const strata_tensor *t = &strata_tensors(model())[tensor];
    const Repacked *k = &k_repacked[tensor];
    float *repacked = u->train + repacked_from(&k_constants);
    int64_t end = row + PACK_ROWS < t->shape[0] ? row + PACK_ROWS : t->shape[0];
    k_pack_rows_bf16(t->shape[0], t->shape[1], row, end, u->w + t->weight,
                     k->forward < 0 ? 0 : repacked + k->forward,
                     k->back < 0 ? 0 : repacked + k->back);
}

/* Rows of a matrix that are packed together and begin in [from, to), or before the update's first
** number: updated where they are in the update, then packed while they are in cache. */
static void update_rows(const Update *u, int32_t tensor, int64_t from, int64_t to) {
    const strata_tensor *t = &strata_tensors(model())[tensor];
    int64_t some = PACK_ROWS * t->shape[1], end = u->first + u->count, at = t->gradient;
    if (from > at) at += from > u->first ? round_up(from - at, some) : (from - at) / some * some;
    for (; at < to && at < t->gradient + t->count; at += some) {
        update_piece(u, tensor, at < u->first ? u->first : at, at + some < end ? at + some : end);
        pack_rows(u, tensor, (at - t->gradient) / t->shape[1]);
    }
}

/* Tensors that have a place among the gradients: the first ones. */
static int32_t tensors_trained(void) { return model()->tensors - model()->frozen; }

/* The last tensor that begins at 'at' or before: they lie in the order of their gradients. */
static int32_t tensor_at(const strata_tensor *t, int64_t at) {
    int32_t low = 0, high = tensors_trained();
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if (t[middle].gradient <= at) low = middle;
        else high = middle;
    }
    return low;
}

static void update_task(void *arg, int64_t task, int32_t worker) {
    (void)worker;
    const Update *u = arg;
    int64_t from = u->first + task * UPDATE_BLOCK, to = from + UPDATE_BLOCK;
    if (to > u->first + u->count) to = u->first + u->count;
    const strata_tensor *t = strata_tensors(model());
    unsigned mode = enter_mode();
    for (int32_t i = tensor_at(t, from); i < tensors_trained() && t[i].gradient < to; i++) {
        if (tuning_of(u, i).by == STRATA_MUON) continue;
        if (update_is_kept(i)) update_rows(u, i, from, to);
        else update_piece(u, i, from, to);
    }
    leave_mode(mode);
}

/* == Muon ================================================================= */

typedef struct Repacking {
    const Update *u;
    int32_t tensor;
} Repacking;

static void repack_task(void *arg, int64_t task, int32_t worker) {
    (void)worker;
    const Repacking *r = arg;
    unsigned mode = enter_mode();
    pack_rows(r->u, r->tensor, task * PACK_ROWS);
    leave_mode(mode);
}

/* The matrices of Muon's that begin in the update's range, one after another. */
static void update_matrices(Context *c, const Update *u) {
    const strata_tensor *t = strata_tensors(model());
    for (int32_t i = 0; i < tensors_trained(); i++) {
        Repacking r = { u, i };
        if (strata_tunings(model())[i].by != STRATA_MUON || t[i].gradient < u->first
            || t[i].gradient >= u->first + u->count)
            continue;
        k_muon_update(c, u->w, u->train, i, u->how);
        if (update_is_kept(i)) k_par_for(c, blocks(t[i].shape[0], PACK_ROWS), repack_task, &r);
    }
}

static double power(double x, int64_t n) {
    double y = 1;
    for (; n; n >>= 1, x *= x)
        if (n & 1) y *= x;
    return y;
}

/* == Buffers ============================================================== */

/* Where the buffer begins that a phase of PROGRAM_RULES makes anew: among the gradients. */
static int64_t buffer_of(const Action *s) {
    for (int32_t i = 0; i < s->refs; i++)
        if (k_refs[s->ref + i].area == AREA_MOMENT) return k_refs[s->ref + i].offset;
    return -1;
}

/* A new value arises where the first moment of a gradient would be, and leaves zeros there. */
static void put_buffer(const Update *u, int64_t at) {
    const strata_tensor *t = &strata_tensors(model())[tensor_at(strata_tensors(model()), at)];
    float *value = u->train + k_constants.gradients + at;
    for (int64_t k = 0; k < t->count; k++)
        u->w[t->weight + k] = value[k];
    k_zero(t->count, value);
}

/* The rules of the buffers that begin in the update's range. */
static void update_buffers(Context *c, const Update *u) {
    Frame f = { .ctx = c,
                .program = &k_programs[PROGRAM_RULES],
                .weights = u->w,
                .gradients = u->train,
                .local = u->train + rules_from(&k_constants) };
    unsigned mode = enter_mode();
    for (int32_t i = 0; i < f.program->phases; i++) {
        const Stage *phase = &k_stages[f.program->phase + i];
        const Action *s = &k_actions[phase->first];
        int64_t at = buffer_of(s);
        TaskWork w = { &f, 0, 0, 0, 0, -1, 0 };
        if (at < u->first || at >= u->first + u->count) continue;
        k_run_row(&w, s);
        put_buffer(u, at);
    }
    leave_mode(mode);
}

/* A rate that is NaN would make every weight NaN, as would one that float32 does not hold and a
** mean that forgets nothing; one below 0 would climb. */
static int32_t check_rates(Context *c, const strata_adamw *how) {
    const struct {
        const char *name;
        double value;
        bool mean; /* below 1 */
    } rate[] = {
        { "lr", how->lr, false },
        { "beta1", how->beta1, true },
        { "beta2", how->beta2, true },
        { "eps", how->eps, false },
        { "weight_decay", how->weight_decay, false },
        { "grad_scale", how->grad_scale, false },
    };
    for (size_t i = 0; i < sizeof rate / sizeof *rate; i++) {
        double value = rate[i].value;
        if (check_finite(c, rate[i].name, value)) return STRATA_ERROR_ARGUMENT;
        const char *wrong = value < 0     ? " is below 0"
            : rate[i].mean && value >= 1  ? " is 1 or more, expected less"
            : value > (double)__FLT_MAX__ ? " is more than float32 holds"
                                          : NULL;
        if (!wrong) continue;
        TextBuffer t = message(c);
        put(&t, rate[i].name), put(&t, wrong);
        return STRATA_ERROR_ARGUMENT;
    }
    return STRATA_OK;
}

static int32_t check_settings(Context *c, const strata_adamw *how) {
    int32_t status = check_pointer(c, "the update's settings", how);
    if (status) return status;
    if (how->struct_size != sizeof *how)
        return fail(c, STRATA_ERROR_ARGUMENT, "the size of the update's settings is ",
                    (int64_t)how->struct_size, ", expected ", sizeof *how);
    if (how->step < 1)
        return fail(c, STRATA_ERROR_ARGUMENT, "the step is ", how->step, ", expected at least ", 1);
    status = check_rates(c, how);
    if (!status && model()->muon_tensors) status = k_muon_check(c, how);
    return status ? status
                  : check_reserved(c, "the update's settings", how->reserved, sizeof how->reserved);
}

EXPORT int32_t model_update(void *ctx, void *w, void *train, int64_t first, int64_t count,
                            const strata_adamw *how) {
    int32_t status = check_range(ctx, train, first, count);
    if (!status) status = check_region(ctx, "w", w);
    if (!status) status = check_settings(ctx, how);
    if (status) return status;
    unsigned mode = enter_mode();
    Update u = { w,
                 train,
                 first,
                 count,
                 how,
                 1 - power(how->beta1, how->step),
                 1 - power(how->beta2, how->step) };
    leave_mode(mode);
    k_par_for(ctx, (count + UPDATE_BLOCK - 1) / UPDATE_BLOCK, update_task, &u);
    if (model()->muon_tensors) update_matrices(ctx, &u);
    if (k_constants.rules) update_buffers(ctx, &u);
    return STRATA_OK;
}
