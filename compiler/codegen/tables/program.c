/* SPDX-License-Identifier: MIT
** Writes the programs of a model (logits, loss, training) as the tables that driver.c executes.
*/
#include "tables.h"

#include <stdlib.h>

#include "packed.h"

/* Floats that a phase has to pack weights in. */
enum { PACKED = 16 << 20 };

/* In the order in which they are written. */
static const ProgramKind program_kinds[PROGRAMS] = {
    { .which = PROGRAM_LOGITS, .instead = -1, .counts = true },
    { .which = PROGRAM_LOSS, .instead = -1 },
    { .which = PROGRAM_GENERATE, .instead = PROGRAM_LOGITS },
    { .which = PROGRAM_SCORE, .instead = PROGRAM_LOSS },
    { .which = PROGRAM_TRAIN, .instead = -1, .trains = true },
    { .which = PROGRAM_PROBE, .instead = -1, .probes = true },
    { .which = PROGRAM_RULES, .instead = -1, .rules = true },
};

/* == One program ========================================================== */

static void place_nodes(Tables *t, Plan *p) {
    p->place = graph_alloc(p->g, ((size_t)p->g->n + 1) * sizeof *p->place);
    for (int i = 0; i < p->g->n; i++) {
        const Node *n = p->g->node[i];
        if (n->op == OP_param || n->op == OP_statistic) {
            p->place[i] = params_at(&t->layout, n->attr->name);
            if (p->place[i] < 0) bug(n, "has no place");
        }
        if (n->op == OP_wave) p->place[i] = wave_add(t, n->attr);
    }
}

static void add_step(Tables *t, const Plan *p, const ProgramKind *kind, int step,
                     RowsShared shared) {
    Rows *rows = action_add(t, p, kind, step, shared);
    Action *a = &LIST(t->bytes.action, Action, t->bytes.action.n - 1);
    if (t->bytes.constants.check) regions_reach(&t->bytes, &t->bytes.program[kind->which], a, rows);
    if (kind->probes || kind->rules) return;
    PlannedStep cost = cost_add(
        t, p, kind, step, rows ? LIST(t->kernels.row, RowKernel *, a->row.kernel) : NULL, rows);
    a->profile = cost.kernel;
    LIST(t->costs.kernel, KernelInfo, cost.kernel).blas |= product_chosen(a);
    if (t->costs.planned) t->costs.planned->step[kind->which][step] = cost;
}

/* Room for the weights of a token phase's products, packed before its tasks; what would make
** it larger than PACKED is packed by each task.  Returns the room, in floats. */
static int64_t place_packed(Tables *t, const Stage *s) {
    int64_t room = 0, most = t->rates.parts ? PACKED / 2 * 3 : PACKED; /* as many weights */
    for (int i = 0; !s->global && i < s->count; i++) {
        Action *a = &LIST(t->bytes.action, Action, s->first + i);
        if ((a->what != DO_LINEAR && a->what != DO_LINEAR_BACK) || a->product.small) continue;
        int64_t floats = packed_floats(a->product.columns, a->product.steps, 2 * t->rates.lanes,
                                       t->rates.pairs       ? PACKED_PAIRS
                                           : t->rates.parts ? PACKED_PARTS
                                                            : PACKED_FLOATS);
        if (room + floats > most) continue;
        a->product.packed = room;
        room += floats;
    }
    return room;
}

/* Whether any operand of the phase's actions is sums of granules. */
static bool has_sums(const Tables *t, const Stage *s) {
    for (int i = 0; i < s->count; i++) {
        const Action *a = &LIST(t->bytes.action, Action, s->first + i);
        for (int k = 0; k < a->refs; k++)
            if (LIST(t->bytes.ref, Ref, a->ref + k).area == AREA_GRANULE) return true;
    }
    return false;
}

static void add_phase(Tables *t, const Plan *p, const ProgramKind *kind, int phase,
                      RowsShared shared) {
    const Phase *from = &p->phase[phase];
    ModelProgram *out = &t->bytes.program[kind->which];
    Stage s = {
        .first = t->bytes.action.n, .count = from->count, .global = from->global, .list = from->list
    };
    int attention = 0;
    if (kind->trains) params_final(&t->layout, phase, &s);
    for (int k = 0; k < from->count; k++) {
        add_step(t, p, kind, from->first + k, shared);
        attention += LIST(t->bytes.action, Action, t->bytes.action.n - 1).what == DO_ATTENTION;
    }
    if (attention > t->bytes.constants.caches_at_once && !kind->probes)
        t->bytes.constants.caches_at_once = attention;
    out->packed_floats = max64(out->packed_floats, place_packed(t, &s));
    s.sums = has_sums(t, &s);
    *(Stage *)list_add(&t->bytes.stage, sizeof s) = s;
}

