/* SPDX-License-Identifier: MIT
** See spec_trial.h. */
#include "spec_trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"

typedef struct Asking {
    const SpecTrial *t;
    Model *m;
    CodegenOptions options;
    Compiled c;
    Case *x;    /* of batch * time tokens */
    Expected e; /* of x */
} Asking;

__attribute__((format(printf, 2, 3))) static int differs(const Asking *a, const char *words, ...) {
    va_list list;
    va_start(list, words);
    fprintf(stderr, "%s: ", a->m->name);
    vfprintf(stderr, words, list);
    fprintf(stderr, "\n");
    va_end(list);
    return TRIAL_DIFFERS;
}

static void *take(int64_t count) {
    float *p = calloc((size_t)count + 1, sizeof *p);
    if (!p) abort();
    return p;
}

static bool same(const float *a, const float *b, int64_t count) {
    return !memcmp(a, b, (size_t)count * sizeof *a);
}

/* == The interpreter ====================================================== */

static const CodegenOptions *build_of(Asking *a, int turn) {
    const char *const *cpu = compiled_cpus();
    static const int chunk[] = { 0, 64, 128, 0 };
    uint64_t seed = a->t->seed + (uint64_t)turn;
    int n = 0;
    while (cpu[n])
        n++;
    a->options = (CodegenOptions){ .cpu = cpu[seed % (uint64_t)n],
                                   .chunk = chunk[seed % 4],
                                   .level = turn && seed % 8 == 3 ? 2 : 0,
                                   .passes = { .keep = (Keep)(seed % 3),
                                               .two_phase = (TwoPhase)(seed / 3 % 3),
                                               .bf16 = a->t->bf16 } };
    return &a->options;
}

static void open_case(Asking *a, int64_t batch, int64_t time) {
    a->x = compiled_case(a->m->graph, a->t->seed, batch, time, (int)a->m->vocab);
    if (a->t->bf16) expected_open_bf16(&a->e, a->x);
    else expected_open(&a->e, a->x, op_info);
}

static void close_case(Asking *a) {
    expected_close(&a->e);
    case_free(a->x);
}

static int64_t most_sources(const Asking *a) {
    int64_t sources = 1;
    for (int i = 0; i < a->m->nread; i++)
        if (a->m->read[i].sources > sources) sources = a->m->read[i].sources;
    return sources;
}

/* What differs is judged by how far the interpreter's own results move where parameters move by
** float32's rounding. */
static int judged(Asking *a, const char *why) {
    return case_is_shaky(a->x, &a->e, most_sources(a)) ? TRIAL_SHAKY : differs(a, "%s", why);
}

/* Of results that move too little for that, a difference is not larger than a few times what they
** move.  Of bfloat16, an operand that lies between two of them may be rounded the other way than in
** the interpreter. */
static int judged_near(Asking *a, Instance *r, const char *why) {
    char again[512];
    bool bf16 = a->t->bf16;
    double few = bf16 ? 4 : 2;
    Allowed own = a->e.allowed,
            moves = case_moves(a->x, &a->e, bf16 ? 2e-5 : case_rounding(most_sources(a)), bf16);
    a->e.allowed = (Allowed){ own.value + few * moves.value, own.gradient + few * moves.gradient };
    bool near = compiled_agrees(r, a->x, &a->e, again, sizeof again);
    a->e.allowed = own;
    if (near) return TRIAL_SHAKY;
    if (!bf16) return judged(a, why);
    return differs(a, "%s, where rounding moves %.1e and %.1e: %s", why, moves.value,
                   moves.gradient, again);
}

static int agrees(Asking *a, const Compiled *c, int64_t batch, int64_t time, int workers) {
    char inner[512] = "", why[700];
    Instance r;
    open_case(a, batch, time);
    instance_open(&r, c, batch * time, workers);
    instance_weights(&r, a->x);
    int status = TRIAL_AGREES;
    if (!compiled_agrees(&r, a->x, &a->e, inner, sizeof inner)) {
        snprintf(why, sizeof why, "batch %d, time %d, %s, level %d: %s", (int)batch, (int)time,
                 a->options.cpu, a->options.level, inner);
        status = judged_near(a, &r, why);
    }
    instance_close(&r);
    close_case(a);
    return status;
}

static int the_interpreter(Asking *a) {
    int64_t context = a->m->context, time = 1 + (int64_t)(a->t->seed % (uint64_t)context);
    int status = agrees(a, &a->c, 2, context, 1);
    return status ? status : agrees(a, &a->c, 3, time, 2);
}

