/* SPDX-License-Identifier: MIT
** What commands share: the session, weights and data that options name, and who multiplies.
*/
#include "standalone.h"

#include <string.h>
#include <unistd.h>

#include "checkpoint.h"
#include "place.h"
#include "program_tokenizer.h"
#include "weights.h"

/* In programs that call OpenBLAS (compiler/codegen/llvm/blas_calls.c). */
extern const char *strata_openblas_config(void) __attribute__((weak));
extern const char *strata_openblas_core(void) __attribute__((weak));

int program_causal(const Program *p, const char *command, Error *e) {
    const char *site = model_text(p, p->m->acausal), *ahead = model_text(p, p->m->ahead);
    if (!site[0] && ahead[0] && strcmp(command, "train") != 0)
        return error_set(e, STATUS_USER,
                         "%s: expected a model that can go token by token, found that %s chooses "
                         "among all tokens of a "
                         "sequence, later ones too; train, eval, logits and gradients compute it",
                         command, ahead);
    return site[0] == 0 ? STATUS_OK
                        : error_set(e, STATUS_USER,
                                    "%s: expected a causal model, found %s sees later tokens; "
                                    "logits and gradients compute it",
                                    command, site);
}

bool program_calls_blas(const Program *p) {
    return strata_openblas_core && strcmp(model_text(p, p->m->blas), "generated") != 0;
}

/* Of its configuration, "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...", the version. */
const char *program_blas(const Program *p) {
    static char text[128];
    if (!program_calls_blas(p)) return "none";
    const char *version = strata_openblas_config();
    version += strcspn(version, " ");
    version += strspn(version, " ");
    print_text(text, sizeof text, "OpenBLAS %.*s, %s", (int)strcspn(version, " "), version,
               strata_openblas_core());
    return text;
}

const char *program_products(const Program *p) {
    static char text[160];
    bool some = !strcmp(model_text(p, p->m->blas), "auto");
    if (!program_calls_blas(p)) return "generated";
    print_text(text, sizeof text, "%s%s", some ? "generated, and where it is faster " : "",
               program_blas(p));
    return text;
}

int program_session(const Program *p, Session *s, Error *e) {
    const OptionValue *threads = option(p, OPTION_THREADS);
    return session_open(s, p->api, p->services, threads->given ? (int32_t)threads->count : 0, e);
}

/* Weights, and the tokenizer that goes with them. */
static int read_weights(const Program *p, Session *s, const Safetensors *f, Tokenizer *tokenizer,
                        Error *e) {
    int status = weights_read(p->m, f, session_write_weights(s), e);
    return status || !tokenizer ? status : program_tokenizer_load(p, f, tokenizer, e);
}

/* The best that the newest tells of, not one that another run left there. */
static bool is_beside(const char *path, const Checkpoint *newest) {
    char best[4096];
    Safetensors f = { 0 };
    Checkpoint c;
    Error ignored = { 0 };
    if (print_text(best, sizeof best, "%s.best", path) >= (int)sizeof best) return false;
    if (safetensors_open(&f, best, &ignored)) return false;
    bool is = checkpoint_about(&f, &c) && !strcmp(c.run, newest->run)
        && c.step == newest->best_step;
    safetensors_close(&f);
    return is;
}

/* The newest names the best, which lies beside it. */
static void tell_about(const char *path, const Safetensors *f, char about[ABOUT_WEIGHTS]) {
    Checkpoint c;
    if (!checkpoint_about(f, &c) || c.step == 0) return;
    int n = print_text(about, ABOUT_WEIGHTS, "step %lld", (long long)c.step);
    char *to = about + n;
    size_t room = ABOUT_WEIGHTS - (size_t)n;
    if (!c.has_best) return;
    if (c.best_step == c.step)
        print_text(to, room, ", the best by validation (%.4f)", c.best_val_loss);
    else if (is_beside(path, &c))
        print_text(to, room, "; the best by validation is step %lld (%.4f), in %s.best",
                   (long long)c.best_step, c.best_val_loss, path);
}

int program_weights(const Program *p, Session *s, Tokenizer *tokenizer, Error *e) {
    char about[ABOUT_WEIGHTS];
    return program_weights_about(p, s, tokenizer, about, e);
}

int program_weights_about(const Program *p, Session *s, Tokenizer *tokenizer,
                          char about[ABOUT_WEIGHTS], Error *e) {
    Safetensors f = { 0 };
    about[0] = 0;
    int status = session_weights(s, e);
    if (!status) status = safetensors_open(&f, option(p, OPTION_WEIGHTS)->text, e);
    if (status) return status;
    status = safetensors_verify(&f, NULL, e);
    if (!status) status = weights_options(p->m, &f, option(p, OPTION_CHANGED)->text, e);
    if (!status) status = read_weights(p, s, &f, tokenizer, e);
    if (!status) tell_about(f.path, &f, about);
    safetensors_close(&f);
    return status;
}

int program_reads_text(const Program *p, Error *e) {
    const TokenizerKind *kind;
    if (option(p, OPTION_TOKENIZER)->given || program_tokenizer_hash()) return STATUS_OK;
    return tokenizer_kind(model_text(p, p->m->tokenizer), &kind, e);
}

DataWords program_words(const Program *p, OptionId id) {
    const OptionValue *given = option(p, id);
    return (DataWords){ id == OPTION_VAL ? "--val" : "--data", given->list, given->length,
                        option(p, OPTION_FIELD)->text };
}

void program_note(const char *words) {
    Text t = { 0 };
    text_add(&t, "note: %s\n", words);
    if (*words && t.at) (void)!write(STDERR_FILENO, t.at, t.length);
    text_free(&t);
}

static void standalone_tell_text(const Data *d, const Tokenizer *t) {
    char twice[TWICE_WORDS], stray[STRAY_WORDS];
    program_note(data_twice(twice, d));
    program_note(tokenizer_stray(stray, t, "the text", d->stray));
}

int program_data(const Program *p, const Tokenizer *tokenizer, bool apart, Data *d, Error *e) {
    const DataWords words = program_words(p, OPTION_DATA);
    DataFiles f;
    int status = data_files_open(&f, &words, e);
    if (status) return status;
    status = data_files_unweighted(&f, e);
    if (!status) status = data_field_used(f.field, "--field", data_files_fields(&f), e);
    if (!status)
        status = tokenizer_begin_used((BeginChoice)option(p, OPTION_BOS)->choice, "--bos",
                                      data_files_text(&f), e);
    if (!status) status = data_tokens(d, &f, tokenizer, p->m->vocab, apart, e);
    if (!status) status = data_enough(d, "--data", 1, e);
    if (!status) standalone_tell_text(d, tokenizer);
    data_files_free(&f);
    return status;
}

int program_unread(const Program *p, const char *out, Error *e) {
    static const OptionId read[] = { OPTION_WEIGHTS, OPTION_TOKENS, OPTION_TOKENIZER, OPTION_INIT,
                                     OPTION_BEFORE };
    int status = place_unread(out, "/proc/self/exe", e);
    for (size_t i = 0; !status && i < sizeof read / sizeof *read; i++) {
        bool taken = option_is_in(&p->options.table->option[read[i]], p->options.command);
        if (taken) status = place_unread(out, option(p, read[i])->text, e);
    }
    return status;
}

int program_unread_data(const char *out, const DataFiles *f, Error *e) {
    int status = STATUS_OK;
    for (int i = 0; !status && i < f->files; i++)
        status = place_unread(out, f->file[i].path, e);
    return status;
}
