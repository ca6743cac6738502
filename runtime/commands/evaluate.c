/*
** Evaluation of a data set, and the command eval.  The sum runs over tokens in
** their order, in double: it depends on neither threads nor batch.
*/
#include "evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "standalone.h"

enum { BATCH_TOKENS = 4096 }; /* windows at once, unless told, hold about this many */

typedef struct Windows {
    const Data *d;
    int64_t length;
    int32_t *tokens, *targets; /* [batch, length] */
    float *nll;
} Windows;

/* Windows first … first+count-1, all of one length n; *n. */
static void gather(Windows *w, int64_t first, int64_t count, int64_t *n) {
    for (int64_t i = 0; i < count; i++)
        *n = data_window(w->d, w->length, first + i, w->tokens + i * w->length,
                         w->targets + i * w->length);
}

static int run(Session *s, Windows *w, int64_t batch, double *nll, int64_t *tokens, Error *e) {
    *nll = 0, *tokens = 0;
    int64_t windows = data_windows(w->d, w->length);
    for (int64_t i = 0, b; i < windows; i += b) {
        int64_t full = windows - 1 - i, n = 0; /* the last may be shorter and goes alone */
        b = full == 0 ? 1 : full < batch ? full : batch;
        gather(w, i, b, &n);
        strata_loss loss = { .struct_size = sizeof loss };
        int status = session_check(s,
                                   s->api->loss(s->ctx.at, s->weights.at, s->arena.at, w->tokens,
                                                w->targets, b, n, w->nll, &loss),
                                   "loss", e);
        if (status) return status;
        for (int64_t t = 0; t < b * n; t++)
            *nll += w->nll[t];
        *tokens += b * n;
    }
    return STATUS_OK;
}

static int in_form(Session *s, Windows *w, int64_t batch, uint32_t flags, double *nll,
                   int64_t *tokens, Error *e) {
    s->setup.flags = flags;
    int status = session_setup(s, e);
    return status ? status : run(s, w, batch, nll, tokens, e);
}

static int run_forms(Session *s, Windows *w, int64_t batch, Evaluation *out, Error *e) {
    if (s->m->forms < 2) return run(s, w, batch, &out->nll, &out->tokens, e);
    int status = in_form(s, w, batch, STRATA_AS_GENERATED, &out->nll, &out->tokens, e);
    return status ? status : in_form(s, w, batch, 0, &out->training_nll, &out->tokens, e);
}

int evaluate(Session *s, const Data *d, int64_t length, int64_t batch, Evaluation *out, Error *e) {
    *out = (Evaluation){ 0 };
    Windows w = { .d = d, .length = length };
    size_t n = (size_t)batch * (size_t)length;
    w.tokens = calloc(n, sizeof *w.tokens);
    w.targets = calloc(n, sizeof *w.targets);
    w.nll = calloc(n, sizeof *w.nll);
    int status = w.tokens && w.targets && w.nll ? run_forms(s, &w, batch, out, e)
                                                : error_memory(e, "windows", n * 12);
    free(w.tokens);
    free(w.targets);
    free(w.nll);
    return status;
}

typedef struct LengthResult {
    int64_t length;
    Evaluation value;
    double loss, perplexity, bits_per_byte;
} LengthResult;

static int evaluate_length(const Program *p, Session *s, const Data *d, LengthResult *r, Error *e) {
    if (r->length > p->m->context && p->m->learned_positions)
        return error_set(e, STATUS_USER,
                         "eval: --length: expected at most the context, %d tokens, whose positions "
                         "are learned, found %lld",
                         p->m->context, (long long)r->length);
    const OptionValue *given = option(p, OPTION_BATCH);
    int64_t batch = given->given ? given->count
                                 : BATCH_TOKENS / r->length + (r->length > BATCH_TOKENS);
    int64_t windows = data_windows(d, r->length);
    batch = batch > windows ? windows : batch;
    int status = session_arena(s, batch * r->length, false, e);
    if (!status) status = evaluate(s, d, r->length, batch, &r->value, e);
    if (status) return status;
    r->loss = evaluation_loss(&r->value);
    if (!isfinite(r->loss))
        return error_set(e, STATUS_USER,
                         "eval: expected a finite loss, found %s; the weights are not usable",
                         isnan(r->loss) ? "nan" : "inf");
    r->perplexity = exp(r->loss);
    r->bits_per_byte = r->value.nll / log(2) / (double)d->bytes;
    return STATUS_OK;
}

/* Where the model is not causal, so that its loss is no measure of what it could write; NULL: it
** is. */
static const char *sees_later(const strata_model *m) {
    const char *acausal = strata_string(m, m->acausal), *ahead = strata_string(m, m->ahead);
    return acausal[0] ? acausal : ahead[0] ? ahead : NULL;
}

static void result_json(Text *t, const LengthResult *r, const strata_model *m) {
    text_add(t, "\"loss\": ");
    text_json_number(t, r->loss);
    text_add(t, ", \"perplexity\": ");
    text_json_number(t, r->perplexity);
    text_add(t, ", \"bits_per_byte\": ");
    text_json_number(t, r->bits_per_byte);
    text_add(t, ", \"tokens\": %lld, \"length\": %lld", (long long)r->value.tokens,
             (long long)r->length);
    if (m->forms == 2) {
        text_add(t, ", \"loss_training_form\": ");
        text_json_number(t, evaluation_training_loss(&r->value));
    }
    if (sees_later(m)) text_add(t, ", \"causal\": false");
}

