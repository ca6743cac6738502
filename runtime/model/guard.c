/* SPDX-License-Identifier: MIT
** The driver's part of a --check build.  Every region of the arena starts as signalling NaNs, and
** is filled with them again after the last use of its value.  Guard words lie between regions,
** behind each worker's scratch, and in the rows that round the tokens up to granules.  They are
** compared after every task of a step for the values that the task touches, and after every phase
** for all values.  Row kernels get the bounds of what they may access (rows_check.h) and record
** where they strayed.  The first finding becomes the call's message.
*/
#include "guard.h"
#include "text.h"

static const uint32_t POISON = 0x7fa0dead, GUARD = 0x7fb5afe5; /* both signalling NaNs */

typedef uint32_t __attribute__((may_alias)) Word;

static const char *kernel_name(int32_t action) {
    const strata_model *m = (const strata_model *)k_model;
    return strata_string(m, strata_kernels(m)[k_actions[action].profile].name);
}

/* True for the first to find something: it writes the message. */
static bool first_to_find(Context *c) {
    return !__atomic_exchange_n(&c->stray, 1, __ATOMIC_ACQ_REL);
}

bool k_check_found(const Frame *f) { return __atomic_load_n(&f->ctx->stray, __ATOMIC_ACQUIRE); }

/* == Regions ============================================================== */

static void guard_fill(float *p, int64_t n, uint32_t word) {
    Word *w = (Word *)p;
    for (int64_t i = 0; i < n; i++)
        w[i] = word;
}

static bool intact(const float *p, int64_t n) {
    const Word *w = (const Word *)p;
    uint32_t differ = 0;
    for (int64_t i = 0; i < n; i++)
        differ |= w[i] ^ GUARD;
    return !differ;
}

/* A region in memory: its values, a guard before, one after, to which the row belongs that keeps
** the next value apart. */
typedef struct GuardedPlace {
    float *at;
    int64_t values, before, after, used;
} GuardedPlace;

static GuardedPlace guard_place_of(const Frame *f, const CheckRegion *r, int32_t worker) {
    int64_t rows = r->area == AREA_TOKEN ? f->padded
        : r->area == AREA_LOCAL          ? k_constants.chunk
        : r->area == AREA_GRANULE        ? f->padded / k_constants.granule
                                         : 1;
    bool apart = r->area == AREA_TOKEN || r->area == AREA_LOCAL;
    int64_t room = apart ? rows_apart(rows) : rows, used = r->area == AREA_TOKEN ? f->N : rows;
    Ref ref = { r->area, r->stride, r->offset };
    return (GuardedPlace){ .at = k_resolve(f, &ref, worker, 0),
                           .values = rows * r->stride,
                           .before = room * r->guard,
                           .after = room * r->guard + (room - rows) * r->stride,
                           .used = used * r->stride };
}

static int32_t copies(const Frame *f, const CheckRegion *r) {
    return r->area == AREA_LOCAL ? f->ctx->setup.workers : 1;
}

static float *scratch_guard(const Frame *f, int32_t worker) {
    return f->local + (worker + 1) * f->local_floats - SCRATCH_GUARD;
}

static void poison(const Frame *f, const CheckRegion *r, int32_t worker) {
    GuardedPlace p = guard_place_of(f, r, worker);
    guard_fill(p.at, p.used, POISON);
}

/* == A call =============================================================== */

static void place_guards(const Frame *f, const CheckRegion *r, int32_t worker) {
    GuardedPlace p = guard_place_of(f, r, worker);
    guard_fill(p.at - p.before, p.before, GUARD);
    guard_fill(p.at + p.used, p.values - p.used + p.after, GUARD);
}

void k_check_begin(Frame *f) {
    const ModelProgram *p = f->program;
    f->ctx->stray = 0;
    guard_fill(f->token, p->token_floats * rows_apart(f->padded), POISON);
    guard_fill(f->granule, p->granule_floats * (f->padded / k_constants.granule), POISON);
    guard_fill(f->constant, p->constant_floats, POISON);
    guard_fill(f->local, f->ctx->setup.workers * f->local_floats, POISON);
    for (int32_t w = 0; w < f->ctx->setup.workers; w++)
        guard_fill(scratch_guard(f, w), SCRATCH_GUARD, GUARD);
    for (int32_t i = p->region; i < p->region + p->regions; i++)
        for (int32_t w = 0; w < copies(f, &k_regions[i]); w++)
            place_guards(f, &k_regions[i], w);
}

/* == Guards =============================================================== */

/* Which guard of a region is not what it was; NULL: none.  'all': those rows too
** that only round up, of which there may be many. */
static const char *guard_broken(const Frame *f, const CheckRegion *r, int32_t worker, bool all) {
    GuardedPlace p = guard_place_of(f, r, worker);
    if (!intact(p.at - p.before, p.before)) return "before the value of ";
    if (!intact(p.at + p.values, p.after)) return "after the value of ";
    if (all && !intact(p.at + p.used, p.values - p.used))
        return "after the last token of the value of ";
    return 0;
}

static void blame(const Frame *f, int32_t first, int32_t last, const char *where,
                  const char *owner) {
    if (!first_to_find(f->ctx)) return;
    TextBuffer t = message(f->ctx);
    put(&t, kernel_name(first));
    if (last > first) put(&t, " or a step after it up to "), put(&t, kernel_name(last));
    put(&t, ": wrote over guard words "), put(&t, where), put(&t, owner);
}

