/* SPDX-License-Identifier: MIT
** The model's descriptor (abi.h): one block of bytes, offsets inside it.
*/
#include "tables.h"
#include "fatal.h"
#include "kept_rows.h"

#include <stdlib.h>
#include <string.h>

#include "site.h"

typedef struct Blob {
    char *data;
    size_t size, cap;
} Blob;

static uint32_t reserve(Blob *b, size_t size, size_t align) {
    size_t at = (b->size + align - 1) / align * align;
    if (at + size > b->cap) {
        b->cap = 2 * (at + size) + 4096;
        b->data = checked_more(b->data, b->cap, 1);
    }
    memset(b->data + b->size, 0, at + size - b->size);
    b->size = at + size;
    return (uint32_t)at;
}

static uint32_t text(Blob *b, const char *s) {
    s = s ? s : "";
    uint32_t at = reserve(b, strlen(s) + 1, 1);
    memcpy(b->data + at, s, strlen(s) + 1);
    return at;
}

static uint32_t descriptor_numbers(Blob *b, const double *x, int64_t count) {
    uint32_t at = reserve(b, (size_t)count * sizeof *x, 8);
    memcpy(b->data + at, x, (size_t)count * sizeof *x);
    return at;
}

static uint32_t descriptor_type_of(const ParamPlace *p) {
    return p->bits == 8 ? STRATA_Q8 : p->bits == 4 ? STRATA_Q4 : p->bf16 ? STRATA_BF16 : STRATA_F32;
}

/* Those of the parameter at a place, which lie one after another. */
static void add_tensors(Blob *b, uint32_t at, const Tables *t, const Graph *g, int i) {
    const ParamPlace *place = &t->layout.param[i];
    const Param *p = graph_find_param(g, place->name);
    const Shape s = param_tensor_shape(p->node);
    int64_t count = shape_count(&s);
    char name[256];
    for (int k = 0; k < place->tensors; k++) {
        param_tensor_name(p->node, k, name, sizeof name);
        strata_tensor x = { .name = text(b, name),
                            .rank = s.rank,
                            .weight = place->at + k * (place->floats / place->tensors),
                            .gradient = place->frozen ? t->bytes.constants.gradients
                                                      : place->at + k * count,
                            .count = count,
                            .decay = place->buffer && !place->frozen ? -1 : s.rank >= 2,
                            .init = (int32_t)p->init.kind,
                            .value = p->init.value,
                            .type = descriptor_type_of(place) };
        memcpy(x.shape, s.dim, (size_t)s.rank * sizeof *s.dim);
        if (p->init.kind == INIT_LIST)
            x.values = descriptor_numbers(b, p->init.list + k * count, count);
        if (p->init.kind == INIT_UNIFORM) {
            x.values = descriptor_numbers(b, p->init.list, p->init.points);
            x.value = (double)p->init.points;
        }
        memcpy(b->data + at + (size_t)(place->tensor + k) * sizeof x, &x, sizeof x);
    }
}

static bool is_tuned(const Tuning *t) {
    return t->frozen || t->muon || t->own_rate || t->own_decay;
}

/* How tensors are trained, a line each; nothing if all are trained alike. */
static void add_tunings(Blob *b, strata_model *m, const Tables *t, const Graph *g) {
    bool some = false;
    for (int i = 0; i < g->nparam; i++)
        some |= is_tuned(&g->param[i].tuning);
    if (!some) return;
    m->tuning_table = reserve(b, (size_t)t->layout.tensors * sizeof(strata_tuning), 8);
    for (int i = 0; i < t->layout.nparam; i++) {
        const ParamPlace *place = &t->layout.param[i];
        const Param *p = &g->param[place->number];
        const Shape s = param_tensor_shape(p->node);
        m->frozen += place->frozen ? place->tensors : 0;
        m->muon_tensors += p->tuning.muon && !place->frozen ? place->tensors : 0;
        for (int k = 0; k < place->tensors; k++) {
            strata_tuning x = { .by = place->frozen  ? STRATA_FROZEN
                                    : p->tuning.muon ? STRATA_MUON
                                                     : STRATA_ADAMW,
                                .second = place->second < 0 ? -1
                                                            : place->second + k * shape_count(&s),
                                .rate = p->tuning.own_rate ? p->tuning.rate : 1,
                                .weight_decay = p->tuning.own_decay ? p->tuning.weight_decay : -1 };
            memcpy(b->data + m->tuning_table + (size_t)(place->tensor + k) * sizeof x, &x,
                   sizeof x);
        }
    }
}

