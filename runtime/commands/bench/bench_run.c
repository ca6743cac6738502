/* SPDX-License-Identifier: MIT
** The command bench: random weights and tokens through one of three loops.  Steps are
** timed without the profile hook first, then a few with it.  The median step counts,
** and so do the medians of how fast memory was read and products were done between
** the steps, as what others leave of a machine changes within a second.
*/
#include "bench.h"
#include "commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "weights.h"

/* Steps; the machine is looked at before the first of EVERY, LOOKS times, so that few steps find
** colder caches. */
enum { WARM_UP = 1, EVERY = 8, LOOKS = 3 };

static void look_at_machine(Bench *b, int64_t step) {
    if (step % EVERY) return;
    for (int i = 0; i < LOOKS; i++, b->looks++) {
        b->reads[b->looks] = machine_stream_read(&b->stream, b->s.pool);
        b->products[b->looks] = machine_products(b->s.pool, machine_multiplier(b->s.m));
    }
}

static int64_t most_looks(const Bench *b) { return ((b->steps + WARM_UP) / EVERY + 2) * LOOKS; }

/* A whole decoding: prompt, then length tokens, each a step of its own. */
static int bench_run_decode(Bench *b, void *ctx, Error *e) {
    Session *s = &b->s;
    int status = bench_prefill(b, ctx, b->prompt, e);
    for (int64_t t = 0; t < b->length && !status; t++) {
        look_at_machine(b, t);
        double start = machine_now();
        status = session_check(s,
                               s->api->decode(ctx, s->weights.at, b->states, (int32_t)b->batch,
                                              s->arena.at, b->targets, b->logits),
                               "decode", e);
        b->seconds[t] = machine_now() - start;
    }
    return status;
}

static int bench_run_measure(Bench *b, Error *e) {
    void *ctx = b->s.ctx.at;
    if (b->mode == BENCH_OF_DECODE) return bench_run_decode(b, ctx, e);
    int status = STATUS_OK;
    for (int64_t i = 0; i < WARM_UP + b->steps && !status; i++) {
        look_at_machine(b, i);
        status = bench_step(b, ctx, i + 1, i < WARM_UP ? NULL : &b->seconds[i - WARM_UP], e);
    }
    return status;
}

static int measure_kernels(Bench *b, Error *e) {
    Region ctx = { 0 };
    int status = profile_open(&b->profile, b->s.m, b->s.workers, e);
    if (!status) status = session_profile(&b->s, &ctx, profile_hook, &b->profile, e);
    if (!status && b->mode == BENCH_OF_DECODE) {
        status = bench_prefill(b, ctx.at, b->prompt, e);
        memset(b->profile.seconds, 0,
               (size_t)b->profile.workers * (size_t)b->profile.stride * sizeof(double));
        int64_t length = b->length < 16 ? b->length : 16;
        for (int64_t t = 0; t < length && !status; t++)
            status = session_check(&b->s,
                                   b->s.api->decode(ctx.at, b->s.weights.at, b->states,
                                                    (int32_t)b->batch, b->s.arena.at, b->targets,
                                                    b->logits),
                                   "decode", e);
        b->profiled = length;
    } else if (!status) {
        for (int64_t i = 0; i < BENCH_PROFILED && !status; i++)
            status = bench_step(b, ctx.at, WARM_UP + b->steps + i + 1, NULL, e);
        b->profiled = BENCH_PROFILED;
    }
    region_close(&ctx);
    return status;
}

static int too_long(const Bench *b, const char *what, int64_t found, Error *e) {
    return error_set(e, STATUS_USER,
                     "bench: %s: expected at most the context, %d tokens, found %lld", what,
                     b->s.m->context, (long long)found);
}

