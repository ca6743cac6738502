/*
** The functions of a compiled model (abi.h), but for those of states (states.c) and of the
** optimizer (update.c). Each is called model_NAME here; the compiler renames them to PREFIX_NAME
** and hides everything else.
*/
#include "functions.h"
#include "text.h"

enum { ZERO_BLOCK = 65536 };

/* == Sizes ================================================================ */

typedef struct Layout {
    int64_t token, granule, constant, packed, local, scratch, values;
} Layout;

/* The largest need of any program but the probe, or the probe's, in floats: a token,
** a granule, once, a worker. */
static Layout layout(bool probe) {
    Layout l = { 0, 0, 0, 0, 0, 0, 0 };
    for (int i = probe ? PROGRAM_PROBE : 0; i < (probe ? PROGRAMS : PROGRAM_PROBE); i++) {
        const Program *p = &k_programs[i];
        if (p->token_floats > l.token) l.token = p->token_floats;
        if (p->granule_floats > l.granule) l.granule = p->granule_floats;
        if (p->constant_floats > l.constant) l.constant = p->constant_floats;
        if (p->packed_floats > l.packed) l.packed = p->packed_floats;
        if (p->local_floats > l.local) l.local = p->local_floats;
    }
    l.values = round_up(l.local * k_constants.chunk, 16);
    int64_t bytes = k_constants.scratch_bytes,
            other = k_constants.bf16 ? k_gemm_bf16_scratch() : k_gemm_scratch(),
            head = k_attention_scratch(k_constants.max_head);
    if (other > bytes) bytes = other;
    if (head > bytes) bytes = head;
    l.scratch = round_up((bytes + 3) / 4, 16) + (k_constants.check ? SCRATCH_GUARD : 0);
    return l;
}

/* Weights are packed before a phase if more than one task would pack them. */
static int64_t packed_room(const Layout *l, int64_t tokens) {
    return tokens > k_constants.chunk ? round_up(l->packed, 16) : 0;
}

/* Attention looks at whole panels of queries, beyond a list's tokens. */
_Static_assert(sizeof(RowList) == LIST_HEAD * sizeof(float) && sizeof(RowList) % STRATA_ALIGN == 0,
               "lists keep the alignment of what follows");

/* Five words a token and an int64 a sequence, which has a token at least. */
static int64_t list_floats(int64_t padded) { return LIST_WORDS * (padded + LIST_BEYOND); }

static int64_t all_list_floats(int64_t padded) {
    return k_constants.lists
        ? (k_constants.lists + 1) * LIST_HEAD + k_constants.lists * list_floats(padded)
        : 0;
}

static void place_lists(Frame *f, float *at) {
    int64_t room = f->padded + LIST_BEYOND;
    f->list = (RowList *)at;
    int32_t *word = (int32_t *)(at + (k_constants.lists + 1) * LIST_HEAD);
    for (int32_t i = 1; i <= k_constants.lists; i++, word += list_floats(f->padded))
        f->list[i] = (RowList){ 0,
                                0,
                                (int64_t *)word,
                                word + 2 * room,
                                word + 3 * room,
                                word + 4 * room,
                                word + 5 * room,
                                word + 6 * room };
}

static size_t arena_bytes(const Layout *at, int64_t tokens, int32_t workers) {
    if (tokens < 1 || workers < 1 || tokens > INT64_C(1) << 40) return 0;
    Layout l = *at;
    int64_t padded = round_up(tokens, k_constants.granule);
    int64_t floats = (l.token + CALL_FLOATS * (1 + k_constants.caches_at_once)) * padded
        + round_up(l.granule, 16) * (padded / k_constants.granule) + round_up(l.constant, 16)
        + packed_room(&l, tokens) + all_list_floats(padded) + workers * (l.values + l.scratch);
    return (size_t)floats * sizeof(float) + STRATA_ALIGN;
}

EXPORT size_t model_arena_bytes(int64_t tokens, int32_t workers) {
    Layout l = layout(false);
    return arena_bytes(&l, tokens, workers);
}

EXPORT const strata_model *model_model(void) { return model(); }

EXPORT const char *model_strerror(int32_t status) {
    switch (status) {
    case STRATA_OK: return "done";
    case STRATA_ERROR_ARGUMENT: return "an argument is wrong";
    case STRATA_ERROR_CPU: return "the processor lacks a feature this model was compiled for";
    case STRATA_ERROR_STATE: return "the state belongs to another model or context";
    case STRATA_ERROR_FULL:
        return "the sequence would be longer than its context, or than its state has room for";
    case STRATA_ERROR_MISSING: return "the model was built without this function";
    case STRATA_ERROR_STOPPED: return "stopped by the caller";
    case STRATA_ERROR_CHECK: return "a stray access was found";
    default: return "unknown status";
    }
}

