/* SPDX-License-Identifier: MIT
** From the command line to a run that is ready for its next step.  What the user can
** get wrong is found here, before any work: files, sizes, a checkpoint of another run.
*/
#include "train.h"

#include <stdlib.h>
#include <string.h>

#include "place.h"
#include "weights.h"

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
