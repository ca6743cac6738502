/* SPDX-License-Identifier: MIT
** A Report as JSON.  The keys are a contract: more may be added, none changed.
*/
#include "views.h"

#include <inttypes.h>

static void key(Text *t, const char *name) { text_add(t, "\"%s\": ", name); }

static void string(Text *t, const char *name, const char *value) {
    key(t, name);
    text_json_string(t, value);
}

static void number(Text *t, const char *name, double value) {
    key(t, name);
    text_json_number(t, value);
}

static void integer(Text *t, const char *name, int64_t value) {
    key(t, name);
    text_add(t, "%" PRId64, value);
}

static void comma(Text *t) { text_bytes(t, ", ", 2); }

/* By strata_tensor.type. */
static const char *const types[] = { "f32", "bf16", "q8", "q4" };

static void facts(const Report *r, Text *t) {
    const Model *m = r->model;
    char hash[17];
    string(t, "strata", STRATA_VERSION), comma(t);
    string(t, "spec", m->name), comma(t);
    string(t, "spec_file", m->file), comma(t);
    print_text(hash, sizeof hash, "%016" PRIx64, m->hash);
    string(t, "spec_hash", hash), comma(t);
    text_add(t, "\"options\": %s, ", m->options);
    string(t, "cpu", r->planned.code.cpu), comma(t);
    string(t, "products", r->planned.code.blas), comma(t);
    string(t, "precision", r->bf16 ? "bf16" : "f32"), comma(t);
    string(t, "weights", types[r->planned.code.model.small]), comma(t);
    string(t, "residual", m->mixer), comma(t);
    integer(t, "vocab", m->vocab), comma(t);
    integer(t, "context", m->context), comma(t);
    integer(t, "dim", m->dim), comma(t);
    integer(t, "layers", m->layers), comma(t);
    integer(t, "sublayers", m->sublayers), comma(t);
    integer(t, "batch", m->train.batch), comma(t);
    integer(t, "parameters", m->parameters), comma(t);
    integer(t, "parameters_trained", r->trained);
}

static void pair(const Report *r, Text *t, const char *name, double forward, double training) {
    key(t, name);
    text_add(t, "{");
    number(t, "forward", forward);
    if (r->training) comma(t), number(t, "training", training);
    text_add(t, "}");
}

/* bytes_per_token is that of what the model is built for. */
static void work(const Report *r, Text *t) {
    const Work *f = &r->work[FORWARD], *b = &r->work[TRAINING];
    pair(r, t, "flops_per_token", f->flops, b->flops);
    text_add(t, ",\n \"bytes_per_token\": ");
    text_json_number(t, r->training ? b->bytes : f->bytes);
    comma(t);
    pair(r, t, "bytes_per_token_of", f->bytes, b->bytes), comma(t);
    pair(r, t, "row_operations_per_token", f->operations, b->operations);
}

/* Of all the spec's tokens. */
static void predicted(const Report *r, Text *t) {
    int kind = r->training ? TRAINING : FORWARD;
    if (r->seconds[kind] == 0) {
        text_add(t, "\"predicted\": null");
        return;
    }
    text_add(t, "\"predicted\": {");
    pair(r, t, "seconds", r->seconds[FORWARD], r->seconds[TRAINING]), comma(t);
    number(t, "tokens_per_second", report_tokens(r->model) / r->seconds[kind]), comma(t);
    integer(t, "threads", r->rates.threads), comma(t);
    text_add(t, "\"measured\": %s, ", r->rates.measured ? "true" : "false");
    number(t, "products_per_second", r->rates.products), comma(t);
    number(t, "sequences_per_second", r->rates.sequences), comma(t);
    number(t, "rows_per_second", r->rates.rows), comma(t);
    number(t, "functions_per_second", r->rates.functions), comma(t);
    number(t, "bytes_per_second", r->rates.memory), comma(t);
    number(t, "waiting", r->rates.waiting);
    text_add(t, "}");
}

