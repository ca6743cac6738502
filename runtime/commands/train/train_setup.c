/* SPDX-License-Identifier: MIT
** From the command line to a run that is ready for its next step.  What the user can
** get wrong is found here, before any work: files, sizes, a checkpoint of another run.
*/
#include "train.h"

#include <stdlib.h>
#include <string.h>

#include "place.h"
#include "program_tokenizer.h"
#include "weights.h"

void run_settings(const Program *p, const Checkpoint *saved, Checkpoint *c) {
    const OptionValue *v = p->options.value;
    Checkpoint base;
    checkpoint_defaults(c, p->m);
    base = saved ? *saved : *c;
    if (!saved) {
        base.accumulate = v[OPTION_ACCUMULATE].count;
        print_text(base.order, sizeof base.order, "%s", order_names[v[OPTION_ORDER].choice]);
        base.steps = v[OPTION_STEPS].count;
        base.eval_every = v[OPTION_EVAL_EVERY].count;
    }
    c->batch = v[OPTION_BATCH].given ? v[OPTION_BATCH].count : base.batch;
    c->accumulate = v[OPTION_ACCUMULATE].given ? v[OPTION_ACCUMULATE].count : base.accumulate;
    print_text(c->order, sizeof c->order, "%s",
               v[OPTION_ORDER].given ? order_names[v[OPTION_ORDER].choice] : base.order);
    c->lr = v[OPTION_LR].given ? v[OPTION_LR].number : base.lr;
    c->seed = v[OPTION_SEED].given ? v[OPTION_SEED].seed : base.seed;
    c->data_seed = v[OPTION_DATA_SEED].given ? v[OPTION_DATA_SEED].seed
        : saved                              ? base.data_seed
                                             : c->seed;
    c->val_share = v[OPTION_VAL_SHARE].given ? v[OPTION_VAL_SHARE].number : base.val_share;
    c->steps = v[OPTION_MINUTES].given ? 0
        : v[OPTION_STEPS].given        ? v[OPTION_STEPS].count
                                       : base.steps;
    c->minutes = v[OPTION_MINUTES].given ? v[OPTION_MINUTES].number
        : v[OPTION_STEPS].given          ? 0
                                         : base.minutes;
    c->eval_every = v[OPTION_EVAL_EVERY].given ? v[OPTION_EVAL_EVERY].count : base.eval_every;
}

static int check_options(const Program *p, Error *e) {
    static const OptionId pair[][2] = { { OPTION_VAL, OPTION_VAL_SHARE },
                                        { OPTION_INIT, OPTION_RESUME },
                                        { OPTION_STEPS, OPTION_MINUTES },
                                        { OPTION_OVERWRITE, OPTION_RESUME } };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        if (option(p, pair[i][0])->given && option(p, pair[i][1])->given)
            return error_set(e, STATUS_USAGE, "train: expected --%s or --%s, found both",
                             program_options.option[pair[i][0]].name,
                             program_options.option[pair[i][1]].name);
    if (option(p, OPTION_CHANGED)->given && !option(p, OPTION_INIT)->given)
        return error_set(
            e, STATUS_USAGE,
            "train: --changed: expected --init, whose weights it is about, found none");
    if (!p->m->training)
        return error_set(e, STATUS_USER,
                         "train: %s was built with --inference: expected a training build",
                         model_text(p, p->m->name));
    if (program_causal(p, "train", e)) return STATUS_USER;
    bool known = option(p, OPTION_DRY_RUN)->given || option(p, OPTION_RESUME)->given;
    return known ? STATUS_OK : options_require(&p->options, OPTION_DATA, e);
}

/* No output may land on another file of the run. */
static int check_files(const Run *r, Error *e) {
    const char *log = option(r->p, OPTION_LOG)->text, *out[] = { r->out, r->best, r->before };
    int status = program_unread(r->p, log, e);
    for (int i = 0; !status && i < 3; i++)
        if (log && (!strcmp(log, out[i]) || place_distinct(out[i], log, NULL)))
            status = error_set(e, STATUS_USER,
                               "%s: expected different files for --out and --log, found one", log);
        else status = program_unread(r->p, out[i], e);
    if (!status) status = output_check(r->out, true, e);
    return status ? status : output_check(r->best, false, e);
}

/* PATH SUFFIX, to be freed; NULL: no memory. */
static char *beside(const char *path, const char *suffix, Error *e) {
    size_t size = strlen(path) + strlen(suffix) + 1;
    char *name = malloc(size);
    if (!name) return error_memory(e, "--out", size), NULL;
    print_text(name, size, "%s%s", path, suffix);
    return name;
}

static int name_output(Run *r, Error *e) {
    const char *given = option(r->p, OPTION_OUT)->text, *name = model_text(r->p, r->p->m->name);
    r->out = beside(given ? given : name, given ? "" : ".safetensors", e);
    r->best = r->out ? beside(r->out, ".best", e) : NULL;
    r->before = r->best ? beside(r->out, ".prev", e) : NULL;
    return r->before ? check_files(r, e) : e->status;
}

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
    const char *out[] = { r->out, r->best, r->before, option(r->p, OPTION_LOG)->text };
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

