/* SPDX-License-Identifier: MIT
** From a spec to its Report: loads it, plans its programs, adds up what their
** steps cost.  No code is generated, so this is fast for any depth.
*/
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "model_info.h"
#include "planned.h"
#include "pass_notes.h"
#include "plan.h"
#include "routed.h"

/* == Work ================================================================= */

static void report_add(Work *w, Work more) {
    w->calls += more.calls;
    w->flops += more.flops;
    w->bytes += more.bytes;
    w->operations += more.operations;
    w->functions += more.functions;
}

double report_tokens(const Model *m) { return (double)m->train.batch * (double)m->context; }

/* One call's work, per token. */
static Work work_of(const Model *m, const PlannedStep *s) {
    const StepCost *c = &s->cost;
    return (Work){ 1, c->flops_per_token + c->flops_per_pair * (double)(m->context + 1) / 2,
                   c->bytes_per_token + c->bytes_constant / report_tokens(m), s->operations,
                   s->functions };
}

Work report_step_work(const Report *r, int plan, int step) {
    return work_of(r->model, &r->planned.step[plan][step]);
}

static void count_program(Report *r, int plan, int kind) {
    const Plan *p = r->planned.plans.plan[plan];
    for (int i = 0; i < p->nstep; i++) {
        const PlannedStep *s = &r->planned.step[plan][i];
        Work w = work_of(r->model, s);
        ReportKernel *k = &r->kernel[s->kernel];
        if (!k->work[FORWARD].calls && !k->work[TRAINING].calls) k->plan = plan, k->step = i;
        report_add(&k->work[kind], w);
        report_add(&r->work[kind], w);
    }
}

static ReportFamily *family_of(Report *r, const char *name) {
    for (int i = 0; i < r->nfamily; i++)
        if (!strcmp(r->family[i].name, name)) return &r->family[i];
    r->family[r->nfamily].name = name;
    return &r->family[r->nfamily++];
}

static void count_families(Report *r) {
    for (int i = 0; i < r->nkernel; i++) {
        ReportFamily *f = family_of(r, r->kernel[i].family);
        f->kernels++;
        for (int k = 0; k < WORKS; k++)
            report_add(&f->work[k], r->kernel[i].work[k]);
    }
}

/* Kernels that only the loss alone calls are those of a training step or of reading. */
static void drop_uncalled(Report *r) {
    int n = 0;
    for (int i = 0; i < r->nkernel; i++)
        if (r->kernel[i].work[FORWARD].calls || r->kernel[i].work[TRAINING].calls)
            r->kernel[n++] = r->kernel[i];
    r->nkernel = n;
}

static bool count_work(Report *r) {
    const CompiledModel *c = &r->planned.code;
    r->nkernel = c->nkernel;
    r->kernel = calloc((size_t)c->nkernel + 1, sizeof *r->kernel);
    r->family = calloc((size_t)c->nkernel + 1, sizeof *r->family);
    if (!r->kernel || !r->family) return false;
    for (int i = 0; i < c->nkernel; i++) {
        const KernelInfo *k = &c->kernel[i];
        r->kernel[i] = (ReportKernel){ .name = k->name,
                                       .family = k->family,
                                       .openblas = k->blas & STRATA_BLAS_DOES };
    }
    if (r->training) count_program(r, PROGRAM_TRAIN, TRAINING);
    count_program(r, PROGRAM_LOGITS, FORWARD);
    drop_uncalled(r);
    count_families(r);
    return true;
}

/* == Time ================================================================= */

RateWork report_all_work(const Report *r, const Work *w) {
    double tokens = report_tokens(r->model);
    return (RateWork){ tokens * w->flops, tokens * w->functions, tokens * w->bytes };
}

/* Weights, gradients and moments, each read and written once. */
double report_update_bytes(const Report *r) {
    const ReportMemory *m = &r->memory;
    if (!r->training) return 0;
    return 2.0 * (double)(m->weights + m->gradients + m->optimizer);
}

static void predict(Report *r, const Rates *given) {
    Rates fallback = rates_default(r->planned.lanes, r->planned.tiles, given ? given->threads : 1);
    r->rates = given && given->measured && !strcmp(r->planned.code.cpu, codegen_native())
        ? *given
        : fallback;
    for (int k = 0; k < WORKS; k++) {
        for (int i = 0; i < r->nkernel; i++)
            r->seconds[k] += rates_seconds(&r->rates, r->kernel[i].family,
                                           report_all_work(r, &r->kernel[i].work[k]));
        r->seconds[k] *= 1 + r->rates.waiting;
    }
    RateWork update = { .bytes = report_update_bytes(r) };
    r->seconds[TRAINING] += rates_seconds(&r->rates, "row", update);
}

/* == Memory and reads ===================================================== */

