/* SPDX-License-Identifier: MIT
** The command score; see score.h.  The file is read twice, so that a mistake in any line is
** reported before anything is computed.
*/
#include "score.h"

#include "commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256 }; /* requests that are computed before their results are written */

typedef struct ScoreTotal {
    int64_t requests, spans, missed, tokens, bytes, greedy;
    double nll;
} ScoreTotal;

typedef struct Scoring {
    ScoreReader reader;
    ScoreRun *run;
    Session *s;
    bool json, closed;
    ScoreTotal texts, continuations;
    ScoreRequest block[BLOCK];
    int32_t requests; /* in the block */
    int64_t missed;   /* the first line with something that is not scored; 0: none */
    bool found;       /* a line to score */
} Scoring;

/* == Results ============================================================== */

typedef enum ScoreField { LIKELIHOOD, GREEDY, COUNT, BYTES } ScoreField;
static const char *const field_name[] = { "loglikelihood", "is_greedy", "tokens", "bytes" };

static void add_field(Text *t, const ScoreSpan *x, ScoreField field) {
    if (x->why && field <= GREEDY) text_add(t, "null");
    else if (field == LIKELIHOOD) text_json_number(t, -x->nll);
    else if (field == GREEDY) text_add(t, "%s", x->greedy ? "true" : "false");
    else text_add(t, "%lld", (long long)(field == COUNT ? x->count : x->bytes));
}

/* "not_scored": why, null where there is a number; only where something is not. */
static void add_reasons(Text *t, const ScoreReader *r, const ScoreRequest *q) {
    bool list = q->kind == SCORE_LIST, any = false;
    for (int32_t i = 0; i < q->spans; i++)
        any |= q->span[i].why != SCORE_DONE;
    if (!any) return;
    text_add(t, ", \"not_scored\": %s", list ? "[" : "");
    for (int32_t i = 0; i < q->spans; i++) {
        char why[128];
        score_why(r, &q->span[i], why);
        text_add(t, "%s", i ? ", " : "");
        if (q->span[i].why) text_json_string(t, why);
        else text_add(t, "null");
    }
    text_add(t, "%s", list ? "]" : "");
}

/* A list where the request has one. */
static void result_json(Text *t, const ScoreReader *r, const ScoreRequest *q) {
    text_add(t, "{\"line\": %lld", (long long)q->line);
    for (ScoreField f = LIKELIHOOD; f <= BYTES; f++) {
        if (f == GREEDY && q->kind == SCORE_TEXT) continue;
        text_add(t, ", \"%s\": %s", field_name[f], q->kind == SCORE_LIST ? "[" : "");
        for (int32_t i = 0; i < q->spans; i++) {
            text_add(t, "%s", i ? ", " : "");
            add_field(t, &q->span[i], f);
        }
        text_add(t, "%s", q->kind == SCORE_LIST ? "]" : "");
    }
    int64_t dropped = 0;
    for (int32_t i = 0; i < q->spans; i++)
        dropped = q->span[i].dropped > dropped ? q->span[i].dropped : dropped;
    if (dropped) text_add(t, ", \"dropped\": %lld", (long long)dropped);
    add_reasons(t, r, q);
    text_add(t, "}\n");
}

static void result_lines(Text *t, const ScoreReader *r, const ScoreRequest *q) {
    for (int32_t i = 0; i < q->spans; i++) {
        const ScoreSpan *x = &q->span[i];
        char why[128];
        score_why(r, x, why);
        if (x->why)
            text_add(t, "%7lld  %14s  %7s  not scored: %s\n", (long long)q->line, "-", "-", why);
        else
            text_add(t, "%7lld  %14.6f  %7lld  %s\n", (long long)q->line, -x->nll,
                     (long long)x->count,
                     q->kind == SCORE_TEXT ? "text"
                         : x->greedy       ? "greedy"
                                           : "");
    }
}

