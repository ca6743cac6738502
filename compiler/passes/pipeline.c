/* SPDX-License-Identifier: MIT
** Runs the passes.  The passes of the model make one graph; the passes of every program start from
** it.
*/
#include "pipeline.h"
#include "fatal.h"
#include "passes.h"
#include "kept_rows.h"
#include "pages.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* == The table ============================================================ */

enum { NEEDED, OPTIONAL };

const PassInfo pass_info[PASSES] = {
#define PASS(letter, name, when, optional, help) { letter, #name, PASS_##when, optional, help },
#include "passes.def"
#undef PASS
};

PassId pass_called(const char *word, size_t n) {
    for (int i = 0; i < PASSES; i++) {
        const PassInfo *p = &pass_info[i];
        bool letter = n == 1 && *word == p->letter;
        if (letter || (strlen(p->name) == n && !memcmp(word, p->name, n))) return (PassId)i;
    }
    return PASSES;
}

const char *pass_names(char *to, size_t size, bool optional) {
    size_t used = 0;
    *to = 0;
    for (int i = 0; i < PASSES && used < size; i++)
        if (!optional || pass_info[i].optional)
            used += (size_t)snprintf(to + used, size - used, "%s%s", used ? "|" : "",
                                     pass_info[i].name);
    return to;
}

const char *plan_name(int program) {
    static const char *const name[] = { "logits", "loss",  "training", "generate",
                                        "score",  "probe", "rules",    "model" };
    return name[program];
}

/* == Passes as rows ===================================================== */

/* A program, or the model, on its way through the passes. */
typedef struct PassRun {
    const PassOptions *o;
    int program;                /* PROGRAMS: the model */
    const char *const *outputs; /* NULL-ended */
    bool terms;                 /* the loss is more than its cross entropy */
    Keep keep;
    const Graph *from; /* of a program: the model's graph */
    Graph *g;          /* NULL before the first pass */
    Alike *alike;      /* NULL before that pass */
    Plan *plan;        /* of g, once there is one */
} PassRun;

static void run_two_phase(PassRun *r) { r->g = pass_two_phase(r->g, r->o->two_phase); }

static void run_outputs(PassRun *r) { r->g = graph_extract(r->from, r->outputs); }

static bool is_forward(int program) {
    return program == PROGRAM_LOGITS || program == PROGRAM_LOSS || program == PROGRAM_GENERATE
        || program == PROGRAM_SCORE;
}

/* Whether keys and values are rounded as caches store them.  A bfloat16 cache needs no rounding in
** programs whose products round to bfloat16 anyway. */
static bool rounds_keys(const PassRun *r) {
    return is_forward(r->program)
        && (r->o->cache == KEPT_Q8 || (r->o->cache == KEPT_BF16 && !r->o->bf16));
}

/* Keys are rounded as decoding stores them: programs that round them take the form of decoding. */
static void run_form(PassRun *r) {
    bool generating = r->program == PROGRAM_GENERATE || r->program == PROGRAM_SCORE;
    r->g = pass_form(r->g,
                     (Form){ generating, r->program == PROGRAM_TRAIN,
                             r->program == PROGRAM_GENERATE || rounds_keys(r) });
}

static void run_decays(PassRun *r) { r->g = pass_decays(r->g); }
static void run_gradient(PassRun *r) { pass_gradient(r->g); }

static bool is_statistic(const char *output) {
    return !strncmp(output, STATISTIC, sizeof STATISTIC - 1);
}

/* A loss without further terms is computed from the output "nll". */
static bool is_used(const char *output, void *user) {
    const PassRun *r = user;
    return (r->terms || strcmp(output, "loss")) && !is_statistic(output);
}

static void run_used(PassRun *r) { graph_keep_outputs(r->g, is_used, r); }

static void run_simplify(PassRun *r) { r->g = pass_simplify(r->g); }
static void run_precision(PassRun *r) { r->g = pass_precision(r->g); }
static void run_small(PassRun *r) { r->g = pass_small(r->g, r->o->of, r->o->bits); }
static void run_cache(PassRun *r) { r->g = pass_cache(r->g, r->o->cache); }
static void run_recompute(PassRun *r) { r->g = pass_recompute(r->g, r->keep); }
static void run_expand(PassRun *r) { r->g = pass_expand(r->g); }
static void run_alike(PassRun *r) { r->alike = pass_alike(r->g, r->o->training); }
static void run_schedule(PassRun *r) { r->plan = pass_schedule(r->g, r->alike); }

static void run_memory(PassRun *r) {
    r->plan->guarded = r->o->check;
    pass_memory(r->plan, !r->o->check);
}

static void (*const pipeline_run[PASSES])(PassRun *r) = {
#define PASS(letter, name, when, optional, help) run_##name,
#include "passes.def"
#undef PASS
};

/* == The loop ============================================================= */

static bool applies(const PassRun *r, PassId pass) {
    switch (pass_info[pass].when) {
    case PASS_MODEL: return r->program == PROGRAMS;
    case PASS_TRAINING: return r->program == PROGRAM_TRAIN;
    case PASS_READING: return is_forward(r->program) && r->o->training;
    case PASS_BF16: return r->program != PROGRAMS && r->o->bf16;
    case PASS_CACHE: return rounds_keys(r);
    case PASS_SMALL: return r->program != PROGRAMS && r->o->small != SMALL_NONE;
    default: return r->program != PROGRAMS;
    }
}

