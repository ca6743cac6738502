/* SPDX-License-Identifier: MIT
** strata export --to gguf: a file that llama.cpp opens. */
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "exporter.h"
#include "gguf_tokenizer.h"
#include "place.h"

static GgufType type_named(const char *name) {
    static const char *const names[] = { "f32", "f16", "bf16", "q8_0" };
    GgufType t = GGUF_F32;
    while (strcmp(names[t], name))
        t++;
    return t;
}

/* general.file_type, as llama.cpp counts them. */
static void add_general(Gguf *g, GgufType type) {
    static const uint32_t file_type[] = { 0, 1, 32, 7 };
    gguf_u32(g, "general.file_type", file_type[type]);
    gguf_u32(g, "general.quantization_version", 2);
}

static int add_tokenizer(const Export *x, Gguf *g, Error *e) {
    const char *own = x->model->tokenizer;
    char *file = export_tokenizer(x, e);
    int status = e->status;
    const char *note = NULL;
    if (file) status = gguf_tokenizer(g, file, x->model->vocab, &note, e);
    else if (!status && own && !strcmp(own, "bytes")) gguf_tokenizer_bytes(g, x->model->vocab);
    else if (!status) {
        gguf_string(g, "tokenizer.ggml.model", "none");
        export_tokenizer_tell(x, NULL, "llama.cpp");
    }
    if (note) show_line(x->allowance->console, "note: ", note, "");
    free(file);
    return status;
}

int export_gguf(Export *x, const char *type, Error *e) {
    const SpecLimits limits = allowance_limits(x->allowance);
    ExportRequest r = {
        .spec = x->spec, .limits = &limits, .target = "gguf", .folder = &x->folder, .keep = true
    };
    Exported made;
    const FilePlace place = { .path = x->out, .overwrite = x->overwrite };
    int status = place_check(&place, e);
    if (!status) status = exporter_run(&r, &made, e);
    if (status) return status;
    if (made.refused[0])
        status = error_set(e, STATUS_USER,
                           "%s: export: expected what llama.cpp runs as llama, qwen2, qwen3 or "
                           "gpt2, found %s",
                           x->spec, made.refused);
    GgufType matrices = type_named(type);
    add_general(&made.metadata, matrices);
    if (!status) status = add_tokenizer(x, &made.metadata, e);
    if (!status) status = gguf_write(&made.metadata, &made.plan, matrices, x->out, true, e);
    if (!status && x->check) status = gguf_compare(&made.metadata, &made.plan, x->out, e);
    if (!status) {
        show_line(stdout, "", x->out, "");
        printf("architecture %s, %d tensors, matrices %s%s\n", made.architecture, made.plan.count,
               type, x->check ? ", read back: equal to the type's precision" : "");
    }
    exporter_free(&made);
    return status;
}