static void memory(const Report *r, Text *t) {
    const ReportMemory *m = &r->memory;
    text_add(t, "\"memory\": {");
    integer(t, "weights", m->weights), comma(t);
    integer(t, "gradients", m->gradients), comma(t);
    integer(t, "optimizer", m->optimizer), comma(t);
    integer(t, "packed_weights", m->packed), comma(t);
    integer(t, "per_token", m->per_token), comma(t);
    integer(t, "per_worker", m->per_worker), comma(t);
    integer(t, "constant", m->constant), comma(t);
    integer(t, "control", m->control), comma(t);
    integer(t, "state_per_token", m->state_per_token), comma(t);
    integer(t, "state_constant", m->state_constant), comma(t);
    integer(t, "state_carried", m->state_carried), comma(t);
    string(t, "cache", types[r->planned.code.model.cache]);
    text_add(t, "}");
}

static void reads(const Report *r, Text *t) {
    const Model *m = r->model;
    number(t, "sources_average", r->sources_average), comma(t);
    integer(t, "sources_most", r->sources_most);
    text_add(t, ",\n \"reads\": [");
    for (int i = 0; i < m->nread; i++) {
        text_add(t, i ? ",\n  {" : "\n  {");
        string(t, "site", m->read[i].site), comma(t);
        integer(t, "sources", m->read[i].sources);
        text_add(t, "}");
    }
    text_add(t, "]");
}

static void kernel(const Report *r, const ReportKernel *k, Text *t) {
    const Work *own = &k->work[r->training ? TRAINING : FORWARD];
    string(t, "name", k->name), comma(t);
    string(t, "family", k->family), comma(t);
    if (k->openblas) text_add(t, "\"openblas\": true, ");
    integer(t, "count", own->calls), comma(t);
    number(t, "flops", own->flops), comma(t);
    number(t, "bytes", own->bytes), comma(t);
    number(t, "operations", own->operations), comma(t);
    number(t, "functions", own->functions), comma(t);
    integer(t, "forward_count", k->work[FORWARD].calls), comma(t);
    number(t, "forward_flops", k->work[FORWARD].flops), comma(t);
    number(t, "forward_bytes", k->work[FORWARD].bytes);
}

static void kernels(const Report *r, Text *t) {
    text_add(t, "\"kernels\": [");
    for (int i = 0; i < r->nkernel; i++) {
        text_add(t, i ? ",\n  {" : "\n  {");
        kernel(r, &r->kernel[i], t);
        text_add(t, "}");
    }
    text_add(t, "]");
}

static void families(const Report *r, Text *t) {
    text_add(t, "\"families\": [");
    for (int i = 0; i < r->nfamily; i++) {
        const ReportFamily *f = &r->family[i];
        text_add(t, i ? ",\n  {" : "\n  {");
        string(t, "name", f->name), comma(t);
        integer(t, "kernels", f->kernels), comma(t);
        pair(r, t, "count", f->work[FORWARD].calls, f->work[TRAINING].calls), comma(t);
        pair(r, t, "flops", f->work[FORWARD].flops, f->work[TRAINING].flops), comma(t);
        pair(r, t, "bytes", f->work[FORWARD].bytes, f->work[TRAINING].bytes);
        text_add(t, "}");
    }
    text_add(t, "],\n \"depth_traffic\": {");
    number(t, "rows_per_read", r->traffic.all), comma(t);
    number(t, "rows_per_read_mixing_only", r->traffic.mixing);
    text_add(t, "}");
}

static void notes(const Report *r, Text *t) {
    text_add(t, "\"notes\": [");
    for (int i = 0; i < r->model->nnote; i++) {
        if (i) comma(t);
        text_json_string(t, r->model->note[i]);
    }
    text_add(t, "]");
}

void report_json(const Report *r, Text *t) {
    static void (*const part[])(const Report *, Text *) = { facts, work,    predicted, memory,
                                                            reads, kernels, families,  notes };
    text_add(t, "{");
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (i) text_add(t, ",\n ");
        part[i](r, t);
    }
    if (r->dense) text_add(t, ",\n "), report_routed_json(r, t);
    text_add(t, "}\n");
}