static int print_results(const Program *p, const LengthResult *r, int count, Error *e) {
    Text t = { 0 };
    if (option(p, OPTION_JSON)->given) {
        text_add(&t, "{");
        result_json(&t, &r[0], p->m);
        for (int i = 0; count > 1 && i < count; i++) {
            text_add(&t, i ? "}, {" : ", \"lengths\": [{");
            result_json(&t, &r[i], p->m);
        }
        text_add(&t, count > 1 ? "}]}\n" : "}\n");
        return console_text(&t, e);
    }
    for (int i = 0; i < count; i++) {
        text_add(&t,
                 "%slength         %lld\nloss           %.6f\nperplexity     %.6g\nbits_per_byte  "
                 "%.6f\ntokens         %lld\n",
                 i ? "\n" : "", (long long)r[i].length, r[i].loss, r[i].perplexity,
                 r[i].bits_per_byte, (long long)r[i].value.tokens);
        if (p->m->forms == 2)
            text_add(&t, "loss_training_form  %.6f\n", evaluation_training_loss(&r[i].value));
        if (sees_later(p->m)) text_add(&t, "not causal: %s sees later tokens\n", sees_later(p->m));
    }
    return console_lines(&t, e);
}

/* "yarn:4" */
static int read_rope(const Program *p, double *factor, Error *e) {
    const OptionValue *rope = option(p, OPTION_ROPE);
    const char *text = rope->given ? rope->text : "";
    char *end = NULL;
    *factor = 0;
    if (!rope->given) return STATUS_OK;
    if (!strncmp(text, "yarn:", 5)) *factor = strtod(text + 5, &end);
    if (!end || end == text + 5 || *end || !(*factor >= 1 && *factor <= 1e6))
        return error_set(e, STATUS_USAGE,
                         "eval: --rope: expected yarn:F with F from 1 to 1000000, found '%s'",
                         text);
    if (p->m->learned_positions || p->m->ctx_bytes == STRATA_CTX_HEAD)
        return error_set(e, STATUS_USER,
                         "eval: --rope: expected a model whose positions are rotary, found %s",
                         p->m->learned_positions ? "learned ones" : "none");
    return STATUS_OK;
}

/* Positions of the longest window, and how they turn. */
static int prepare_positions(const Program *p, Session *s, const LengthResult *r, int count,
                             Error *e) {
    double factor;
    int64_t longest = p->m->context;
    int status = read_rope(p, &factor, e);
    if (p->m->learned_positions) /* evaluate_length refuses what is beyond the context */
        return status;
    for (int i = 0; i < count; i++)
        longest = r[i].length > longest ? r[i].length : longest;
    if (status || (longest == p->m->context && factor == 0)) return status;
    if (longest > INT32_MAX)
        return error_set(e, STATUS_USER, "eval: --length: expected at most %d tokens, found %lld",
                         INT32_MAX, (long long)longest);
    s->setup.length = (int32_t)longest;
    s->setup.yarn = (float)factor;
    s->setup.yarn_scale = (float)(0.1 * log(factor > 0 ? factor : 1) + 1);
    status = session_setup(s, e);
    return status == STATUS_INTERNAL && factor > 0
        ? error_set(e, STATUS_USER, "eval: --rope: %s", s->api->message(s->ctx.at))
        : status;
}

static int eval_lengths(const Program *p, Session *s, const Data *d, Error *e) {
    const OptionValue *lengths = option(p, OPTION_LENGTH);
    int count = lengths->given ? lengths->length : 1;
    LengthResult *r = calloc((size_t)count, sizeof *r);
    if (!r) return error_memory(e, "results", (size_t)count * sizeof *r);
    for (int i = 0; i < count; i++)
        r[i].length = lengths->given ? lengths->counts[i] : p->m->context;
    int status = prepare_positions(p, s, r, count, e);
    for (int i = 0; i < count && !status; i++) {
        status = evaluate_length(p, s, d, &r[i], e);
    }
    if (!status) status = print_results(p, r, count, e);
    free(r);
    return status;
}

static int eval_data(const Program *p, Session *s, const Tokenizer *tokenizer, Error *e) {
    Data d = { 0 };
    int status = program_data(p, tokenizer, &d, e);
    if (!status) status = eval_lengths(p, s, &d, e);
    data_free(&d);
    return status;
}

int command_eval(const Program *p, Error *e) {
    Session s = { 0 };
    Tokenizer tokenizer = { 0 };
    int status = options_require(&p->options, OPTION_WEIGHTS, e);
    if (!status) status = options_require(&p->options, OPTION_DATA, e);
    if (!status) status = program_session(p, &s, e);
    if (!status) status = program_weights(p, &s, &tokenizer, e);
    if (!status) status = eval_data(p, &s, &tokenizer, e);
    tokenizer_free(&tokenizer);
    session_close(&s);
    return status;
}