EXPORT const char *model_message(const void *ctx) { return ((const Context *)ctx)->message; }

/* == Starting ============================================================= */

/* YaRN (arXiv 2309.00071): a frequency that turns more than BETA_FAST times in the context stays,
** one that turns less than BETA_SLOW times is divided by the factor; between them, a ramp over the
** channels. Frequencies are a geometric series. */
enum { BETA_FAST = 32, BETA_SLOW = 1, STRETCHED = 512 };

static void stretch(int64_t n, const double *from, double factor, double *to) {
    double turn = 6.283185307179586 / model()->context, ratio = from[1] / from[0], low = 0,
           high = 0;
    for (double f = from[0] * ratio; f >= turn * BETA_FAST && low < 2 * n; f *= ratio)
        low++;
    for (double f = from[0]; f > turn * BETA_SLOW && high < 2 * n - 1; f *= ratio)
        high++;
    if (low == high) high += 0.001;
    for (int64_t i = 0; i < n; i++) {
        double ramp = ((double)i - low) / (high - low);
        ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
        to[i] = from[i] / factor * ramp + from[i] * (1 - ramp);
    }
}

static int32_t check_stretch(Context *c) {
    if (!(c->setup.yarn > 0)) return STRATA_OK;
    for (int32_t i = 0; i < k_constants.waves; i++)
        if (k_waves[i].count > 1 && (k_waves[i].scale != 1 || k_waves[i].count > STRETCHED))
            return fail(c, STRATA_ERROR_ARGUMENT,
                        "rotations are stretched already, or have more frequencies than ",
                        STRETCHED, "; factor ", (int64_t)c->setup.yarn);
    return STRATA_OK;
}

static void make_tables(Context *c) {
    float *tables = context_tables(c);
    int64_t context = model()->context;
    unsigned mode = enter_mode();
    for (int32_t i = 0; i < k_constants.waves; i++) {
        const Wave *w = &k_waves[i];
        const double *frequency = &k_frequencies[w->frequency];
        double other[STRETCHED], scale = w->scale;
        if (c->setup.yarn > 0 && w->count > 1) {
            stretch(w->count, frequency, c->setup.yarn, other);
            frequency = other, scale = c->setup.yarn_scale;
        }
        k_wave(0, c->length, w->count, frequency, scale, w->sine,
               tables + w->offset / context * c->length, w->ld);
    }
    leave_mode(mode);
}

EXPORT int32_t model_prepare(void *ctx, const strata_setup *setup) {
    Context *c = ctx;
    c->setup = (strata_setup){ .struct_size = sizeof(strata_setup), .workers = 1 };
    if (setup) c->setup = *setup;
    if (c->setup.routed < 0 || c->setup.routed > 1000001)
        return fail(c, STRATA_ERROR_ARGUMENT, "the routed share is ", c->setup.routed,
                    ", expected 0 to ", 1000001);
    if (c->setup.workers < 1)
        return fail(c, STRATA_ERROR_ARGUMENT, "workers is ", c->setup.workers,
                    ", expected at least ", 1);
    if (!c->setup.par_for) c->setup.workers = 1;
    if (c->setup.length > model()->context && model()->learned_positions)
        return fail(c, STRATA_ERROR_ARGUMENT, "the longest sequence is ", c->setup.length,
                    ", and there are no more positions than ", model()->context);
    c->length = c->setup.length > model()->context ? c->setup.length : model()->context;
    int32_t status = check_stretch(c);
    if (status) return status;
    make_tables(c);
    c->magic = READY;
    return STRATA_OK;
}

/* Compiled for the plainest processor: it finds out what this one has. */
__attribute__((target("no-avx"))) EXPORT int32_t model_init(void *ctx, size_t bytes,
                                                            const strata_setup *setup) {
    Context *c = ctx;
    if (!c || bytes < (size_t)model()->ctx_bytes || (uintptr_t)ctx % STRATA_ALIGN)
        return STRATA_ERROR_ARGUMENT;
    c->magic = 0;
    c->message[0] = 0;
    if (setup && setup->struct_size != sizeof *setup) return STRATA_ERROR_ARGUMENT;
    if (setup && setup->length > model()->context
        && bytes < (size_t)strata_ctx_bytes(model(), setup->length))
        return STRATA_ERROR_ARGUMENT;
    const char *missing = k_cpu_missing();
    if (missing) {
        volatile char *to = c->message;
        for (const char *s = "the processor lacks "; *s; s++)
            *to++ = *s;
        for (const char *s = missing; *s; s++)
            *to++ = *s;
        *to = 0;
        return STRATA_ERROR_CPU;
    }
    return model_prepare(ctx, setup);
}