static void add_probe(Blob *b, uint32_t at, const ProbeFact *f, int64_t place, int64_t count) {
    uint32_t site = text(b, f->site);
    ProbeEntry x = { .kind = (int32_t)f->kind,
                     .index = f->index,
                     .layer = f->layer,
                     .site = site,
                     .last = f->site ? site + (uint32_t)(site_last(f->site) - f->site) : site,
                     .at = place,
                     .count = count };
    memcpy(b->data + at, &x, sizeof x);
}

/* Inputs: where they are in WEIGHTS; then results: where they are in what probe fills; then
** layers of tensors. */
static void add_probes(Blob *b, strata_model *m, const Tables *t, const Graph *g) {
    const ProbeGraph *p = t->info->probe;
    int64_t place = 0;
    if (!p) return;
    if (p->ninput != t->layout.ninput) bug(NULL, "the probe has %d inputs", t->layout.ninput);
    m->probe_inputs = p->ninput, m->probe_results = p->nresult;
    uint32_t at = m->probe_table = reserve(b,
                                           (size_t)(p->ninput + p->nresult) * sizeof(ProbeEntry)
                                               + (size_t)t->layout.tensors * sizeof(int32_t),
                                           8);
    for (int i = 0; i < p->ninput; i++, at += sizeof(ProbeEntry))
        add_probe(b, at, &p->input[i], t->layout.input[i].at,
                  shape_count(&graph_find_param(p->graph, t->layout.input[i].name)->node->shape));
    for (int i = 0; i < p->nresult; i++, at += sizeof(ProbeEntry)) {
        int64_t count = shape_count(&p->graph->out[i].node->shape);
        add_probe(b, at, &p->result[i], place, count);
        place += count;
    }
    for (int i = 0; i < t->layout.nparam; i++) {
        int32_t layer = p->layer[graph_find_param(g, t->layout.param[i].name) - g->param];
        for (int k = 0; k < t->layout.param[i].tensors; k++, at += sizeof layer)
            memcpy(b->data + at, &layer, sizeof layer);
    }
}

static void descriptor_add_kernel(Blob *b, uint32_t at, const KernelInfo *k, int i) {
    strata_kernel x = { .name = text(b, k->name),
                        .family = text(b, k->family),
                        .used = k->used,
                        .blas = k->blas,
                        .operation = text(b, k->operation),
                        .sizes = k->sizes,
                        .training = k->training,
                        .forward = k->forward };
    memcpy(x.size, k->size, sizeof x.size);
    memcpy(b->data + at + (size_t)i * sizeof x, &x, sizeof x);
}

/* To print before a program runs: what regions take per token, per worker and once, but for
** roundings, and for the scratch of kernels that are not the model's own.  The model's functions
** are what counts. */
static void set_sizes(strata_model *m, const Tables *t) {
    const Constants *c = &t->bytes.constants;
    ArenaNeeds n = arena_needs(t->bytes.program, t->bytes.program + PROGRAM_PROBE);
    m->weights_bytes = 4 * t->layout.weights;
    m->probe_weights_bytes = 4 * t->layout.weights_probe;
    m->gradients = m->training ? c->gradients : 0;
    m->train_bytes = m->training ? 4 * train_floats(c) : 0;
    m->second_moments = m->training ? c->second_moments : 0;
    m->muon_bytes = m->training ? 4 * c->muon_floats : 0;
    m->ctx_bytes = STRATA_CTX_HEAD + 4 * c->table_floats;
    m->arena_per_token = 4 * (arena_token(c, &n) + LIST_WORDS * c->lists + n.granule / c->granule);
    m->arena_per_worker = 4 * n.local * rows_apart(c->chunk) + c->scratch_bytes;
    m->arena_constant = 4 * (rows_apart(0) * n.token + n.constant + n.packed + lists_floats(c, 0));
    m->state_per_token = 4 * (c->state_floats + c->state_some);
    m->state_per_routed = 4 * c->state_some;
    m->state_constant = STATE_HEAD + 4 * (c->state_fixed + carried_room(c));
    m->state_carried = 4 * c->carried_floats;
}

