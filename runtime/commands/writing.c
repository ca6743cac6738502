/* SPDX-License-Identifier: MIT
** See writing.h. */
#include "writing.h"

#include "text_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
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

static void writing_samples(TokenWriter *x, const Program *p) {
    Sampling *s = &x->sampler.how;
    s->temperature = number_of(x, p, SAMPLING_TEMPERATURE);
    s->top_k = (int64_t)number_of(x, p, SAMPLING_TOP_K);
    s->top_p = number_of(x, p, SAMPLING_TOP_P);
    s->min_p = number_of(x, p, SAMPLING_MIN_P);
    s->penalty = number_of(x, p, SAMPLING_PENALTY);
    s->seed = option(p, OPTION_DRAW)->seed;
}

void writing_tell(const TokenWriter *x, Text *t) {
    const double value[SAMPLINGS] = {
        [SAMPLING_TEMPERATURE] = x->sampler.how.temperature,
        [SAMPLING_TOP_K] = (double)x->sampler.how.top_k,
        [SAMPLING_TOP_P] = x->sampler.how.top_p,
        [SAMPLING_MIN_P] = x->sampler.how.min_p,
        [SAMPLING_PENALTY] = x->sampler.how.penalty,
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
    if (!x->draft) return;
    draft_counts(x->draft, &proposed, &held);
    int n = print_text(line, sizeof line, "draft: %lld of %lld proposed tokens held\n",
                       (long long)held, (long long)proposed);
    (void)!write(STDERR_FILENO, line, (size_t)n);
}

/* Special tokens have none: text never ends before them. */
static bool has_text(const Tokenizer *t, int32_t id) {
    Decoder d = { .begun = true };
    const char *text = "";
    return t->kind->decode(t, id, &d, &text) > 0;
}

/* Texts of --stop that are special tokens, by their ids. */
static int find_stops(TokenWriter *x, Error *e) {
    x->token = calloc(x->stops.stops + 1, sizeof *x->token);
    if (!x->token) return error_memory(e, "--stop", x->stops.stops * sizeof *x->token);
    for (size_t i = 0; i < x->stops.stops; i++) {
        int32_t id = tokenizer_find(x->tokenizer, x->stops.stop[i]);
        if (id >= 0 && !has_text(x->tokenizer, id)) x->token[x->tokens++] = id;
    }
    return STATUS_OK;
}

/* The tokenizer's ends, a template's, those of --stop. */
static bool stops_at(const TokenWriter *x, int32_t id) {
    const Tokenizer *t = x->tokenizer;
    if (id == x->stop || text_facts_ends(&t->facts, id)) return true;
    if (!t->facts.ends && id == t->end) return true;
    for (size_t i = 0; i < x->tokens; i++)
        if (id == x->token[i]) return true;
    return false;
}

int writing_open(TokenWriter *x, const Program *p, Session *s, const Tokenizer *t,
                 const char *command, Error *e) {
    *x = (TokenWriter){ .s = s, .tokenizer = t, .command = command, .unread = -1, .stop = -1 };
    x->decoder.begun = true; /* behind the prompt */
    writing_samples(x, p);
    x->stops.stop = option(p, OPTION_STOP)->list;
    x->stops.stops = (size_t)option(p, OPTION_STOP)->length;
    int32_t ids = t->ids < p->m->vocab ? t->ids : p->m->vocab;
    int status = find_stops(x, e);
    if (!status) status = sampler_open(&x->sampler, ids, e);
    x->logits = calloc((size_t)p->m->vocab, sizeof *x->logits);
    if (option(p, OPTION_SLIDE)->given) {
        x->ids = calloc((size_t)p->m->context, sizeof *x->ids);
        if (!status && !x->ids)
            status = error_memory(e, "tokens", (size_t)p->m->context * sizeof *x->ids);
    }
    if (!status && !x->logits)
        status = error_memory(e, "logits", (size_t)p->m->vocab * sizeof *x->logits);
    if (!status) status = session_state(s, &x->state, p->m->context, e);
    if (status || !option(p, OPTION_DRAFT)->given) return status;
    status = draft_library_open(&x->library, p, s, t, e);
    return status ? status
                  : draft_open(&x->draft, &x->library.session, s, &x->state, p->m->context, e);
}

void writing_close(TokenWriter *x) {
    free(x->logits);
    free(x->token);
    free(x->ids);
    text_stops_free(&x->stops);
    decoder_free(&x->decoder);
    sampler_close(&x->sampler);
    draft_close(x->draft);
    draft_library_close(&x->library);
    region_close(&x->state);
}

static int empty_state(TokenWriter *x, Error *e) {
    x->held = 0;
    if (x->draft) return draft_reset(x->draft, e);
    return session_check(x->s, x->s->api->state_init(x->s->ctx.at, x->state.at, x->s->m->context),
                         "state_init", e);
}

int writing_reset(TokenWriter *x, Error *e) {
    x->position = 0;
    x->unread = -1;
    sampler_forget(&x->sampler);
    return empty_state(x, e);
}

/* The token behind others that the draft proposed: drawn as draw() will. */
static int32_t guess(void *user, const float *logits, const int32_t *proposed, int64_t count) {
    TokenWriter *x = user;
    bool fresh[STRATA_BACK];
    for (int64_t i = 0; i < count; i++)
        fresh[i] = sampler_see(&x->sampler, proposed[i]);
    int32_t id = sampler_next(&x->sampler, logits, x->position + count);
    for (int64_t i = 0; i < count; i++)
        if (fresh[i]) sampler_unsee(&x->sampler, proposed[i]);
    return id;
}

static int prefill(TokenWriter *x, const int32_t *ids, int64_t count, Error *e) {
    Session *s = x->s;
    if (x->draft) return draft_read(x->draft, ids, count, x->logits, e);
    int status = session_arena(s, count, true, e);
    return status ? status
                  : session_check(s,
                                  s->api->prefill(s->ctx.at, s->weights.at, x->state.at,
                                                  s->arena.at, ids, count, x->logits),
                                  "prefill", e);
}

/* Ids go behind those held, of which halves of the context go until all have room: *gone of both
** together.  The same ones, whether many come at once or one by one. */
static void hold(TokenWriter *x, const int32_t *ids, int64_t count, int64_t *gone) {
    int64_t context = x->s->m->context, half = (context + 1) / 2, more = x->held + count - context;
    *gone = more > 0 ? (more + half - 1) / half * half : 0;
    int64_t old = *gone < x->held ? *gone : x->held, skipped = *gone - old;
    x->held -= old;
    memmove(x->ids, x->ids + old, (size_t)x->held * sizeof *ids);
    memcpy(x->ids + x->held, ids + skipped, (size_t)(count - skipped) * sizeof *ids);
    x->held += count - skipped;
}

/* What is left is read again, at the places that it has now. */
static int slide(TokenWriter *x, Error *e) {
    int64_t held = x->held;
    int status = empty_state(x, e);
    x->held = held;
    return status ? status : prefill(x, x->ids, held, e);
}

static int decode(TokenWriter *x, int32_t id, Error *e) {
    Session *s = x->s;
    void *states[1] = { x->state.at };
    int64_t gone = 0;
    x->position++;
    if (x->ids) hold(x, &id, 1, &gone);
    if (gone) return slide(x, e);
    if (x->draft) return draft_next(x->draft, id, guess, x, x->logits, e);
    return session_check(
        s, s->api->decode(s->ctx.at, s->weights.at, states, 1, s->arena.at, &id, x->logits),
        "decode", e);
}

int writing_read(TokenWriter *x, const int32_t *ids, int64_t count, Error *e) {
    int64_t gone = 0;
    int status = x->unread >= 0 ? decode(x, x->unread, e) : STATUS_OK;
    x->unread = -1;
    if (status) return status;
    for (int64_t i = 0; i < count; i++)
        sampler_see(&x->sampler, ids[i]);
    x->position += count;
    x->last = 0;
    text_stops_reset(&x->stops);
    if (x->ids) hold(x, ids, count, &gone);
    return gone ? slide(x, e) : prefill(x, ids, count, e);
}

/* As it is for a program that reads it; a terminal is not driven by it. */
static int show(TokenWriter *x, const char *text, size_t length, Error *e) {
    return isatty(STDOUT_FILENO) ? console_shown(text, length, &x->closed, e)
                                 : console_write(text, length, &x->closed, e);
}

static int draw(TokenWriter *x, int32_t *id, Error *e) {
    *id = sampler_next(&x->sampler, x->logits, x->position);
    sampler_see(&x->sampler, *id);
    if (*id < 0)
        return error_set(e, STATUS_USER,
                         "%s: token %lld: expected finite logits; the weights are not usable",
                         x->command, (long long)x->position);
    return STATUS_OK;
}

/* Shows what the decoder gave, as far as no stop can begin in it; 'end': all of it. */
static int give(TokenWriter *x, bool end, Error *e) {
    const Text *t = &x->decoder.text;
    if (x->stops.stops) {
        text_stops_take(&x->stops, t->at, t->length, end);
        t = &x->stops.out;
        int status = text_status(&x->stops.held, e);
        if (!status) status = text_status(t, e);
        if (status) return status;
    }
    if (!t->length) return STATUS_OK;
    x->last = t->at[t->length - 1];
    return show(x, t->at, t->length, e);
}

/* Whether the text that a token gave ends the answer. */
static bool ends(const TokenWriter *x) {
    return x->stops.stopped
        || (x->stop_byte && memchr(x->decoder.text.at, x->stop_byte, x->decoder.text.length));
}

int writing_answer(TokenWriter *x, int64_t count, Error *e) {
    for (int64_t i = 0; i < count && !x->closed && !(x->interrupted && *x->interrupted); i++) {
        int32_t id;
        int status = x->unread >= 0 ? decode(x, x->unread, e) : STATUS_OK;
        x->unread = -1;
        if (!status) status = draw(x, &id, e);
        if (status || stops_at(x, id)) return status;
        x->unread = id;
        status = decoder_push(&x->decoder, x->tokenizer, id, e);
        if (!status) status = give(x, false, e);
        if (status || ends(x)) return status;
    }
    return STATUS_OK;
}

int writing_end(TokenWriter *x, Error *e) {
    int status = decoder_end(&x->decoder, x->tokenizer, e);
    bool stopped = x->stops.stopped;
    if (!status && !stopped) status = give(x, true, e);
    bool open = isatty(STDOUT_FILENO) || (x->last && x->last != '\n');
    if (!status && open) status = console_write("\n", 1, &x->closed, e);
    x->decoder.begun = true;
    return status;
}