static void add_total(ScoreTotal *sum, const ScoreRequest *q) {
    sum->requests++;
    for (int32_t i = 0; i < q->spans; i++) {
        const ScoreSpan *x = &q->span[i];
        sum->missed += x->why != SCORE_DONE;
        if (x->why) continue;
        sum->spans++;
        sum->tokens += x->count;
        sum->bytes += x->bytes;
        sum->greedy += x->greedy;
        sum->nll += x->nll;
    }
}

/* Per byte, so that models of different vocabularies compare. */
static double bits_per_byte(const ScoreTotal *x) { return x->nll / log(2) / (double)x->bytes; }

static void total_json(Text *t, const char *name, const ScoreTotal *x, bool greedy) {
    text_add(t,
             "\"%s\": {\"requests\": %lld, \"scored\": %lld, \"tokens\": %lld, \"bytes\": %lld, "
             "\"not_scored\": %lld",
             name, (long long)x->requests, (long long)x->spans, (long long)x->tokens,
             (long long)x->bytes, (long long)x->missed);
    double value[] = { -x->nll, x->nll / (double)x->tokens, exp(x->nll / (double)x->tokens),
                       bits_per_byte(x), exp(x->nll / (double)x->bytes) };
    static const char *const key[] = { "loglikelihood", "loss", "perplexity", "bits_per_byte",
                                       "byte_perplexity" };
    for (int i = 0; x->spans && i < 5; i++) {
        text_add(t, ", \"%s\": ", key[i]);
        text_json_number(t, value[i]);
    }
    if (greedy) text_add(t, ", \"greedy\": %lld", (long long)x->greedy);
    text_add(t, "}");
}

static void total_lines(Text *t, const char *name, const ScoreTotal *x) {
    if (x->missed) text_add(t, "\n%s  %lld not scored", name, (long long)x->missed);
    if (x->missed && !x->spans) text_add(t, "\n");
    if (!x->spans) return;
    text_add(t,
             "\n%s  %lld, %lld tokens, %lld bytes\nloss           %.6f\nperplexity     %s\n"
             "bits_per_byte  %.6f\n",
             name, (long long)x->spans, (long long)x->tokens, (long long)x->bytes,
             x->nll / (double)x->tokens, FIGURES(exp(x->nll / (double)x->tokens), 6),
             bits_per_byte(x));
}

static int write_summary(Scoring *c, Error *e) {
    Text t = { 0 };
    if (c->json) {
        text_add(&t, "{\"summary\": {");
        total_json(&t, "continuations", &c->continuations, true);
        text_add(&t, ", ");
        total_json(&t, "texts", &c->texts, false);
        text_add(&t, "}}\n");
        return console_text(&t, e);
    }
    total_lines(&t, "continuations", &c->continuations);
    if (c->continuations.spans)
        text_add(&t, "greedy         %lld of %lld\n", (long long)c->continuations.greedy,
                 (long long)c->continuations.spans);
    total_lines(&t, "texts        ", &c->texts);
    return console_lines(&t, e);
}

/* == Blocks =============================================================== */

static int write_block(Scoring *c, Error *e) {
    Text t = { 0 };
    for (int32_t i = 0; i < c->requests; i++) {
        const ScoreRequest *q = &c->block[i];
        ScoreTotal *sum = q->kind == SCORE_TEXT ? &c->texts : &c->continuations;
        if (c->json) result_json(&t, &c->reader, q);
        else result_lines(&t, &c->reader, q);
        add_total(sum, q);
        if (!c->missed && sum->missed) c->missed = q->line;
    }
    return console_text(&t, e);
}

static int compute_block(Scoring *c, Error *e) {
    int status = c->run ? score_continuations(c->run, c->block, c->requests, e) : STATUS_OK;
    if (!status) status = score_texts(c->s, c->block, c->requests, e);
    if (!status) status = write_block(c, e);
    for (int32_t i = 0; i < c->requests; i++)
        score_request_free(&c->block[i]);
    c->requests = 0;
    return status;
}