static int choose(Bench *b, Error *e) {
    const Program *p = b->p;
    const strata_model *m = p->m;
    const OptionValue *prefill = option(p, OPTION_PREFILL), *decode = option(p, OPTION_DECODE);
    const OptionValue *length = option(p, OPTION_LENGTH), *batch = option(p, OPTION_BATCH);
    bool train = option(p, OPTION_BENCH_TRAIN)->given;
    if (train + !!prefill->given + !!decode->given > 1)
        return error_set(e, STATUS_USAGE,
                         "bench: expected one of --train, --prefill and --decode, found several");
    b->mode = prefill->given ? BENCH_OF_PREFILL : decode->given ? BENCH_OF_DECODE : BENCH_OF_TRAIN;
    if (b->mode == BENCH_OF_TRAIN && !train && !m->training) b->mode = BENCH_OF_PREFILL;
    if (b->mode == BENCH_OF_TRAIN && !m->training)
        return error_set(e, STATUS_USER, "bench: --train: %s was built with --inference",
                         model_text(p, m->name));
    if (b->mode != BENCH_OF_TRAIN) { /* token by token */
        int status = program_causal(
            p, b->mode == BENCH_OF_DECODE ? "bench: --decode" : "bench: --prefill", e);
        if (status) return status;
    }
    if (length->given && length->length != 1)
        return error_set(e, STATUS_USAGE, "bench: --length: expected one number, found %d",
                         length->length);
    if (b->mode == BENCH_OF_DECODE && length->given)
        return error_set(e, STATUS_USAGE,
                         "bench: --length: expected with --train only, found with --decode");
    if (b->mode == BENCH_OF_DECODE && option(p, OPTION_BENCH_STEPS)->given)
        return error_set(e, STATUS_USAGE,
                         "bench: --steps: expected with --train or --prefill, found with --decode, "
                         "whose tokens are its steps");
    b->length = prefill->given ? prefill->count
        : decode->given        ? decode->count
        : length->given        ? length->counts[0]
                               : m->context;
    b->prompt = option(p, OPTION_BENCH_PROMPT)->count;
    b->batch = batch->given ? batch->count : b->mode == BENCH_OF_TRAIN ? m->batch : 1;
    b->steps = b->mode == BENCH_OF_DECODE ? b->length : option(p, OPTION_BENCH_STEPS)->count;
    return STATUS_OK;
}

static int force_routes(Bench *b, Error *e) {
    const OptionValue *share = option(b->p, OPTION_ROUTED_SHARE);
    if (!share->given) return STATUS_OK;
    if (!b->p->m->routed)
        return error_set(e, STATUS_USER,
                         "bench: --routed-share: expected a model with routes, found none in %s",
                         model_text(b->p, b->p->m->name));
    b->s.setup.routed = 1 + (int32_t)(share->number * 1e6 + 0.5);
    return session_setup(&b->s, e);
}

/* The share of tokens that routes take here: what is forced, or what they decide. */
static int find_share(Bench *b, Error *e) {
    const OptionValue *forced = option(b->p, OPTION_ROUTED_SHARE);
    int32_t routes = b->s.m->routed;
    int64_t time = b->mode == BENCH_OF_DECODE ? b->prompt : b->length;
    b->share = forced->given ? forced->number : 1;
    if (forced->given || !routes) return STATUS_OK;
    double *share = calloc((size_t)routes, sizeof *share);
    float *nll = calloc((size_t)time, sizeof *nll);
    strata_loss loss = { .struct_size = sizeof loss, .routed = share };
    int status = share && nll
        ? session_check(&b->s,
                        b->s.api->loss(b->s.ctx.at, b->s.weights.at, b->s.arena.at, b->tokens,
                                       b->targets, 1, time, nll, &loss),
                        "loss", e)
        : error_memory(e, "shares", (size_t)time * sizeof *nll);
    b->share = 0;
    for (int32_t i = 0; !status && i < routes; i++)
        b->share += share[i] / routes;
    free(share);
    free(nll);
    return status;
}

static int check_lengths(const Bench *b, Error *e) {
    int64_t all = b->length + (b->mode == BENCH_OF_DECODE ? b->prompt : 0);
    if (all <= b->s.m->context) return STATUS_OK;
    return too_long(b,
                    b->mode == BENCH_OF_TRAIN         ? "--length"
                        : b->mode == BENCH_OF_PREFILL ? "--prefill"
                                                      : "--prompt and --decode",
                    all, e);
}