static bool is_off(const PassOptions *o, PassId pass) {
    return (pass_info[pass].optional && (o->off >> pass & 1))
        || (pass == PASS_two_phase && o->two_phase == TWO_PHASE_OFF);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run_passes(PassRun *r) {
    const PassObserver *observer = r->o->observer;
    for (int i = 0; i < PASSES; i++) {
        if (!applies(r, (PassId)i)) continue;
        const Graph *before = r->g ? r->g : r->from;
        PassEvent e = { .pass = (PassId)i,
                        .program = r->program,
                        .off = is_off(r->o, (PassId)i),
                        .before = before->n };
        double start = seconds();
        step_note(r->o->step, e.before, "pass %s of %s", pass_info[i].name, plan_name(r->program));
        if (!e.off) pipeline_run[i](r);
        e.seconds = e.off ? 0 : seconds() - start;
        e.changed = r->g != before || r->g->n != e.before;
        if (e.changed) graph_verify(r->g);
        e.g = r->g;
        if (observer) observer->see(observer->user, &e);
    }
}

/* == Programs ============================================================= */

static const char *const *outputs_of(int program, bool terms) {
    static const char *const logits[] = { "logits", NULL }, *const nll[] = { "nll", NULL },
                             *const loss[] = { "nll", "loss", NULL };
    bool reads = program == PROGRAM_LOGITS || program == PROGRAM_GENERATE;
    return reads ? logits : terms || program == PROGRAM_TRAIN ? loss : nll;
}

static Plan *plan_with(const Graph *g, int program, const char *const *outputs, Keep keep,
                       const PassOptions *o) {
    bool terms = graph_find(g, "loss") != graph_find(g, "cross_entropy");
    PassRun r = { .o = o,
                  .program = program,
                  .outputs = outputs ? outputs : outputs_of(program, terms),
                  .terms = terms,
                  .keep = keep,
                  .from = g };
    run_passes(&r);
    graph_seal(r.g);
    return r.plan;
}

static Plan *plan_program(const Graph *g, int program, const PassOptions *o) {
    return plan_with(g, program, NULL, o->keep, o);
}

/* Every output of a graph, and NULL. */
static const char **all_outputs(const Graph *g) {
    const char **name = checked_new((size_t)g->nout + 1, sizeof *name);
    for (int i = 0; i < g->nout; i++)
        name[i] = g->out[i].name;
    return name;
}

/* All outputs, including the statistics that rules of buffers read. */
static Plan *plan_step(const Graph *g, Keep keep, const PassOptions *o) {
    const char **name = checked_new((size_t)g->nout + 3, sizeof *name);
    int n = 0;
    name[n++] = "nll", name[n++] = "loss";
    for (int i = 0; i < g->nout; i++)
        if (is_statistic(g->out[i].name)) name[n++] = g->out[i].name;
    Plan *p = plan_with(g, PROGRAM_TRAIN, name, keep, o);
    free(name);
    return p;
}

static double floats_per_token(const Plan *p) {
    return (double)p->token_floats + (double)p->granule_floats / GRANULE;
}

/* Recomputed values occupy memory too: for a model with few layers, the plan with less
** recomputation may be smaller. */
static Plan *plan_training(const Graph *g, const PassOptions *o) {
    Plan *p = plan_step(g, o->keep, o);
    if (o->keep != KEEP_SMALL) return p;
    Plan *other = plan_step(g, KEEP_AUTO, o);
    bool smaller = floats_per_token(p) < floats_per_token(other);
    graph_free(smaller ? other->g : p->g);
    return smaller ? p : other;
}

/* Plans all outputs of a graph that belongs to the program. */
static Plan *plan_all(const Graph *own, int program, const PassOptions *o) {
    const char **name = all_outputs(own);
    Plan *p = plan_with(own, program, name, o->keep, o);
    free(name);
    return p;
}

ModelPlans plans_make(const Graph *g, const Graph *probe, const Graph *rules,
                      const PassOptions *o) {
    PassOptions own = *o;
    own.of = g, own.bits = o->small ? small_bits(g, probe, o->small) : NULL;
    o = &own;
    PassRun model = { .o = o, .program = PROGRAMS, .g = graph_copy(g) };
    run_passes(&model);
    bool forms = plan_has_forms(model.g), decodes = plan_has_decoding(model.g);
    ModelPlans plans = { { NULL } };
    if (!o->inference) own.training = plans.plan[PROGRAM_TRAIN] = plan_training(model.g, o);
    for (int i = 0; i < PROGRAMS; i++) {
        if (i == PROGRAM_LOGITS || i == PROGRAM_LOSS || (decodes && i == PROGRAM_GENERATE)
            || (forms && i == PROGRAM_SCORE))
            plans.plan[i] = plan_program(model.g, i, o);
        if (i == PROGRAM_PROBE && probe) plans.plan[i] = plan_all(probe, i, o);
        if (i == PROGRAM_RULES && rules && !o->inference) plans.plan[i] = plan_all(rules, i, o);
    }
    graph_free(model.g);
    if (own.training) graph_seal(own.training->g);
    free((int *)own.bits);
    pages_leave();
    return plans;
}

void plans_free(ModelPlans *plans) {
    for (int i = 0; i < PROGRAMS; i++)
        if (plans->plan[i]) graph_free(plans->plan[i]->g);
}