static int differences(Asking *a) {
    if (a->t->seed % 2 || a->t->bf16) return TRIAL_AGREES;
    int64_t time = a->m->context < 3 ? a->m->context : 3;
    Case *x = case_new(a->m->graph, a->t->seed, 1, time, (int)a->m->vocab, -0.7, 0.7);
    double error = case_gradient_error(x, op_info);
    case_free(x);
    /* those of a sum of thousands of terms are less exact than those of little graphs */
    if (error <= 100 * GRADIENT_TOLERANCE) return TRIAL_AGREES;
    return error < 1e-3 ? TRIAL_SHAKY : differs(a, "gradients are wrong by %.1e", error);
}

static int another_build(Asking *a) {
    if (a->t->seed % 4 != 1) return TRIAL_AGREES;
    Compiled other;
    ModelInfo info = spec_info(a->m);
    compiled_open(&other, a->m->graph, &info, build_of(a, 1));
    int status = agrees(a, &other, 2, a->m->context, 1);
    compiled_close(&other);
    return status;
}

/* == Bits ================================================================= */

/* Results of a call on 'x'. */
typedef struct Bits {
    float *logits, *gradients;
    int64_t nlogits, ngradients;
} Bits;

static Bits bits_of(const Compiled *c, const Case *x, int workers) {
    Instance r;
    strata_loss loss = { .struct_size = sizeof loss };
    instance_open(&r, c, x->batch * x->time, workers);
    instance_weights(&r, x);
    Bits b = { .nlogits = x->batch * x->time * c->model->vocab, .ngradients = gradient_floats(c) };
    b.logits = logits_of(&r, x->tokens, x->batch, x->time);
    b.gradients = gradients_of(&r, x->tokens, x->targets, x->batch, x->time, &loss);
    instance_close(&r);
    return b;
}

static void free_bits(Bits *b) { free(b->logits), free(b->gradients); }

static int compare_bits(const Asking *a, const Bits *x, const Bits *y, const char *what) {
    if (!same(x->logits, y->logits, x->nlogits)) return differs(a, "logits: %s", what);
    if (!same(x->gradients, y->gradients, x->ngradients)) return differs(a, "gradients: %s", what);
    return TRIAL_AGREES;
}

/* More tokens than a chunk has: workers share them; another build has them in other chunks. */
static int workers_and_chunks(Asking *a) {
    int64_t time = a->m->context, batch = 140 / time + 1;
    Case *x = compiled_case(a->m->graph, a->t->seed, batch, time, (int)a->m->vocab);
    Bits one = bits_of(&a->c, x, 1), two = bits_of(&a->c, x, 2);
    int status = compare_bits(a, &one, &two, "two workers have other bits than one");
    if (!status && a->t->seed % 6 == 2) {
        Compiled other;
        ModelInfo info = spec_info(a->m);
        CodegenOptions o = *build_of(a, 0);
        o.chunk = a->c.model->chunk == 64 ? 192 : 64;
        compiled_open(&other, a->m->graph, &info, &o);
        Bits chunks = bits_of(&other, x, 2);
        status = compare_bits(a, &one, &chunks, "other chunks have other bits");
        free_bits(&chunks);
        compiled_close(&other);
    }
    free_bits(&one), free_bits(&two);
    case_free(x);
    return status;
}

static int batch_and_alone(Asking *a) {
    int64_t time = a->m->context, V = a->m->vocab;
    Instance r;
    Case *x = compiled_case(a->m->graph, a->t->seed, 3, time, (int)V);
    instance_open(&r, &a->c, 3 * time, 1);
    instance_weights(&r, x);
    float *all = logits_of(&r, x->tokens, 3, time);
    int status = TRIAL_AGREES;
    for (int i = 0; i < 3 && !status; i++) {
        float *one = logits_of(&r, x->tokens + i * time, 1, time);
        if (!same(one, all + i * time * V, time * V))
            status = differs(a, "sequence %d alone has other bits than in a batch", i);
        free(one);
    }
    free(all);
    instance_close(&r);
    case_free(x);
    return status;
}

/* == Decoding ============================================================= */

