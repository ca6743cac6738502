/* SPDX-License-Identifier: MIT
** See writing.h. */
#include "writing.h"

#include "text_words.h"

#include <math.h>
#include <unistd.h>

static const OptionId sampling_option[SAMPLINGS] = {
    [SAMPLING_TEMPERATURE] = OPTION_TEMPERATURE,
    [SAMPLING_TOP_K] = OPTION_TOP_K,
    [SAMPLING_TOP_P] = OPTION_TOP_P,
    [SAMPLING_MIN_P] = OPTION_MIN_P,
    [SAMPLING_PENALTY] = OPTION_REPEAT,
};

/* A number of the command line, else the checkpoint's own, else the option's initial value. */
static double number_of(TokenWriter *x, const Program *p, SamplingName name) {
    const OptionId id = sampling_option[name];
    const OptionValue *given = option(p, id);
    const TextFacts *f = &x->tokenizer->facts;
    double own = name == SAMPLING_TEMPERATURE && f->greedy ? 0 : f->sampling[name];
    x->own[name] = !given->given && !isnan(own);
    if (x->own[name]) return own;
    return id == OPTION_TOP_K ? (double)given->count : given->number;
}

static Sampling read_sampling(TokenWriter *x, const Program *p) {
    return (Sampling){ .temperature = number_of(x, p, SAMPLING_TEMPERATURE),
                       .top_k = (int64_t)number_of(x, p, SAMPLING_TOP_K),
                       .top_p = number_of(x, p, SAMPLING_TOP_P),
                       .min_p = number_of(x, p, SAMPLING_MIN_P),
                       .penalty = number_of(x, p, SAMPLING_PENALTY),
                       .seed = option(p, OPTION_DRAW)->seed };
}

void writing_settings(TokenWriter *x, const Program *p, const Tokenizer *t, const char *command) {
    const OptionValue *stop = option(p, OPTION_STOP);
    *x = (TokenWriter){ .tokenizer = t };
    x->how = (SequenceSettings){ .name = command,
                                 .sampling = read_sampling(x, p),
                                 .stop = stop->list,
                                 .stops = (size_t)stop->length,
                                 .slide = option(p, OPTION_SLIDE)->given };
}

int writing_open(TokenWriter *x, const Program *p, Session *s, Error *e) {
    int status = generator_open(&x->generator, s, x->tokenizer, 1, p->m->context, e);
    if (!status && option(p, OPTION_DRAFT)->given) {
        status = draft_library_open(&x->library, p, s, x->tokenizer, e);
        x->how.draft = &x->library.session;
    }
    return status ? status : generator_add(x->generator, &x->sequence, &x->how, e);
}

void writing_close(TokenWriter *x) {
    generator_close(x->generator);
    draft_library_close(&x->library);
}

void writing_tell(const TokenWriter *x, Text *t) {
    const double value[SAMPLINGS] = {
        [SAMPLING_TEMPERATURE] = x->how.sampling.temperature,
        [SAMPLING_TOP_K] = (double)x->how.sampling.top_k,
        [SAMPLING_TOP_P] = x->how.sampling.top_p,
        [SAMPLING_MIN_P] = x->how.sampling.min_p,
        [SAMPLING_PENALTY] = x->how.sampling.penalty,
    };
    bool some = false;
    for (int i = 0; i < SAMPLINGS; i++) {
        if (!x->own[i]) continue;
        text_add(t, "%s--%s ",
                 some ? " " : "sampling: ", program_options.option[sampling_option[i]].name);
        text_words_number(t, value[i]);
        some = true;
    }
    if (some) text_add(t, ", as the checkpoint recommends; options say otherwise\n");
}

void writing_tell_draft(const TokenWriter *x) {
    int64_t proposed, held;
    char line[120];
    if (!x->sequence || !x->sequence->draft) return;
    draft_counts(x->sequence->draft, &proposed, &held);
    int n = print_text(line, sizeof line, "draft: %lld of %lld proposed tokens held\n",
                       (long long)held, (long long)proposed);
    (void)!write(STDERR_FILENO, line, (size_t)n);
}

/* == Reading and answering ================================================ */

int writing_read(TokenWriter *x, const int32_t *ids, int64_t count, Error *e) {
    int status = sequence_read(x->sequence, ids, count, e);
    x->last = 0;
    return status;
}

/* As it is for a program that reads it; a terminal is not driven by it. */
static int writing_show(TokenWriter *x, const char *text, size_t length, Error *e) {
    return isatty(STDOUT_FILENO) ? console_shown(text, length, &x->closed, e)
                                 : console_write(text, length, &x->closed, e);
}

/* What the sequence gave last. */
static int show_text(TokenWriter *x, Error *e) {
    const Text *t = x->sequence->text;
    if (!t->length) return STATUS_OK;
    x->last = t->at[t->length - 1];
    return writing_show(x, t->at, t->length, e);
}

int writing_answer(TokenWriter *x, int64_t count, Error *e) {
    int status = STATUS_OK;
    sequence_start(x->sequence, count);
    while (!status && x->sequence->phase == SEQUENCE_WRITES) {
        if (x->closed || (x->interrupted && *x->interrupted)) break;
        status = generator_step(x->generator, e);
        if (!status) status = show_text(x, e);
    }
    return status;
}

int writing_end(TokenWriter *x, Error *e) {
    int status = sequence_finish(x->sequence, e);
    if (!status) status = show_text(x, e);
    bool open = isatty(STDOUT_FILENO) || (x->last && x->last != '\n');
    return status || !open ? status : console_write("\n", 1, &x->closed, e);
}
