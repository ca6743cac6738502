/* SPDX-License-Identifier: MIT
** From the command line to a run that is ready for its next step.  All mistakes of a user are
** found here, before any work: files, sizes, a checkpoint of another run.
*/
#include "train.h"

#include <stdlib.h>

#include "weights.h"

static int setup_check_options(const Program *p, Error *e) {
    static const OptionId pair[][2] = { { OPTION_VAL, OPTION_VAL_SHARE },
                                        { OPTION_INIT, OPTION_RESUME },
                                        { OPTION_STEPS, OPTION_MINUTES },
                                        { OPTION_OVERWRITE, OPTION_RESUME } };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        if (option(p, pair[i][0])->given && option(p, pair[i][1])->given)
            return error_set(e, STATUS_USAGE, "train: expected --%s or --%s, found both",
                             program_options.option[pair[i][0]].name,
                             program_options.option[pair[i][1]].name);
    if (!p->m->training)
        return error_set(e, STATUS_USER,
                         "train: %s was built with --inference: expected a training build",
                         model_text(p, p->m->name));
    if (program_causal(p, "train", e)) return STATUS_USER;
    bool known = option(p, OPTION_DRY_RUN)->given || option(p, OPTION_RESUME)->given;
    return known ? STATUS_OK : options_require(&p->options, OPTION_DATA, e);
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

int run_open(Run *r, Error *e) {
    int status = setup_check_options(r->p, e);
    if (!status) status = program_session(r->p, &r->s, e);
    if (!status && option(r->p, OPTION_DRY_RUN)->given) return STATUS_OK;
    if (!status) status = outputs_open(r, e);
    if (!status) status = option(r->p, OPTION_RESUME)->given ? run_resume(r, e) : start_fresh(r, e);
    if (!status) status = outputs_begin(r, e);
    const Checkpoint *c = &r->state;
    r->order = (DataOrder){ order_called(c->order), c->data_seed, c->context,
                            c->batch * c->accumulate };
    return status;
}

void run_close(Run *r) {
    outputs_close(r);
    free(r->tokens);
    step_sums_close(&r->sums);
    free(r->numbers);
    free(r->routed);
    free(r->late_routed);
    free(r->load);
    free(r->targets);
    free(r->out);
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