static void count_memory(Report *r) {
    const strata_model *m = &r->planned.code.model;
    int64_t gradients = 4 * m->gradients,
            optimizer = 4 * (m->gradients + m->second_moments) + m->muon_bytes;
    r->memory = (ReportMemory){
        .weights = m->weights_bytes,
        .gradients = gradients,
        .optimizer = optimizer,
        .packed = m->train_bytes - gradients - optimizer,
        .per_token = m->arena_per_token,
        .per_worker = m->arena_per_worker,
        .constant = m->arena_constant,
        .control = m->ctx_bytes,
        .state_per_token = m->state_per_token,
        .state_constant = m->state_constant,
        .state_carried = m->state_carried,
    };
}

/* Neither frozen nor buffers. */
static void count_trained(Report *r) {
    const Graph *g = r->model->graph;
    for (int i = 0; i < g->nparam; i++) {
        const Param *p = &g->param[i];
        if (p->tuning.frozen) r->frozen += param_tensors(p->node);
        else if (!p->node->attr->buffer) r->trained += shape_count(&p->node->shape);
    }
}

static void count_reads(Report *r) {
    const Model *m = r->model;
    int64_t sum = 0;
    for (int i = 0; i + 1 < m->nread; i++) {
        sum += m->read[i].sources;
        if (m->read[i].sources > r->sources_most) r->sources_most = m->read[i].sources;
    }
    r->sources_average = m->nread > 1 ? (double)sum / (m->nread - 1) : 0;
}

/* == All of it ============================================================ */

static int report_make(Report *r, const ReportOptions *o, Error *e) {
    ModelInfo info = model_info(r->model);
    PassObserver observer = { pass_notes_see, r };
    r->training = !o->passes.inference;
    r->bf16 = o->passes.bf16;
    r->wanted = o->after;
    CodegenOptions options = { .cpu = o->cpu,
                               .passes = o->passes,
                               .products = o->products,
                               .ratios = o->ratios,
                               .prefix = r->model->name };
    options.passes.observer = &observer;
    int status = planned_make(r->model->graph, &info, &options, &r->planned, e);
    if (status) return status;
    if (!count_work(r))
        return error_memory(e, "strata inspect",
                            (size_t)r->planned.code.nkernel * sizeof *r->kernel);
    count_memory(r);
    if (!r->bf16 && !r->planned.code.model.small) predict(r, o->rates);
    count_trained(r);
    count_reads(r);
    r->traffic = report_traffic(r);
    return STATUS_OK;
}

static Report *report_loaded(Model *load(const char *, const SpecLimits *, Error *),
                             const char *spec, const ReportOptions *o, Error *e) {
    Report *r = calloc(1, sizeof *r);
    if (!r) return error_memory(e, "strata inspect", sizeof *r), NULL;
    r->model = load(spec, o->limits, e);
    if (r->model && !report_make(r, o, e)) return r;
    report_free(r);
    return NULL;
}

static int no_routes(const Report *r, Error *e) {
    if (!r->asked.shares && !r->asked.lengths) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "strata inspect: %s: expected a model with routes, found none in %s",
                     r->asked.shares ? "--routed-share" : "--length", r->model->name);
}

/* With what routes are measured against, if there are any. Lists that are there without routes too,
** a mixer's, are counted alike on both sides. */
static int add_dense(Report *r, const char *spec, const ReportOptions *o, Error *e) {
    r->asked = o->asked;
    if (!graph_lists(r->model->graph)) return no_routes(r, e);
    for (int i = 0; r->planned.code.model.learned_positions && i < r->asked.lengths; i++)
        if (r->asked.length[i] > r->model->context)
            return error_set(e, STATUS_USER,
                             "strata inspect: --length: expected at most the context, %lld: %s "
                             "learns its positions; found %lld",
                             (long long)r->model->context, r->model->name,
                             (long long)r->asked.length[i]);
    SpecLimits again = o->limits ? *o->limits : spec_limits;
    ReportOptions twin = *o;
    again.console = NULL; /* what it prints was printed */
    twin.limits = &again;
    r->dense = report_loaded(spec_load_dense, spec, &twin, e);
    if (!r->dense) return e->status;
    if (graph_lists(r->dense->model->graph) == graph_lists(r->model->graph)) {
        report_free(r->dense);
        r->dense = NULL;
        return no_routes(r, e);
    }
    return routed_prepare(r) && routed_prepare(r->dense)
        ? STATUS_OK
        : error_memory(e, "strata inspect", (size_t)r->model->graph->n);
}

Report *report_new(const char *spec, const ReportOptions *o, Error *e) {
    Report *r = report_loaded(spec_load, spec, o, e);
    if (!r || !o->routed || !add_dense(r, spec, o, e)) return r;
    report_free(r);
    return NULL;
}

void report_free(Report *r) {
    if (!r) return;
    planned_free(&r->planned);
    spec_free(r->model);
    free(r->kernel);
    free(r->family);
    free(r->list);
    free(r->after);
    report_free(r->dense);
    free(r);
}
