/* SPDX-License-Identifier: MIT
** strata export --to hf: a folder that transformers loads. */
#include <stdlib.h>
#include <string.h>

#include "export_text.h"
#include "exporter.h"
#include "torch_file.h"

/* == A model with code of its own ========================================= */

static int plan_parameters(const Export *x, TensorPlan *plan, Error *e) {
    int status = STATUS_OK;
    for (int32_t i = 0; i < x->folder.count && !status; i++) {
        TensorView v;
        status = view_stored(&v, &x->folder.tensor[i], e);
        if (!status) status = plan_add(plan, x->folder.tensor[i].tensor->name, &v, 1, 0, true, e);
    }
    return status;
}

static const char *type_name(const Export *x) {
    Dtype d = x->folder.count ? x->folder.tensor[0].tensor->dtype : DTYPE_F32;
    return d == DTYPE_BF16 ? "bfloat16" : d == DTYPE_F16 ? "float16" : "float32";
}

static void own_config(const Export *x, Text *t) {
    const Model *m = x->model;
    text_add(t,
             "{\n  \"architectures\": [\"StrataForCausalLM\"],\n  \"auto_map\": {\n"
             "    \"AutoConfig\": \"configuration_strata.StrataConfig\",\n"
             "    \"AutoModelForCausalLM\": \"modeling_strata.StrataForCausalLM\"\n  },\n"
             "  \"model_type\": \"strata\",\n  \"name\": ");
    text_json_string(t, m->name);
    text_add(t,
             ",\n  \"vocab_size\": %lld,\n  \"max_position_embeddings\": %lld,\n"
             "  \"hidden_size\": %lld,\n  \"num_hidden_layers\": %lld,\n"
             "  \"tie_word_embeddings\": false,\n  \"use_cache\": false,\n  \"dtype\": \"%s\",\n"
             "  \"parameters\": {",
             (long long)m->vocab, (long long)m->context, (long long)m->dim, (long long)m->layers,
             type_name(x));
    for (int32_t i = 0; i < x->folder.count; i++) {
        const Tensor *s = x->folder.tensor[i].tensor;
        text_add(t, "%s\n    ", i ? "," : "");
        text_json_string(t, s->name);
        text_add(t, ": [");
        for (int d = 0; d < s->rank; d++)
            text_add(t, "%s%lld", d ? ", " : "", (long long)s->shape[d]);
        text_add(t, "]");
    }
    text_add(t, "\n  }\n}\n");
}

/* The graph of the form that generates, of the logits alone. */
static Graph *logits_graph(const Model *m) {
    static const char *const outputs[] = { "logits", NULL };
    Graph *g = graph_extract(m->graph, outputs);
    return pass_form(g, (Form){ .generating = 1 });
}

static int write_code(const Export *x, const ExportFolder *f, Error *e) {
    Text t = { 0 };
    Graph *g = logits_graph(x->model);
    int status = torch_file(g, &t, e);
    graph_free(g);
    if (!status) status = export_folder_text(f, "modeling_strata.py", &t, e);
    text_clear(&t);
    torch_config_file(&t);
    if (!status) status = export_folder_text(f, "configuration_strata.py", &t, e);
    text_free(&t);
    return status;
}

static int write_own(const Export *x, const ExportText *text, const ExportFolder *f, Error *e) {
    Text t = { 0 };
    TensorPlan plan = { 0 };
    own_config(x, &t);
    int status = write_code(x, f, e);
    if (!status) status = export_text_config(text, &t, e);
    if (!status) status = export_folder_text(f, "config.json", &t, e);
    if (!status) status = plan_parameters(x, &plan, e);
    char *path = status ? NULL : export_folder_file(f, "model.safetensors", e);
    if (!status) status = path ? plan_write(&plan, path, e) : e->status;
    free(path);
    plan_free(&plan);
    text_free(&t);
    return status;
}

/* == A model that transformers has ======================================== */

static int write_known(const ExportText *text, const ExportFolder *f, Exported *made, Error *e) {
    char *path = export_folder_file(f, "model.safetensors", e);
    int status = path ? plan_write(&made->plan, path, e) : e->status;
    if (!status) status = export_text_config(text, &made->config, e);
    if (!status) status = export_folder_text(f, "config.json", &made->config, e);
    free(path);
    return status;
}

/* == The command ========================================================== */

static int export_hf_write_all(Export *x, const ExportFolder *f, Exported *made, Error *e) {
    bool known = !made->refused[0];
    ExportText text = { 0 };
    char *tokenizer = export_tokenizer(x, e);
    int status = tokenizer ? export_text_open(&text, tokenizer, e) : e->status;
    if (!status) status = known ? write_known(&text, f, made, e) : write_own(x, &text, f, e);
    if (!status) status = export_text_write(&text, known, f, e);
    export_text_close(&text);
    if (!status && x->check) status = export_check(x, f, known, e);
    if (!status) export_tokenizer_tell(x, tokenizer, "transformers");
    free(tokenizer);
    return status;
}

static void export_hf_tell(const Export *x, const Exported *made) {
    show_line(stdout, "", x->out, "");
    if (made->refused[0])
        show_line(stdout, "with code of its own (trust_remote_code), because of ", made->refused,
                  "");
    else printf("architecture %s\n", made->architecture);
    if (x->check) printf("read back: equal bit for bit\n");
}

int export_hf(Export *x, Error *e) {
    ExportFolder f;
    const SpecLimits limits = allowance_limits(x->allowance);
    ExportRequest r = {
        .spec = x->spec, .limits = &limits, .target = "hf", .folder = &x->folder, .keep = true
    };
    Exported made;
    int status = exporter_run(&r, &made, e);
    if (status) return status;
    status = export_folder_open(&f, x->out, x->overwrite, x->allowance, e);
    if (!status) status = export_hf_write_all(x, &f, &made, e);
    if (!status) status = export_folder_commit(&f, e);
    if (!status) export_hf_tell(x, &made);
    export_folder_close(&f);
    exporter_free(&made);
    return status;
}