static void set_info(strata_model *m, const ModelInfo *f) {
    m->spec_hash = f->hash, m->function = f->function;
    m->vocab = (int32_t)f->vocab, m->context = (int32_t)f->context, m->dim = (int32_t)f->dim;
    m->layers = (int32_t)f->layers, m->sublayers = (int32_t)f->sublayers;
#define SETTING(type, name, from) m->name = (__typeof__(m->name))f->train.name;
#include "settings.def"
}

static void descriptor_add_routed(Blob *b, strata_model *m, const Tables *t, const Graph *g) {
    m->forms = t->forms ? 2 : 1;
    m->routed = t->bytes.constants.lists;
    m->routed_table = reserve(b, (size_t)m->routed * sizeof(uint32_t), 4);
    for (int i = 0; i < m->routed; i++) {
        const Node *rows = graph_list(g, i + 1);
        uint32_t site = text(b, rows && rows->site ? rows->site : "model");
        memcpy(b->data + m->routed_table + (size_t)i * sizeof site, &site, sizeof site);
    }
}

static bool learns_positions(const Graph *g) {
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i], *ids = n->op == OP_embed ? n->in[1] : NULL;
        if (ids
            && (ids->op == OP_position || (ids->op == OP_gather && ids->in[0]->op == OP_position)))
            return true;
    }
    return false;
}

_Static_assert((int)KEPT_F32 == (int)STRATA_F32 && (int)KEPT_BF16 == (int)STRATA_BF16
                   && (int)KEPT_Q8 == (int)STRATA_Q8,
               "caches keep what tensors are");

void *tables_descriptor(const Tables *t, const CodegenOptions *o, const CompiledModel *code,
                        const Graph *g, size_t *size) {
    Blob b = { 0 };
    const ModelInfo *f = t->info;
    strata_model m = { .magic = STRATA_MAGIC, .abi_version = STRATA_ABI, .struct_size = sizeof m };
    reserve(&b, sizeof m, 64);
    set_info(&m, f);
    m.training = !o->passes.inference;
    m.blas = text(&b, products_of(t));
    m.cache = t->cache;
    m.small = t->small == SMALL_Q4 ? STRATA_Q4 : t->small ? STRATA_Q8 : 0;
    m.name = text(&b, f->name), m.compiler = text(&b, STRATA_VERSION), m.cpu = text(&b, code->cpu);
    m.features = text(&b, code->features), m.precision = text(&b, o->passes.bf16 ? "bf16" : "f32"),
    m.spec_file = text(&b, f->file);
    m.mixer = text(&b, f->mixer), m.tokenizer = text(&b, f->tokenizer),
    m.acausal = text(&b, f->acausal), m.ahead = text(&b, f->ahead);
    m.options = text(&b, f->options ? f->options : "{}");
    m.tensors = t->layout.tensors, m.kernels = t->costs.kernel.n,
    m.chunk = t->bytes.constants.chunk;
    m.flops_forward = t->costs.flops[0], m.flops_training = t->costs.flops[1];
    m.tensor_table = reserve(&b, (size_t)t->layout.tensors * sizeof(strata_tensor), 8);
    m.kernel_table = reserve(&b, (size_t)t->costs.kernel.n * sizeof(strata_kernel), 8);
    for (int i = 0; i < t->layout.nparam; i++) {
        add_tensors(&b, m.tensor_table, t, g, i);
        m.parameters += shape_count(&graph_find_param(g, t->layout.param[i].name)->node->shape);
    }
    add_tunings(&b, &m, t, g);
    for (int i = 0; i < t->costs.kernel.n; i++)
        descriptor_add_kernel(&b, m.kernel_table, &LIST(t->costs.kernel, KernelInfo, i), i);
    add_probes(&b, &m, t, g);
    descriptor_add_routed(&b, &m, t, g);
    m.learned_positions = learns_positions(g);
    set_sizes(&m, t);
    memcpy(b.data, &m, sizeof m);
    *size = b.size;
    return b.data;
}