/* == Frames =============================================================== */

static int32_t check_ids(Context *c, const char *what, const int32_t *ids, int64_t B, int64_t T) {
    for (int64_t i = 0; i < B * T; i++) {
        if ((uint32_t)ids[i] < (uint32_t)model()->vocab) continue;
        Text t = message(c);
        put(&t, what), put(&t, " ["), put_number(&t, i / T), put(&t, ","), put_number(&t, i % T),
            put(&t, "] is ");
        put_number(&t, ids[i]), put(&t, ", expected 0 to "), put_number(&t, model()->vocab - 1);
        return STRATA_ERROR_ARGUMENT;
    }
    return STRATA_OK;
}

static int32_t check_call(Context *c, const void *w, const void *arena, const int32_t *tokens,
                          int64_t B, int64_t T) {
    if (!c || (uintptr_t)c % STRATA_ALIGN || c->magic != READY) return STRATA_ERROR_ARGUMENT;
    c->message[0] = 0;
    if (!w || !arena || !tokens)
        return fail(c, STRATA_ERROR_ARGUMENT, "a pointer is null: argument ",
                    !w ? 2
                        : !arena ? 3
                                 : 4,
                    " of ", 4);
    if ((uintptr_t)w % STRATA_ALIGN || (uintptr_t)arena % STRATA_ALIGN)
        return fail(
            c, STRATA_ERROR_ARGUMENT, "weights and arena must be aligned; the address is off by ",
            (int64_t)(((uintptr_t)w | (uintptr_t)arena) % STRATA_ALIGN), " of ", STRATA_ALIGN);
    if (B < 1) return fail(c, STRATA_ERROR_ARGUMENT, "the batch is ", B, ", expected at least ", 1);
    if (T < 1 || T > c->length)
        return fail(c, STRATA_ERROR_ARGUMENT, "the sequence length is ", T, ", expected 1 to ",
                    c->length);
    return check_ids(c, "token", tokens, B, T);
}

static int32_t check_targets(Context *c, const int32_t *targets, int64_t B, int64_t T) {
    int32_t status = check_pointer(c, "targets", targets);
    return status ? status : check_ids(c, "target", targets, B, T);
}

static Frame frame(Context *c, int program, const void *w, void *arena, const int32_t *tokens,
                   int64_t B, int64_t T) {
    Frame f = { .ctx = c,
                .program = &k_programs[program],
                .weights = w,
                .tokens = tokens,
                .B = B,
                .T = T,
                .N = B * T };
    Layout l = layout(program == PROGRAM_PROBE);
    f.padded = round_up(f.N, k_constants.granule);
    f.token = arena;
    f.position = (int32_t *)(f.token + l.token * f.padded);
    char *pointers = (char *)(f.position + f.padded);
    int64_t slots = f.padded * k_constants.caches_at_once;
    f.keys = (float **)pointers;
    f.values = f.keys + slots;
    f.past = (int64_t *)(f.values + slots);
    f.granule = f.token + (l.token + CALL_FLOATS * (1 + k_constants.caches_at_once)) * f.padded;
    f.constant = f.granule + round_up(l.granule, 16) * (f.padded / k_constants.granule);
    f.packed = f.constant + round_up(l.constant, 16);
    float *lists = f.packed + packed_room(&l, f.N);
    f.local = lists + all_list_floats(f.padded);
    if (k_constants.lists) place_lists(&f, lists);
    if (f.N <= k_constants.chunk) f.packed = 0;
    f.scratch = l.values;
    f.local_floats = l.values + l.scratch;
    f.uniform[0] = 1;
    f.uniform[1] = (float)(1.0 / (double)f.N);
    for (int64_t i = 0; i < f.N; i++)
        f.position[i] = (int32_t)(i % T);
    if (k_constants.check) k_check_begin(&f);
    return f;
}

static int32_t run_phase(Frame *f, int32_t number) {
    const Stage *phase = &k_stages[f->program->phase + number];
    k_run_phase(f, phase);
    if (f->status) return f->status;
    return k_constants.check ? k_check_phase(f, phase) : STRATA_OK;
}

static int32_t run(Frame *f) {
    int32_t status = STRATA_OK;
    for (int32_t i = 0; !status && i < f->program->phases; i++)
        status = run_phase(f, i);
    return status;
}

