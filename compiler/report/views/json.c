/* SPDX-License-Identifier: MIT
** A Report as JSON.  The keys are a contract: more may be added, none changed.
*/
#include "views.h"

#include <inttypes.h>

static void key(Text *t, const char *name) { text_add(t, "\"%s\": ", name); }

static void json_string(Text *t, const char *name, const char *value) {
    key(t, name);
    text_json_string(t, value);
}

static void number_json(Text *t, const char *name, double value) {
    key(t, name);
    text_json_number(t, value);
}

static void json_integer(Text *t, const char *name, int64_t value) {
    key(t, name);
    text_add(t, "%" PRId64, value);
}

static void comma(Text *t) { text_bytes(t, ", ", 2); }

/* By strata_tensor.type. */
static const char *const types[] = { "f32", "bf16", "q8", "q4" };

static void facts(const Report *r, Text *t) {
    const Model *m = r->model;
    char hash[17];
    json_string(t, "strata", STRATA_VERSION), comma(t);
    json_string(t, "spec", m->name), comma(t);
    json_string(t, "spec_file", m->file), comma(t);
    print_text(hash, sizeof hash, "%016" PRIx64, m->hash);
    json_string(t, "spec_hash", hash), comma(t);
    text_add(t, "\"options\": %s, ", m->options);
    json_string(t, "cpu", r->planned.code.cpu), comma(t);
    json_string(t, "products", r->planned.code.blas), comma(t);
    json_string(t, "precision", r->bf16 ? "bf16" : "f32"), comma(t);
    json_string(t, "weights", types[r->planned.code.model.small]), comma(t);
    json_string(t, "residual", m->mixer), comma(t);
    json_integer(t, "vocab", m->vocab), comma(t);
    json_integer(t, "context", m->context), comma(t);
    json_integer(t, "dim", m->dim), comma(t);
    json_integer(t, "layers", m->layers), comma(t);
    json_integer(t, "sublayers", m->sublayers), comma(t);
    json_integer(t, "batch", m->train.batch), comma(t);
    json_integer(t, "parameters", m->parameters), comma(t);
    json_integer(t, "parameters_trained", r->trained);
}

static void pair(const Report *r, Text *t, const char *name, double forward, double training) {
    key(t, name);
    text_add(t, "{");
    number_json(t, "forward", forward);
    if (r->training) comma(t), number_json(t, "training", training);
    text_add(t, "}");
}

/* bytes_per_token is that of what the model is built for. */
static void json_work(const Report *r, Text *t) {
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
    number_json(t, "tokens_per_second", report_tokens(r->model) / r->seconds[kind]), comma(t);
    json_integer(t, "threads", r->rates.threads), comma(t);
    text_add(t, "\"measured\": %s, ", r->rates.measured ? "true" : "false");
    number_json(t, "products_per_second", r->rates.products), comma(t);
    number_json(t, "sequences_per_second", r->rates.sequences), comma(t);
    number_json(t, "rows_per_second", r->rates.rows), comma(t);
    number_json(t, "functions_per_second", r->rates.functions), comma(t);
    number_json(t, "bytes_per_second", r->rates.memory), comma(t);
    number_json(t, "waiting", r->rates.waiting);
    text_add(t, "}");
}

static void memory(const Report *r, Text *t) {
    const ReportMemory *m = &r->memory;
    text_add(t, "\"memory\": {");
    json_integer(t, "weights", m->weights), comma(t);
    json_integer(t, "gradients", m->gradients), comma(t);
    json_integer(t, "optimizer", m->optimizer), comma(t);
    json_integer(t, "packed_weights", m->packed), comma(t);
    json_integer(t, "per_token", m->per_token), comma(t);
    json_integer(t, "per_worker", m->per_worker), comma(t);
    json_integer(t, "constant", m->constant), comma(t);
    json_integer(t, "control", m->control), comma(t);
    json_integer(t, "state_per_token", m->state_per_token), comma(t);
    json_integer(t, "state_constant", m->state_constant), comma(t);
    json_integer(t, "state_carried", m->state_carried), comma(t);
    json_string(t, "cache", types[r->planned.code.model.cache]);
    text_add(t, "}");
}

static void reads(const Report *r, Text *t) {
    const Model *m = r->model;
    number_json(t, "sources_average", r->sources_average), comma(t);
    json_integer(t, "sources_most", r->sources_most);
    text_add(t, ",\n \"reads\": [");
    for (int i = 0; i < m->nread; i++) {
        text_add(t, i ? ",\n  {" : "\n  {");
        json_string(t, "site", m->read[i].site), comma(t);
        json_integer(t, "sources", m->read[i].sources);
        text_add(t, "}");
    }
    text_add(t, "]");
}

static void kernel(const Report *r, const ReportKernel *k, Text *t) {
    const Work *own = &k->work[r->training ? TRAINING : FORWARD];
    json_string(t, "name", k->name), comma(t);
    json_string(t, "family", k->family), comma(t);
    if (k->openblas) text_add(t, "\"openblas\": true, ");
    json_integer(t, "count", own->calls), comma(t);
    number_json(t, "flops", own->flops), comma(t);
    number_json(t, "bytes", own->bytes), comma(t);
    number_json(t, "operations", own->operations), comma(t);
    number_json(t, "functions", own->functions), comma(t);
    json_integer(t, "forward_count", k->work[FORWARD].calls), comma(t);
    number_json(t, "forward_flops", k->work[FORWARD].flops), comma(t);
    number_json(t, "forward_bytes", k->work[FORWARD].bytes);
}

static void kernels_json(const Report *r, Text *t) {
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
        json_string(t, "name", f->name), comma(t);
        json_integer(t, "kernels", f->kernels), comma(t);
        pair(r, t, "count", f->work[FORWARD].calls, f->work[TRAINING].calls), comma(t);
        pair(r, t, "flops", f->work[FORWARD].flops, f->work[TRAINING].flops), comma(t);
        pair(r, t, "bytes", f->work[FORWARD].bytes, f->work[TRAINING].bytes);
        text_add(t, "}");
    }
    text_add(t, "],\n \"depth_traffic\": {");
    number_json(t, "rows_per_read", r->traffic.all), comma(t);
    number_json(t, "rows_per_read_mixing_only", r->traffic.mixing);
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
    static void (*const part[])(const Report *, Text *) = { facts, json_work,    predicted, memory,
                                                            reads, kernels_json, families,  notes };
    text_add(t, "{");
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (i) text_add(t, ",\n ");
        part[i](r, t);
    }
    if (r->dense) text_add(t, ",\n "), report_routed_json(r, t);
    text_add(t, "}\n");
}