static void add_results(Tables *t, const Plan *p, const ProgramKind *kind) {
    TableBytes *b = &t->bytes;
    ModelProgram *out = &b->program[kind->which];
    const Node *nll = graph_find(p->g, "nll"), *loss = graph_find(p->g, "loss");
    if (nll) out->result = place_of(p, nll);
    if (loss) out->loss = place_of(p, loss);
    for (int i = 0; kind->probes && i < t->info->probe->nresult; i++) {
        const Node *n = p->g->out[i].node;
        *(ProbeResult *)list_add(&b->probe_result, sizeof(ProbeResult)) =
            (ProbeResult){ place_of(p, n), shape_count(&n->shape) };
    }
    b->constants.probe_results = b->probe_result.n;
}

static void add_program(Tables *t, Plan *p, const ProgramKind *kind) {
    ModelProgram *out = &t->bytes.program[kind->which];
    Planned *keeper = t->costs.planned;
    if (keeper)
        keeper->step[kind->which] = graph_alloc(p->g,
                                                ((size_t)p->nstep + 1) * sizeof **keeper->step);
    place_nodes(t, p);
    if (kind->rules && (p->token_floats || p->constant_floats || p->granule_floats))
        bug(NULL, "rules of buffers need an arena");
    if (kind->rules) t->bytes.constants.rules = p->nphase;
    RowsShared shared = rows_shared(p);
    *out = (ModelProgram){ .phase = t->bytes.stage.n,
                           .phases = p->nphase,
                           .token_floats = p->token_floats,
                           .local_floats = p->local_floats,
                           .granule_floats = p->granule_floats,
                           .constant_floats = p->constant_floats };
    if (t->bytes.constants.check) regions_add(&t->bytes, p, out);
    for (int i = 0; i < p->nphase; i++)
        add_phase(t, p, kind, i, shared);
    add_results(t, p, kind);
}

/* == All of them ========================================================== */

void tables_build(Tables *t, const Graph *g, const ModelPlans *plans, const CodegenOptions *o) {
    const Plan *training = plans->plan[PROGRAM_TRAIN], *forward = plans->plan[PROGRAM_LOGITS];
    Constants *c = &t->bytes.constants;
    t->inference = o->passes.inference;
    t->small = o->passes.small;
    t->cache = o->passes.cache;
    c->cache = o->passes.cache;
    t->products = o->products;
    t->ratios = o->ratios;
    c->granule = GRANULE;
    c->check = o->passes.check;
    c->bf16 = o->passes.bf16;
    c->max_head = 1;
    c->lists = graph_lists(g);
    params_place(t, g, training);
    if (plans->plan[PROGRAM_PROBE]) params_place_inputs(&t->layout, t->info->probe->graph);
    if (training) params_start(t, training);
    t->generates = plans->plan[PROGRAM_GENERATE] ? PROGRAM_GENERATE : PROGRAM_LOGITS;
    t->forms = plans->plan[PROGRAM_SCORE] != NULL;
    c->chunk = o->chunk ? o->chunk : chunk_of(t, training ? training : forward);
    for (int i = 0; i < PROGRAMS; i++) {
        const ProgramKind *k = &program_kinds[i];
        if (plans->plan[k->which]) add_program(t, plans->plan[k->which], k);
        else if (k->instead >= 0) t->bytes.program[k->which] = t->bytes.program[k->instead];
    }
    c->waves = t->bytes.wave.n;
    c->caches = t->bytes.cache.n;
}

void tables_free(Tables *t) {
    TableBytes *b = &t->bytes;
    free_row_kernels(&t->kernels);
    for (int i = 0; i < t->costs.kernel.n; i++)
        free((char *)LIST(t->costs.kernel, KernelInfo, i).name);
    List *lists[] = { &b->stage,        &b->action,    &b->ref,      &b->wave,
                      &b->cache,        &b->frequency, &b->region,   &b->reach,
                      &b->probe_result, &b->span,      &b->repacked, &t->costs.kernel };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]->data);
    name_table_free(&t->layout.number), name_table_free(&t->layout.input_number);
    name_table_free(&t->costs.number);
    free(t->layout.param), free(t->layout.input);
    free(t->model);
}