EXPORT int32_t model_logits(void *ctx, const void *w, void *arena, const int32_t *tokens, int64_t B,
                            int64_t T, float *out) {
    int32_t status = check_call(ctx, w, arena, tokens, B, T);
    if (!status) status = check_pointer(ctx, "out", out);
    if (status) return status;
    bool generated = ((Context *)ctx)->setup.flags & STRATA_AS_GENERATED;
    Frame f = frame(ctx, generated ? PROGRAM_GENERATE : PROGRAM_LOGITS, w, arena, tokens, B, T);
    f.logits = out;
    return run(&f);
}

/* == Sequences ============================================================ */

/* A position's cache would have to change when later tokens come. */
static int32_t check_causal(Context *c) {
    const char *site = strata_string(model(), model()->acausal),
               *ahead = strata_string(model(), model()->ahead);
    if (!site[0] && !ahead[0]) return STRATA_OK;
    Text t = message(c);
    put(&t, site[0] ? "the model is not causal at " : "the model chooses among later tokens at ");
    put(&t, site[0] ? site : ahead);
    put(&t, ": it cannot go token by token");
    return STRATA_ERROR_MISSING;
}

/* The last token phase works on the last position only: nothing reads the rest. */
static int32_t run_last(Frame *f, int last_logits) {
    const Program *p = f->program;
    int32_t status = STRATA_OK;
    for (int32_t i = 0; !status && i < p->phases; i++) {
        if (i == p->phases - 1 && !k_stages[p->phase + i].global) {
            if (!last_logits) break;
            f->from = f->N - 1;
            f->few = 1;
        }
        status = run_phase(f, i);
    }
    return status;
}

static int32_t finish(const Frame *f, int32_t status) {
    if (status) k_restore(f);
    else k_advance(f);
    return status;
}

EXPORT int32_t model_prefill(void *ctx, const void *w, void *state, void *arena,
                             const int32_t *tokens, int64_t n, float *logits) {
    Context *c = ctx;
    int32_t status = check_call(c, w, arena, tokens, 1, n);
    if (!status) status = check_causal(c);
    if (!status) status = k_check_state(c, state, n);
    if (status) return status;
    Frame f = frame(c, PROGRAM_GENERATE, w, arena, tokens, 1, n);
    State *one[1] = { state };
    f.states = one;
    for (int64_t i = 0; i < n; i++)
        f.position[i] = (int32_t)(one[0]->length + i);
    if (logits) f.logits = logits - (n - 1) * model()->vocab;
    status = run_last(&f, logits != 0);
    return finish(&f, status);
}

EXPORT int32_t model_decode(void *ctx, const void *w, void *const *states, int32_t batch,
                            void *arena, const int32_t *tokens, float *logits) {
    Context *c = ctx;
    int32_t status = check_call(c, w, arena, tokens, batch, 1);
    if (!status) status = check_causal(c);
    if (!status) status = check_pointer(c, "states", states);
    if (!status) status = check_pointer(c, "logits", logits);
    if (!status && batch > k_constants.chunk)
        status = fail(c, STRATA_ERROR_ARGUMENT, "the batch is ", batch, ", expected at most ",
                      k_constants.chunk);
    if (!status) status = k_check_batch(c, (State *const *)states, batch);
    if (status) return status;
    Frame f = frame(c, PROGRAM_GENERATE, w, arena, tokens, batch, 1);
    f.states = (State *const *)states;
    f.logits = logits;
    f.few = 1;
    for (int32_t b = 0; b < batch; b++) {
        f.position[b] = (int32_t)f.states[b]->length;
    }
    status = run(&f);
    return finish(&f, status);
}

/* == Loss ================================================================= */

/* A caller who set the size set what is asked of it too. */
static bool says(const strata_loss *out) { return out && out->struct_size == sizeof *out; }

static void report(const Frame *f, strata_loss *out) {
    const float *nll = k_resolve(f, &f->program->result, 0, 0);
    int64_t stride = f->program->result.stride;
    double sum = 0;
    if (!out) return;
    unsigned mode = enter_mode();
    for (int64_t i = 0; i < f->N; i++)
        sum += nll[i * stride];
    out->cross_entropy = out->loss = sum / (double)f->N;
    leave_mode(mode);
    if (f->program->loss.area != AREA_NONE) out->loss = *k_resolve(f, &f->program->loss, 0, 0);
    for (int32_t i = 0; says(out) && out->routed && i < k_constants.lists; i++)
        out->routed[i] = (double)f->list[i + 1].count / (double)f->N;
}