static double decoded_apart(Asking *a, Instance *r, const int *prompt, int64_t time, bool *bits) {
    int64_t V = a->m->vocab;
    double most = 0;
    instance_set_up(r, (strata_setup){ .flags = STRATA_AS_GENERATED });
    float *whole = logits_of(r, a->x->tokens, 3, time),
          *steps = decoded_logits(r, a->x->tokens, 3, time, prompt);
    for (int i = 0; i < 3; i++) {
        int64_t first = (i * time + prompt[i] - 1) * V, count = (time - prompt[i] + 1) * V;
        most = fmax(most, difference(steps + first, whole + first, count));
        float *alone = decoded_logits(r, a->x->tokens + i * time, 1, time, &prompt[i]);
        *bits = *bits && same(alone + (prompt[i] - 1) * V, steps + first, count);
        free(alone);
    }
    free(whole), free(steps);
    return most;
}

static int decoding(Asking *a) {
    if (a->m->acausal || a->m->ahead || a->t->bf16) return TRIAL_AGREES;
    int64_t time = a->m->context;
    int some = 1 + (int)(a->t->seed % (uint64_t)time), prompt[] = { 1, some, (int)time };
    bool bits = true;
    int status = TRIAL_AGREES;
    Instance r;
    open_case(a, 3, time);
    instance_open(&r, &a->c, 3 * time, 1 + (int)(a->t->seed % 2));
    instance_weights(&r, a->x);
    double apart = decoded_apart(a, &r, prompt, time, &bits);
    if (!bits) status = differs(a, "decoded alone has other bits than in a batch");
    else if (!(apart <= 6e-5)) { /* either may be off by half of that */ char why[80];
        snprintf(why, sizeof why, "decoded logits are %.1e from those of the full pass", apart);
        status = judged(a, why);
    }
    instance_close(&r);
    close_case(a);
    return status;
}

/* == Resuming ============================================================= */

enum { STEPS = 4 };

static void steps(Instance *r, const Case *x, int from, int to) {
    const strata_api *api = &r->c->api;
    guarded_writable(&r->weights, true);
    for (int i = from; i < to; i++) {
        strata_adamw how = instance_adamw(1, i + 1);
        free(gradients_of(r, x->tokens, x->targets, x->batch, x->time, NULL));
        if (api->update(r->ctx.at, r->weights.at, r->train.at, 0, gradient_floats(r->c), &how))
            abort();
    }
}

static float *trained(Asking *a, const Case *x, int stop, int64_t *floats) {
    int64_t tokens = x->batch * x->time, weights = a->c.model->weights_bytes / 4,
            moments = 3 * gradient_floats(&a->c);
    Instance first, second;
    instance_open(&first, &a->c, tokens, 1);
    instance_weights(&first, x);
    steps(&first, x, 0, stop);
    instance_open(&second, &a->c, tokens, 2);
    instance_weights(&second, x);
    guarded_writable(&second.weights, true);
    memcpy(second.weights.at, first.weights.at, (size_t)weights * sizeof(float));
    memcpy(second.train.at, first.train.at, (size_t)moments * sizeof(float));
    steps(&second, x, stop, STEPS);
    float *out = take(weights);
    memcpy(out, second.weights.at, (size_t)weights * sizeof *out);
    *floats = weights;
    instance_close(&first), instance_close(&second);
    return out;
}

static int resuming(Asking *a) {
    int64_t n;
    Case *x = compiled_case(a->m->graph, a->t->seed, 2, a->m->context, (int)a->m->vocab);
    float *straight = trained(a, x, 0, &n),
          *resumed = trained(a, x, 1 + (int)(a->t->seed % (STEPS - 1)), &n);
    bool good = same(straight, resumed, n);
    free(straight), free(resumed);
    case_free(x);
    return good ? TRIAL_AGREES : differs(a, "resumed training has other bits");
}

/* == All ================================================================== */

int spec_trial(const SpecTrial *t) {
    static int (*const ask[])(Asking *) = { the_interpreter, workers_and_chunks, batch_and_alone,
                                            decoding,        resuming,           another_build,
                                            differences };
    Asking a = { .t = t };
    Error error;
    int status = TRIAL_AGREES, shaky = TRIAL_AGREES;
    a.m = spec_load(t->path, NULL, &error);
    if (!a.m) return fprintf(stderr, "%s\n", error.text), TRIAL_REFUSED;
    ModelInfo info = spec_info(a.m);
    compiled_open(&a.c, a.m->graph, &info, build_of(&a, 0));
    for (size_t i = 0; i < sizeof ask / sizeof *ask && (!status || status == TRIAL_SHAKY); i++) {
        status = ask[i](&a);
        if (status == TRIAL_SHAKY) shaky = status;
    }
    compiled_close(&a.c);
    spec_free(a.m);
    return status ? status : shaky;
}
