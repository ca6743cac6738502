/* SPDX-License-Identifier: MIT
** The command generate: a prompt is read in one call, then token after token is drawn,
** written and fed back.  Standard output gets the continuation only; on a terminal the
** prompt is shown before it.  A reader that goes away ends it quietly.
*/
#include "escape.h"
#include "standalone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample.h"

typedef struct Prompt {
    char *text;
    size_t length;
    int32_t *ids;
    int64_t count, unknown;
    bool owned; /* text was read, not given */
} Prompt;

/* All of standard input, up to what could ever fit: few tokens stand for more bytes. */
enum { LONGEST_TOKEN = 128 };
static int read_input(Prompt *q, int64_t context, Error *e) {
    size_t most = (size_t)context * LONGEST_TOKEN + 1;
    q->owned = true;
    q->text = malloc(most + 1);
    if (!q->text) return error_memory(e, "prompt", most + 1);
    while (q->length < most) {
        ssize_t n = read(STDIN_FILENO, q->text + q->length, most - q->length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return error_set(e, STATUS_IO, "standard input: cannot read: %s", strerror(errno));
        if (n == 0) break;
        q->length += (size_t)n;
    }
    if (q->length == most)
        return error_set(
            e, STATUS_USER,
            "standard input: expected a prompt that fits into the context, %lld tokens",
            (long long)context);
    return STATUS_OK;
}

static int read_prompt(const Program *p, Prompt *q, const Tokenizer *t, Error *e) {
    const char *given = option(p, OPTION_PROMPT)->text;
    bool input = strcmp(given, "-") == 0;
    int status = STATUS_OK;
    if (input) status = read_input(q, p->m->context, e);
    else *q = (Prompt){ .text = (char *)given, .length = strlen(given) };
    if (status) return status;
    TokenIds ids = { .width = sizeof *q->ids, .grows = true, .template = true, .open = true };
    status = token_ids_encode(&ids, t, input ? "standard input" : "--prompt", q->text, q->length,
                              e);
    q->ids = ids.at;
    q->count = ids.count;
    q->unknown = ids.unknown;
    if (!status && q->count == 0)
        return error_set(e, STATUS_USER,
                         "generate: --prompt: expected at least one token, found nothing");
    return status;
}

/* How many tokens to write: as asked, within the context. */
static int count_tokens(const Program *p, const Prompt *q, int64_t *count, Error *e) {
    const OptionValue *most = option(p, OPTION_MAX_TOKENS);
    int64_t context = p->m->context;
    if (q->count > context)
        return error_set(
            e, STATUS_USER,
            "generate: --prompt: expected at most the context, %lld tokens, found %lld; the last "
            "part of it can be given, or a model be built with a larger context",
            (long long)context, (long long)q->count);
    *count = most->given ? most->count : context - q->count;
    if (q->count + *count > context)
        return error_set(
            e, STATUS_USER,
            "generate: --max-tokens: expected at most %lld, what a prompt of %lld tokens "
            "leaves of the context of %lld, found %lld",
            (long long)(context - q->count), (long long)q->count, (long long)context,
            (long long)*count);
    return STATUS_OK;
}

typedef struct Stream {
    Session *s;
    Region state;
    Sampler sampler;
    const Tokenizer *tokenizer;
    Decoder decoder;
    float *logits; /* [V] */
    double penalty;
    bool *seen;              /* [V]: in prompt or text; NULL: there is no penalty */
    const OptionValue *stop; /* texts that end it */
    bool stopped;            /* one came */
    Text held;               /* what may be the beginning of one */
    char last;               /* byte that was written */
    bool closed;             /* nobody reads any more */
} Stream;

static int show_prompt(const Prompt *q, Error *e) {
    if (!isatty(STDOUT_FILENO)) return STATUS_OK;
    bool plain = getenv("NO_COLOR") && *getenv("NO_COLOR");
    Text t = { 0 };
    text_add(&t, "%s", plain ? "" : "\033[2m");
    size_t room = text_escape_room(q->length);
    char *shown = malloc(room);
    if (shown) text_bytes(&t, shown, text_escape_lines(shown, room, q->text, q->length));
    else t.failed = true;
    free(shown);
    text_add(&t, "%s", plain ? "" : "\033[0m");
    return console_text(&t, e);
}

/* As it is for a program that reads it; a terminal is not driven by it. */
static int show(Stream *x, const char *text, size_t length, Error *e) {
    return isatty(STDOUT_FILENO) ? console_shown(text, length, &x->closed, e)
                                 : console_write(text, length, &x->closed, e);
}

/* What was there already becomes less likely. */
static void punish(const Stream *x) {
    for (int32_t i = 0; x->seen && i < x->sampler.ids; i++)
        if (x->seen[i])
            x->logits[i] = (float)(x->logits[i] > 0 ? x->logits[i] / x->penalty
                                                    : x->logits[i] * x->penalty);
}

static int draw(Stream *x, int64_t position, int32_t *id, Error *e) {
    punish(x);
    *id = sampler_next(&x->sampler, x->logits, position);
    if (*id >= 0 && x->seen) x->seen[*id] = true;
    if (*id < 0)
        return error_set(e, STATUS_USER,
                         "generate: token %lld: expected finite logits; the weights are not usable",
                         (long long)position);
    return STATUS_OK;
}

/* Writes the first 'length' bytes of what is held. */
static int release(Stream *x, size_t length, Error *e) {
    Text *t = &x->held;
    if (!length) return STATUS_OK;
    x->last = t->at[length - 1];
    int status = show(x, t->at, length, e);
    memmove(t->at, t->at + length, t->length - length + 1);
    t->length -= length;
    return status;
}

/* More of the text: what no stop can begin with any more is written. */
static int add_text(Stream *x, Error *e) {
    Text *t = &x->held;
    size_t first = SIZE_MAX, longest = 1;
    text_bytes(t, x->decoder.text.at ? x->decoder.text.at : "", x->decoder.text.length);
    int status = text_status(t, e);
    if (status) return status;
    for (int i = 0; i < x->stop->length; i++) {
        const char *stop = x->stop->list[i], *at = memmem(t->at, t->length, stop, strlen(stop));
        if (at && (size_t)(at - t->at) < first) first = (size_t)(at - t->at);
        if (strlen(stop) > longest) longest = strlen(stop);
    }
    x->stopped = first != SIZE_MAX;
    if (x->stopped) return release(x, first, e);
    size_t length = t->length >= longest ? t->length - longest + 1 : 0;
    while (length > 0 && length < t->length && ((unsigned char)t->at[length] & 0xc0) == 0x80)
        length--; /* whole characters */
    return release(x, length, e);
}

/* Writes 'count' tokens after the n of the prompt. */
static int write_tokens(Stream *x, int64_t n, int64_t count, Error *e) {
    Session *s = x->s;
    for (int64_t i = 0; i < count && !x->closed && !x->stopped; i++) {
        int32_t id;
        int status = draw(x, n + i, &id, e);
        if (status || id == x->tokenizer->end) return status;
        status = decoder_push(&x->decoder, x->tokenizer, id, e);
        if (!status) status = add_text(x, e);
        if (!status && i + 1 < count && !x->stopped) {
            void *states[1] = { x->state.at };
            status = session_check(
                s, s->api->decode(s->ctx.at, s->weights.at, states, 1, s->arena.at, &id, x->logits),
                "decode", e);
        }
        if (status) return status;
    }
    return STATUS_OK;
}

static int stream(Stream *x, const Prompt *q, int64_t count, Error *e) {
    Session *s = x->s;
    int status = session_state(s, &x->state, s->m->context, e);
    if (!status) status = session_arena(s, q->count, true, e);
    if (!status)
        status = session_check(s,
                               s->api->prefill(s->ctx.at, s->weights.at, x->state.at, s->arena.at,
                                               q->ids, q->count, x->logits),
                               "prefill", e);
    if (!status) status = show_prompt(q, e);
    if (!status) status = write_tokens(x, q->count, count, e);
    if (status) return status;
    status = decoder_end(&x->decoder, x->tokenizer, e);
    if (!status && !x->stopped) status = add_text(x, e);
    if (!status && !x->stopped) status = release(x, x->held.length, e);
    bool ends = isatty(STDOUT_FILENO) || (x->last && x->last != '\n');
    if (!status && ends) status = console_write("\n", 1, &x->closed, e);
    return status;
}

/* The next one of several, from the prompt on. */
static int sample(Stream *x, const Prompt *q, int64_t count, int64_t number, Error *e) {
    int status = number ? console_write("---\n", 4, &x->closed, e) : STATUS_OK;
    if (x->seen) memset(x->seen, 0, (size_t)x->s->m->vocab * sizeof *x->seen);
    for (int64_t i = 0; x->seen && i < q->count; i++)
        x->seen[q->ids[i]] = true;
    x->stopped = false, x->last = 0;
    text_clear(&x->held);
    x->decoder.begun = true; /* behind the prompt */
    if (!status) status = stream(x, q, count, e);
    region_close(&x->state);
    x->sampler.seed++;
    return status;
}

static int generate(const Program *p, Session *s, const Tokenizer *t, const Prompt *q,
                    int64_t count, Error *e) {
    Stream x = { .s = s, .tokenizer = t, .stop = option(p, OPTION_STOP) };
    x.sampler.temperature = option(p, OPTION_TEMPERATURE)->number;
    x.sampler.top_k = option(p, OPTION_TOP_K)->count;
    x.sampler.top_p = option(p, OPTION_TOP_P)->number;
    x.sampler.min_p = option(p, OPTION_MIN_P)->number;
    x.sampler.seed = option(p, OPTION_DRAW)->seed;
    x.penalty = option(p, OPTION_REPEAT)->number;
    int32_t ids = t->ids < p->m->vocab ? t->ids : p->m->vocab;
    int status = sampler_open(&x.sampler, ids, e);
    x.logits = calloc((size_t)p->m->vocab, sizeof *x.logits);
    if (x.penalty > 1) x.seen = calloc((size_t)p->m->vocab, sizeof *x.seen);
    if (!status && (!x.logits || (x.penalty > 1 && !x.seen)))
        status = error_memory(e, "logits", (size_t)p->m->vocab * sizeof *x.logits);
    for (int64_t i = 0; !status && !x.closed && i < option(p, OPTION_SAMPLES)->count; i++)
        status = sample(&x, q, count, i, e);
    free(x.logits);
    free(x.seen);
    text_free(&x.held);
    decoder_free(&x.decoder);
    sampler_close(&x.sampler);
    region_close(&x.state);
    return status;
}

/* Beside the text, on standard error. */
static void note(const char *what, const char *words) {
    char line[ABOUT_WEIGHTS + 16];
    int n = print_text(line, sizeof line, "%s: %s\n", what, words);
    if (*words) (void)!write(STDERR_FILENO, line, (size_t)n);
}

/* Which weights they are is told to somebody who watches. */
static void tell_weights(const char *about) {
    if (isatty(STDOUT_FILENO) && isatty(STDERR_FILENO)) note("weights", about);
}

static void tell_unknown(const Tokenizer *t, const Prompt *q) {
    char words[UNKNOWN_WORDS];
    note("note", tokenizer_unknown(words, t, "the prompt", q->unknown, q->count));
}

int command_generate(const Program *p, Error *e) {
    Session s = { 0 };
    char about[ABOUT_WEIGHTS];
    Tokenizer t = { 0 };
    Prompt q = { 0 };
    int64_t count = 0;
    int status = program_causal(p, "generate", e);
    if (!status) status = options_require(&p->options, OPTION_WEIGHTS, e);
    if (!status) status = program_session(p, &s, e);
    if (!status) status = program_weights_about(p, &s, &t, about, e);
    if (!status) tell_weights(about);
    if (!status) status = program_reads_text(p, e);
    if (!status) status = read_prompt(p, &q, &t, e);
    if (!status) tell_unknown(&t, &q);
    if (!status) status = count_tokens(p, &q, &count, e);
    if (!status) status = generate(p, &s, &t, &q, count, e);
    if (q.owned) free(q.text);
    free(q.ids);
    tokenizer_free(&t);
    session_close(&s);
    return status;
}