static int open_states(Bench *b, Error *e) {
    b->state = calloc((size_t)b->batch, sizeof *b->state);
    b->states = calloc((size_t)b->batch, sizeof *b->states);
    b->logits = calloc((size_t)b->batch * (size_t)b->s.m->vocab, sizeof *b->logits);
    if (!b->state || !b->states || !b->logits)
        return error_memory(e, "sequences",
                            (size_t)b->batch * (size_t)b->s.m->vocab * sizeof *b->logits);
    int status = STATUS_OK;
    for (int64_t i = 0; i < b->batch && !status; i++) {
        status = session_state(&b->s, &b->state[i], b->s.m->context, e);
        b->states[i] = b->state[i].at;
    }
    return status;
}

static int open_bench(Bench *b, Error *e) {
    Session *s = &b->s;
    int64_t width = b->mode == BENCH_OF_DECODE ? b->prompt : b->length, n = b->batch * width;
    int64_t at_once = b->mode == BENCH_OF_TRAIN ? n : width > b->batch ? width : b->batch;
    b->tokens = malloc((size_t)n * sizeof *b->tokens);
    b->targets = malloc((size_t)n * sizeof *b->targets);
    b->seconds = calloc((size_t)b->steps, sizeof *b->seconds);
    b->reads = calloc((size_t)most_looks(b), sizeof *b->reads);
    b->products = calloc((size_t)most_looks(b), sizeof *b->products);
    if (!b->tokens || !b->targets || !b->seconds || !b->reads || !b->products)
        return error_memory(e, "tokens", (size_t)n * sizeof *b->tokens * 2);
    for (int64_t i = 0; i < n; i++) {
        b->tokens[i] = (int32_t)random_below(1, (uint64_t)i, 0, (uint64_t)s->m->vocab);
        b->targets[i] = (int32_t)random_below(1, (uint64_t)i, 1, (uint64_t)s->m->vocab);
    }
    int status = session_weights(s, e);
    if (!status && b->mode == BENCH_OF_TRAIN) status = session_train(s, e);
    if (!status) status = session_arena(s, at_once, b->mode == BENCH_OF_DECODE, e);
    if (!status && b->mode != BENCH_OF_TRAIN) status = open_states(b, e);
    if (!status) weights_init(s->m, s->m->seed, session_write_weights(s));
    return status;
}

static void close_bench(Bench *b) {
    for (int64_t i = 0; b->state && i < b->batch; i++)
        region_close(&b->state[i]);
    free(b->state);
    free(b->states);
    free(b->logits);
    free(b->tokens);
    free(b->targets);
    free(b->seconds);
    free(b->reads);
    free(b->products);
    machine_stream_close(&b->stream);
    profile_close(&b->profile);
    bench_ways_close(b);
    session_close(&b->s);
}

/* The larger of two looks, as something else may run while this one is taken. */
static void look_at_peak(Bench *b) {
    Multiplier m = machine_multiplier(b->s.m);
    b->peak = fmax(b->peak, machine_peak(b->s.pool, m));
    if (m == MULTIPLY_PARTS)
        b->vectors = fmax(b->vectors, machine_peak(b->s.pool, MULTIPLY_FLOATS));
}

/* The steps, with what the machine gives meanwhile; the stream is not counted in the memory that
** they need. */
static int measure_beside_machine(Bench *b, Error *e) {
    double before = machine_memory_peak();
    machine_stream_open(&b->stream, b->s.pool);
    int status = bench_run_measure(b, e);
    if (status) return status;
    look_at_machine(b, 0);
    b->median = bench_median(b->seconds, b->steps);
    b->bandwidth = bench_median(b->reads, b->looks);
    b->meanwhile = bench_median(b->products, b->looks);
    b->memory = fmax(before, machine_memory_peak() - (double)b->stream.bytes);
    return STATUS_OK;
}

static int bench(Bench *b, Error *e) {
    int status = choose(b, e);
    if (!status) status = program_session(b->p, &b->s, e);
    if (!status) status = force_routes(b, e);
    if (!status) status = check_lengths(b, e);
    if (!status) status = open_bench(b, e);
    if (status) return status;
    look_at_peak(b);
    status = find_share(b, e);
    if (!status) status = measure_beside_machine(b, e);
    if (!status) status = measure_kernels(b, e);
    if (!status) status = bench_ways(b, e);
    if (status) return status;
    look_at_peak(b);
    return bench_report(b, e);
}

int command_bench(const Program *p, Error *e) {
    Bench b = { .p = p };
    int status = bench(&b, e);
    close_bench(&b);
    return status;
}
