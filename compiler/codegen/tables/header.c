/*
** The C header of a model: sizes as macros, the functions with the model's
** prefix, and the common part (runtime/abi.h) in front.
*/
#include "codegen.h"

#include <ctype.h>
#include <string.h>

/* abi.h's text, put in by the assembler. */
__asm__(".section .rodata\nabi_text: .incbin \"" STRATA_SOURCE_DIR
        "/runtime/abi.h\"\nabi_text_end: .byte 0\n.previous");
extern const char abi_text[], abi_text_end[];

static void upper(const char *s, char *to, size_t size) {
    size_t i = 0;
    for (; s[i] && i + 1 < size; i++)
        to[i] = (char)toupper((unsigned char)s[i]);
    to[i] = 0;
}

static void macros(const Code *c, const char *P, FILE *f) {
    const strata_model *m = &c->model;
    const struct {
        const char *name;
        int64_t value;
        const char *help;
    } row[] = {
        { "VOCAB", m->vocab, "ids are 0 to VOCAB - 1" },
        { "CONTEXT", m->context, "tokens of a sequence, at most" },
        { "PARAMETERS", m->parameters, "trained numbers" },
        { "WEIGHTS_BYTES", m->weights_bytes, "region WEIGHTS" },
        { "TRAIN_BYTES", m->train_bytes,
          "region TRAIN: gradients, then two moments, then what is kept packed" },
        { "GRADIENTS", m->gradients,
          "floats of the gradients in TRAIN, and of each moment, padding included" },
        { "CTX_BYTES", m->ctx_bytes, "region CTX" },
        { "STATE_BYTES_PER_TOKEN", m->state_per_token, "region STATE: this times the context," },
        { "STATE_BYTES_CONSTANT", m->state_constant, "and this once" },
        { "STATE_BYTES_PER_ROUTED", m->state_per_routed,
          "of those a token: what tokens that routes leave out do not need" },
        { "TENSORS", m->tensors, "lines of the tensor table" },
        { "KERNELS", m->kernels, "lines of the kernel table" },
        { "TRAINING", m->training, "0: built with --inference" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        fprintf(f, "#define %s_%s INT64_C(%lld)  /* %s */\n", P, row[i].name,
                (long long)row[i].value, row[i].help);
}

static void prototypes(const char *p, FILE *f) {
    static const char *const line[] = {
        "const strata_model *%s_model(void);",
        "const char *%s_strerror(int32_t status);",
        "const char *%s_message(const void *ctx);",
        "int32_t %s_init(void *ctx, size_t bytes, const strata_setup *setup);",
        "size_t  %s_state_bytes(int64_t context);",
        "size_t  %s_arena_bytes(int64_t tokens, int32_t workers);",
        "int32_t %s_state_init(void *ctx, void *state, int64_t context);",
        "size_t  %s_state_bytes_share(int64_t context, int32_t share);",
        "int32_t %s_state_init_share(void *ctx, void *state, int64_t context, int32_t share);",
        "int32_t %s_state_copy(void *ctx, void *to, const void *from);",
        "int32_t %s_prefill(void *ctx, const void *w, void *state, void *arena, const int32_t "
        "*tokens, int64_t n, float *logits);",
        "int32_t %s_decode(void *ctx, const void *w, void *const *states, int32_t batch, void "
        "*arena, const int32_t *tokens, float *logits);",
        "int32_t %s_logits(void *ctx, const void *w, void *arena, const int32_t *tokens, int64_t "
        "B, int64_t T, float *out);",
        "int32_t %s_loss(void *ctx, const void *w, void *arena, const int32_t *tokens, const "
        "int32_t *targets, int64_t B, int64_t T, float *nll, strata_loss *out);",
        "int32_t %s_forward_backward(void *ctx, const void *w, void *train, void *arena, const "
        "int32_t *tokens, const int32_t *targets, int64_t B, int64_t T,\n"
        "                            float scale, uint32_t flags, strata_range_fn final, void "
        "*user, strata_loss *out);",
        "int32_t %s_sum_squares(void *ctx, const void *train, int64_t first, int64_t count, double "
        "*out);",
        "int32_t %s_update(void *ctx, void *w, void *train, int64_t first, int64_t count, const "
        "strata_adamw *how);",
    };
    for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
        fprintf(f, line[i], p);
        fputc('\n', f);
    }
}

static void table(const char *p, FILE *f) {
    static const char *const name[] = {
        "model",     "init",   "state_bytes", "arena_bytes",       "state_init",
        "prefill",   "decode", "logits",      "forward_backward",  "sum_squares",
        "update",    "loss",   "message",     "state_bytes_share", "state_init_share",
        "state_copy"
    };
    fprintf(f,
            "\n/* The same functions as a table. */\nstatic inline strata_api %s_api(void) {\n    "
            "strata_api a;\n"
            "    a.struct_size = sizeof a;\n    a.strerror_ = %s_strerror;\n",
            p, p);
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        fprintf(f, "    a.%s = %s_%s;\n", name[i], p, name[i]);
    fprintf(f,
            "    a.probe_arena_bytes = NULL;\n    a.probe = NULL;\n"
            "    for (size_t i = 0; i < sizeof a.reserved / sizeof a.reserved[0]; i++) "
            "a.reserved[i] = NULL;\n    return a;\n}\n");
}

void codegen_header(const Code *c, const ModelInfo *info, const char *prefix, FILE *f) {
    char P[128];
    upper(prefix, P, sizeof P);
    fprintf(f, "/* Generated by strata " STRATA_VERSION " from the spec of %s. Do not edit. */\n",
            info->name);
    fwrite(abi_text, 1, strlen(abi_text), f);
    fprintf(f,
            "\n#ifndef STRATA_MODEL_%s\n#define STRATA_MODEL_%s\n\n#if STRATA_ABI != %d\n#error "
            "\"this header needs version %d of Strata's interface\"\n#endif\n\n",
            P, P, STRATA_ABI, STRATA_ABI);
    macros(c, P, f);
    fprintf(f, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    prototypes(prefix, f);
    table(prefix, f);
    fprintf(f, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