int run_texts(Run *r, const Safetensors *from, Error *e) {
    int status = read_data(r, from, e);
    if (!status) status = read_val(r, e);
    return status ? status
                  : tokenizer_begin_used((BeginChoice)option(r->p, OPTION_BOS)->choice, "--bos",
                                         r->reads_text, e);
}

int run_open_memory(Run *r, Error *e) {
    Session *s = &r->s;
    int64_t tokens = r->state.batch * r->state.context;
    int status = session_weights(s, e);
    if (!status) status = session_train(s, e);
    if (!status) status = session_arena(s, tokens, false, e);
    r->routed = status ? NULL : calloc(2 * (size_t)r->p->m->routed + 1, sizeof *r->routed);
    r->late_routed = status ? NULL : calloc((size_t)r->p->m->routed + 1, sizeof *r->late_routed);
    r->load = status ? NULL : calloc((size_t)r->p->m->tensors + 1, sizeof *r->load);
    r->val_loss = status ? NULL : calloc((size_t)r->val.sources + 1, sizeof *r->val_loss);
    r->epochs = status ? NULL : calloc((size_t)r->data.sources, sizeof *r->epochs);
    r->tokens = status ? NULL : malloc((size_t)tokens * sizeof *r->tokens);
    r->targets = status ? NULL : malloc((size_t)tokens * sizeof *r->targets);
    bool rows = r->tokens && r->targets && r->val_loss && r->epochs;
    if (!status && !(rows && r->routed && r->late_routed && r->load))
        status = error_memory(e, "tokens", (size_t)tokens * sizeof *r->tokens * 2);
    return status;
}

static int start_fresh(Run *r, Error *e) {
    const char *init = option(r->p, OPTION_INIT)->text;
    Safetensors f = { 0 };
    run_settings(r->p, NULL, &r->state);
    int status = init ? safetensors_open(&f, init, e) : STATUS_OK;
    if (!status && init) status = safetensors_verify(&f, NULL, e);
    if (!status && init)
        status = weights_options(r->p->m, &f, option(r->p, OPTION_CHANGED)->text, e);
    if (!status) status = run_words(r, NULL, e);
    if (!status) status = run_texts(r, init ? &f : NULL, e);
    if (!status) status = run_open_memory(r, e);
    float *w = status ? NULL : session_write_weights(&r->s);
    if (!status && init) status = weights_take(r->p->m, &f, r->state.seed, w, &r->init, e);
    else if (!status) weights_init(r->p->m, r->state.seed, w);
    safetensors_close(&f);
    if (status) return status;
    checkpoint_run(&r->state, r->p->m, w);
    return option(r->p, OPTION_OVERWRITE)->given ? STATUS_OK : run_keeps(r, e);
}

static int open_log(Run *r, Error *e) {
    bool fresh = true;
    int status = train_log_open(&r->log, option(r->p, OPTION_LOG)->text,
                                option(r->p, OPTION_OVERWRITE)->given ? NULL : r->state.run,
                                r->resumed ? r->state.step : -1, &fresh, e);
    return status || !fresh ? status : run_log(r, e);
}

int run_open(Run *r, Error *e) {
    int status = check_options(r->p, e);
    if (!status) status = program_session(r->p, &r->s, e);
    if (!status && option(r->p, OPTION_DRY_RUN)->given) return STATUS_OK;
    progress_open(&r->progress);
    r->progress.quiet = option(r->p, OPTION_QUIET)->given;
    if (!status) status = name_output(r, e);
    if (!status) status = option(r->p, OPTION_RESUME)->given ? run_resume(r, e) : start_fresh(r, e);
    if (!status) status = open_log(r, e);
    if (!status)
        status = event_file_open(&r->events, option(r->p, OPTION_TENSORBOARD)->text,
                                 r->resumed ? r->state.step : 0, e);
    if (!status) status = run_events(r, e);
    const Checkpoint *c = &r->state;
    r->save_every = option(r->p, OPTION_SAVE_EVERY)->count;
    r->order = (DataOrder){ order_called(c->order), c->data_seed, c->context,
                            c->batch * c->accumulate };
    return status;
}

void run_close(Run *r) {
    train_log_close(&r->log);
    event_file_close(&r->events);
    progress_close(&r->progress);
    free(r->tokens);
    free(r->routed);
    free(r->late_routed);
    free(r->load);
    free(r->targets);
    free(r->out);
    free(r->best);
    free(r->before);
    run_words_free(&r->words);
    free(r->val_loss);
    free(r->epochs);
    data_free(&r->data);
    data_free(&r->val);
    data_free(&r->text);
    weights_taken_free(&r->init);
    tokenizer_free(&r->tokenizer);
    session_close(&r->s);
}