void k_check_step(const Frame *f, const Action *s, int32_t worker) {
    int32_t own = (int32_t)(s - k_actions);
    for (int32_t i = 0; i < s->refs; i++) {
        int32_t region = k_reaches[s->ref + i].region;
        const char *where = region < 0 ? 0 : guard_broken(f, &k_regions[region], worker, false);
        if (where) blame(f, own, own, where, kernel_name(k_regions[region].first));
    }
    if (!intact(scratch_guard(f, worker), SCRATCH_GUARD))
        blame(f, own, own, "after a worker's scratch", "");
}

/* A worker's values that nothing in the phase reads any more. */
void k_check_free(const Frame *f, const Action *s, int32_t worker) {
    const ModelProgram *p = f->program;
    for (int32_t i = p->region; i < p->region + p->regions; i++) {
        const CheckRegion *r = &k_regions[i];
        if (r->area == AREA_LOCAL && r->last == (int32_t)(s - k_actions)) poison(f, r, worker);
    }
}

int32_t k_check_phase(const Frame *f, const Stage *phase) {
    const ModelProgram *p = f->program;
    int32_t last = phase->first + phase->count - 1;
    for (int32_t i = p->region; i < p->region + p->regions; i++) {
        const CheckRegion *r = &k_regions[i];
        for (int32_t w = 0; w < copies(f, r); w++) {
            const char *where = guard_broken(f, r, w, true);
            if (where) blame(f, phase->first, last, where, kernel_name(r->first));
        }
        if (r->stage == (int32_t)(phase - k_stages)) poison(f, r, 0);
    }
    for (int32_t w = 0; w < f->ctx->setup.workers; w++)
        if (!intact(scratch_guard(f, w), SCRATCH_GUARD))
            blame(f, phase->first, last, "after a worker's scratch", "");
    return k_check_found(f) ? STRATA_ERROR_CHECK : STRATA_OK;
}

/* == Row kernels ========================================================== */

typedef struct Bounds {
    float *lo, *hi;
} Bounds;

/* Rows [first, first + count) of 'floats' each, 'stride' apart. */
static Bounds guard_some_rows(float *base, int64_t stride, int64_t first, int64_t count,
                              int64_t floats) {
    float *lo = base + first * stride;
    return (Bounds){ lo, count > 0 ? lo + (count - 1) * stride + floats : lo };
}

static Bounds bounds_of(const Frame *f, float *base, const Ref *r, int64_t floats, int64_t first,
                        int64_t count) {
    int64_t granule = first / k_constants.granule,
            end = (first + count + k_constants.granule - 1) / k_constants.granule;
    switch (r->area) {
    case AREA_TOKEN:
    case AREA_LOCAL:
    case AREA_LOGITS:
    case AREA_TOKENS:
    case AREA_TARGETS:
    case AREA_POSITION:
    case AREA_LIST_POSITION: return guard_some_rows(base, r->stride, first, count, floats);
    case AREA_GRANULE: return guard_some_rows(base, r->stride, granule, end - granule, floats);
    case AREA_TABLE: return guard_some_rows(base, r->stride, 0, f->ctx->length, floats);
    default: return (Bounds){ base, base + floats };
    }
}

typedef struct Slot {
    int64_t code;
    float *address;
} Slot;

/* Code 1 + 2 * operand + store; operands are followed by the scratch, and that by
** the rows of stacks, whose bounds only the kernel knows. */
static void report_stray(const Frame *f, const Action *s, float *const *p, Slot slot, int64_t first,
                         int64_t count) {
    int64_t operand = (slot.code - 1) / 2;
    bool store = (slot.code - 1) % 2;
    if (!first_to_find(f->ctx)) return;
    TextBuffer t = message(f->ctx);
    put(&t, kernel_name((int32_t)(s - k_actions)));
    if (count > 0)
        put(&t, ", tokens "), put_number(&t, first), put(&t, " to "),
            put_number(&t, first + count - 1);
    put(&t, store ? ": stores to " : ": loads from ");
    if (operand > s->refs) {
        put(&t, "beyond a row of a stack");
    } else if (operand == s->refs) {
        put(&t, "outside its scratch");
    } else {
        const Word *lo = (Word *)p[s->refs + 2 * operand],
                   *hi = (Word *)p[s->refs + 2 * operand + 1];
        const Word *at = (Word *)slot.address;
        put(&t, at < lo ? "before operand " : "beyond operand "), put_number(&t, operand);
        put(&t, " of "), put_number(&t, s->refs), put(&t, ": at float "), put_number(&t, at - lo);
        put(&t, " of "), put_number(&t, hi - lo);
    }
}

void k_check_row(const Frame *f, const Action *s, int32_t worker, int64_t first, int64_t count) {
    float *few[3 * FEW_REFS + 1], *scratch = frame_scratch(f, worker);
    float **p = s->refs > FEW_REFS ? (float **)scratch : few;
    Slot slot = { 0, 0 };
    guard_fill(scratch, k_constants.scratch_bytes / (int64_t)sizeof *scratch, POISON);
    for (int32_t i = 0; i < s->refs; i++) {
        const Ref *r = &k_refs[s->ref + i];
        p[i] = k_resolve(f, r, worker, first);
        Bounds b = bounds_of(f, p[i], r, k_reaches[s->ref + i].floats, first, count);
        p[s->refs + 2 * i] = b.lo, p[s->refs + 2 * i + 1] = b.hi;
    }
    p[3 * s->refs] = (float *)&slot;
    k_row(p, first, count, scratch + pointer_floats(true, s->refs), s->row.kernel);
    if (slot.code) report_stray(f, s, p, slot, first, count);
}