/* The whole file: checked only, or computed. */
static int score_read_file(Scoring *c, bool compute, Error *e) {
    int status = jsonl_open(&c->reader.lines, c->reader.p->options.word[0], e);
    bool more = true;
    while (!status && more) {
        ScoreRequest *q = &c->block[c->requests];
        status = score_next(&c->reader, q, &more, e);
        if (status || !more) break;
        c->found = true;
        if (!compute) score_request_free(q);
        else if (++c->requests == BLOCK) status = compute_block(c, e);
    }
    if (!status && compute) status = compute_block(c, e);
    for (int32_t i = 0; i < c->requests; i++)
        score_request_free(&c->block[i]);
    c->requests = 0;
    json_free(&c->reader.json);
    jsonl_close(&c->reader.lines);
    return status;
}

static int score_file(Scoring *c, Error *e) {
    char unknown[UNKNOWN_WORDS];
    int status = score_read_file(c, false, e);
    if (!status && !c->found) program_note("there is no line to score");
    if (!status)
        program_note(tokenizer_unknown(unknown, c->reader.tokenizer, "the texts", c->reader.unknown,
                                       c->reader.encoded));
    if (!status && c->reader.longest) {
        c->run = score_run_open(c->s, c->reader.longest, e);
        if (!c->run) status = e->status;
    }
    if (!status && !c->json)
        status = console_write("   line   loglikelihood   tokens\n", 33, NULL, e);
    if (!status) status = score_read_file(c, true, e);
    if (!status) status = write_summary(c, e);
    score_run_close(c->run);
    int64_t missed = c->texts.missed + c->continuations.missed;
    if (status || !missed) return status;
    return error_set(e, STATUS_USER,
                     "%s:%lld: expected all to be scored, found %lld of %lld that cannot be; the "
                     "results say why",
                     c->reader.p->options.word[0], (long long)c->missed, (long long)missed,
                     (long long)(missed + c->texts.spans + c->continuations.spans));
}

/* == The command ========================================================== */

/* An id, a piece as the tokenizer's file spells it, or none at all. */
static int read_prefix(ScoreReader *r, Error *e) {
    const OptionValue *given = option(r->p, OPTION_PREFIX);
    int32_t vocab = r->p->m->vocab;
    int64_t id = -1;
    r->prefix = given->given ? -1 : score_default_prefix(r->tokenizer);
    if (!given->given || !strcmp(given->text, "none")) return STATUS_OK;
    if (!parse_int64(given->text, 0, vocab - 1, &id))
        id = tokenizer_find(r->tokenizer, given->text);
    r->prefix = (int32_t)id;
    if (id >= 0 && id < vocab) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "score: --prefix: expected an id from 0 to %d, a token of the tokenizer's "
                     "file, or none, found '%s'",
                     vocab - 1, given->text);
}

static int score(const Program *p, Session *s, const Tokenizer *tokenizer, Error *e) {
    Scoring *c = calloc(1, sizeof *c);
    if (!c) return error_memory(e, "score", sizeof *c);
    c->reader = (ScoreReader){ .p = p, .tokenizer = tokenizer };
    c->s = s;
    c->json = option(p, OPTION_JSON)->given;
    int status = read_prefix(&c->reader, e);
    s->setup.flags = p->m->forms < 2 ? 0 : STRATA_AS_GENERATED;
    if (!status && s->setup.flags) status = session_setup(s, e);
    if (!status) status = score_file(c, e);
    free(c);
    return status;
}

int command_score(const Program *p, Error *e) {
    Session s = { 0 };
    Tokenizer tokenizer = { 0 };
    int status = program_causal(p, "score", e);
    if (!status) status = program_reads_text(p, e);
    if (!status) status = options_require(&p->options, OPTION_WEIGHTS, e);
    if (!status) status = program_session(p, &s, e);
    if (!status) status = program_weights(p, &s, &tokenizer, e);
    if (!status) status = program_reads_text(p, e);
    if (!status) status = score(p, &s, &tokenizer, e);
    tokenizer_free(&tokenizer);
    session_close(&s);
    return status;
}