EXPORT int32_t model_loss(void *ctx, const void *w, void *arena, const int32_t *tokens,
                          const int32_t *targets, int64_t B, int64_t T, float *nll,
                          strata_loss *out) {
    int32_t status = check_call(ctx, w, arena, tokens, B, T);
    if (!status) status = check_targets(ctx, targets, B, T);
    if (status) return status;
    bool generated = ((Context *)ctx)->setup.flags & STRATA_AS_GENERATED;
    Frame f = frame(ctx, generated ? PROGRAM_SCORE : PROGRAM_LOSS, w, arena, tokens, B, T);
    f.targets = targets;
    status = run(&f);
    if (status) return status;
    report(&f, out);
    const float *from = k_resolve(&f, &f.program->result, 0, 0);
    for (int64_t i = 0; nll && i < f.N; i++)
        nll[i] = from[i * f.program->result.stride];
    return STRATA_OK;
}

/* == Probe: no export, main() hands them on =============================== */

size_t model_probe_arena_bytes(int64_t tokens, int32_t workers) {
    Layout l = layout(true);
    return arena_bytes(&l, tokens, workers);
}

/* A list without rows may not have been made at all. */
static void report_taken(const Frame *f, uint8_t *taken) {
    for (int32_t i = 1; i <= k_constants.lists; i++)
        for (int64_t t = 0; t < f->N; t++)
            *taken++ = f->list[i].count && f->list[i].place[t] >= 0;
}

int32_t model_probe(void *ctx, const void *w, void *arena, const int32_t *tokens,
                    const int32_t *targets, int64_t B, int64_t T, float *out, uint8_t *taken,
                    strata_loss *loss) {
    int32_t status = check_call(ctx, w, arena, tokens, B, T);
    if (!status) status = check_pointer(ctx, "out", out);
    if (!status) status = check_targets(ctx, targets, B, T);
    if (status) return status;
    Frame f = frame(ctx, PROGRAM_PROBE, w, arena, tokens, B, T);
    f.targets = targets;
    status = run(&f);
    if (status) return status;
    report(&f, loss);
    for (int32_t i = 0; i < k_constants.probe_results; i++) {
        const ProbeResult *r = &k_probe_results[i];
        const float *from = k_resolve(&f, &r->ref, 0, 0);
        for (int64_t k = 0; k < r->count; k++)
            *out++ = from[k];
    }
    if (taken) report_taken(&f, taken);
    return STRATA_OK;
}

/* == Gradients ============================================================ */

typedef struct Range {
    float *p;
    int64_t n;
} Range;

static void zero_task(void *arg, int64_t task, int32_t worker) {
    (void)worker;
    const Range *r = arg;
    int64_t first = task * ZERO_BLOCK, n = r->n - first;
    k_zero(n < ZERO_BLOCK ? n : ZERO_BLOCK, r->p + first);
}

static void zero(Context *c, float *p, int64_t n) {
    Range r = { p, n };
    k_par_for(c, (n + ZERO_BLOCK - 1) / ZERO_BLOCK, zero_task, &r);
}

/* Products overwrite most gradients; those that the caller brings add to them. */
static void start_gradients(Context *c, float *gradients) {
    if (c->setup.gemm) {
        zero(c, gradients, k_constants.gradients);
        return;
    }
    for (int64_t i = 0; i < k_constants.spans; i++)
        zero(c, gradients + k_spans[i].first, k_spans[i].count);
}

EXPORT int32_t model_forward_backward(void *ctx, const void *w, void *train, void *arena,
                                      const int32_t *tokens, const int32_t *targets, int64_t B,
                                      int64_t T, float scale, uint32_t flags, strata_range_fn final,
                                      void *user, strata_loss *out) {
    Context *c = ctx;
    if (!model()->training) return STRATA_ERROR_MISSING;
    int32_t status = check_call(c, w, arena, tokens, B, T);
    if (!status) status = check_region(c, "train", train);
    if (!status) status = check_targets(c, targets, B, T);
    if (status) return status;
    Frame f = frame(c, PROGRAM_TRAIN, w, arena, tokens, B, T);
    f.targets = targets;
    f.gradients = train;
    f.uniform[0] = scale;
    f.draw = says(out) ? out->draw : 0;
    f.uniform[2] = f.draw != 0;
    f.accumulate = flags & STRATA_ACCUMULATE;
    if (flags & STRATA_PACKED && k_constants.kept_floats) f.kept = (float *)train + kept_from();
    if (!f.accumulate) start_gradients(c, train);
    for (int32_t i = 0; i < f.program->phases; i++) {
        const Stage *p = &k_stages[f.program->phase + i];
        status = run_phase(&f, i);
        if (status) return status;
        if (final && p->final_count && final(user, p->final_first, p->final_count))
            return STRATA_ERROR_STOPPED;
    }
    report(&f, out);
    return STRATA_OK;
}
