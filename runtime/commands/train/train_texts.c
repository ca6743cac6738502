/* SPDX-License-Identifier: MIT
** The text of a run: what --data and --val name, read as tokens by the run's tokenizer.
*/
#include "train.h"

#include <string.h>

#include "program_tokenizer.h"

/* The tokenizer of a file of its own, or of one with weights, if it holds one; else from the
** training text. */
static int make_tokenizer(Run *r, const Safetensors *from, const DataFiles *f, Error *e) {
    int64_t vocab = r->p->m->vocab;
    const char *name = model_text(r->p, r->p->m->tokenizer);
    const TokenizerKind *kind;
    int status = program_tokenizer_open(r->p, from, &r->tokenizer, e);
    if (!status && r->tokenizer.kind)
        status = tokenizer_put_begin(&r->tokenizer, r->words.bos, "--bos", e);
    if (status || r->tokenizer.kind) return status;
    if (!*name && !data_files_text(f)) return STATUS_OK; /* tokens need none */
    status = tokenizer_kind(name, &kind, e);
    if (status) return status;
    status = from && tokenizer_held(kind, from)
        ? tokenizer_load(&r->tokenizer, kind, vocab, from, e)
        : data_files_learn(f, &r->tokenizer, kind, vocab, e);
    return status ? status : tokenizer_put_begin(&r->tokenizer, r->words.bos, "--bos", e);
}

/* No output may land on what is read. */
static int check_inputs(const Run *r, const DataFiles *f, Error *e) {
    const Outputs *o = r->outputs;
    if (!o) return STATUS_OK;
    const char *out[] = { r->out, o->best, o->before, option(r->p, OPTION_LOG)->text };
    int status = STATUS_OK;
    for (int i = 0; !status && i < 4; i++)
        status = program_unread_data(out[i], f, e);
    return status;
}

static int open_files(Run *r, OptionId id, DataFiles *f, Error *e) {
    const DataWords *words = id == OPTION_VAL ? &r->words.val : &r->words.data;
    int status = data_files_open(f, words, e);
    if (status) return run_words_lost(r, id, status, e);
    r->reads_text |= data_files_text(f);
    r->reads_fields |= data_files_fields(f);
    status = check_inputs(r, f, e);
    if (!status) status = data_files_identify(f, e);
    if (status) data_files_free(f);
    return status;
}

static int read_data(Run *r, const Safetensors *from, Error *e) {
    DataFiles f;
    int status = open_files(r, OPTION_DATA, &f, e);
    if (status) return status;
    status = make_tokenizer(r, from, &f, e);
    if (!status) status = data_tokens(&r->text, &f, &r->tokenizer, r->p->m->vocab, false, e);
    data_files_free(&f);
    if (status) return status;
    memcpy(r->state.data_sha256, r->text.files.sha256, sizeof r->state.data_sha256);
    r->evaluates = r->state.val_share > 0;
    status = data_split(&r->text, r->state.val_share, &r->data, &r->val, e);
    return status ? status : data_enough(&r->data, "--data", r->p->m->context, e);
}

static int read_val(Run *r, Error *e) {
    if (!r->words.val.words)
        return r->evaluates ? data_enough(&r->val, "--val-share", 1, e) : STATUS_OK;
    DataFiles f;
    int status = open_files(r, OPTION_VAL, &f, e);
    if (status) return status;
    data_free(&r->val);
    status = data_files_unweighted(&f, e);
    if (!status) status = data_tokens(&r->val, &f, &r->tokenizer, r->p->m->vocab, true, e);
    data_files_free(&f);
    if (status) return status;
    memcpy(r->state.val_sha256, r->val.files.sha256, sizeof r->state.val_sha256);
    r->evaluates = true;
    return data_enough(&r->val, "--val", 1, e);
}

/* --resume may bring what they need, and here it is known. */
static int check_evaluates(const Run *r, Error *e) {
    static const OptionId about[] = { OPTION_EVAL_EVERY, OPTION_VAL_TOKENS, OPTION_NO_BEST };
    char name[32];
    for (size_t i = 0; !r->evaluates && i < sizeof about / sizeof *about; i++)
        if (option(r->p, about[i])->given)
            return error_set(e, STATUS_USAGE,
                             "train: %s: expected --val or --val-share with it, or in the run that "
                             "is resumed, found none",
                             option_name(name, &program_options.option[about[i]]));
    return STATUS_OK;
}

int run_texts(Run *r, const Safetensors *from, Error *e) {
    int status = read_data(r, from, e);
    if (!status) status = read_val(r, e);
    if (!status) status = check_evaluates(r, e);
    if (!status && option(r->p, OPTION_FIELD)->given)
        status = data_field_used(r->words.data.field, "--field", r->reads_fields, e);
    return status ? status
                  : tokenizer_begin_used((BeginChoice)option(r->p, OPTION_BOS)->choice, "--bos",
                                         r->reads_text, e);
}
