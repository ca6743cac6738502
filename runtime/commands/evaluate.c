/* SPDX-License-Identifier: MIT
** Evaluation of a data set, and the command eval.  Losses are summed over tokens in order, in
** double precision: the sum depends on neither threads nor batch nor ranks.
*/
#include "evaluate.h"
#include "eval_rope.h"
#include "evaluate_beside.h"
#include "evaluate_watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "ranks.h"
#include "weights_small.h"

enum { BATCH_TOKENS = 4096 }; /* windows at once, unless told, hold about this many */

typedef struct Windows {
    const Data *d;
    int source;
    int64_t length;
    int64_t all, taken;        /* windows that there are; of them, at equal distances */
    int32_t *tokens, *targets; /* [batch, length] */
    float *nll;
    double *numbers; /* of all ranks */
    const EvaluationPlan *plan;
} Windows;

/* Which of all windows the i-th is that is taken. */
static int64_t evaluate_place(const Windows *w, int64_t i) {
    return w->taken == w->all ? i : (int64_t)((double)i * (double)w->all / (double)w->taken);
}

/* Windows first … first+count-1, all of one length n; *n. */
static int gather(Windows *w, int64_t first, int64_t count, int64_t *n, Error *e) {
    int status = STATUS_OK;
    for (int64_t i = 0; !status && i < count; i++)
        status = data_window(w->d, w->source, w->length, evaluate_place(w, first + i),
                             w->tokens + i * w->length, w->targets + i * w->length, n, e);
    return status;
}

/* So many windows at once from window i on; the last may be shorter and goes alone. */
static int64_t batch_at(const Windows *w, int64_t i) {
    int64_t full = w->taken - 1 - i;
    return full == 0 ? 1 : full < w->plan->batch ? full : w->plan->batch;
}

/* What a rank has of a round: how many tokens, and the loss of each. */
static int64_t numbers_of(const EvaluationPlan *p) { return 1 + p->batch * p->length; }

static int compute(Session *s, Windows *w, int64_t i, double *numbers, Error *e) {
    int64_t b = batch_at(w, i), n = 0;
    strata_loss loss = { .struct_size = sizeof loss };
    int status = gather(w, i, b, &n, e);
    if (status) return status;
    status = session_check(s,
                           s->api->loss(s->ctx.at, s->weights.at, s->arena.at, w->tokens,
                                        w->targets, b, n, w->nll, &loss),
                           "loss", e);
    numbers[0] = (double)(b * n);
    for (int64_t t = 0; t < b * n; t++)
        numbers[1 + t] = w->nll[t];
    return status;
}

/* A batch for each rank, from window *i on; all ranks add up all of them, in order. */
static int round_of_ranks(Session *s, Windows *w, int64_t *i, double *nll, int64_t *tokens,
                          Error *e) {
    const strata_reducer *r = w->plan->reducer;
    int64_t each = numbers_of(w->plan), next = *i;
    int status = STATUS_OK, ranks = ranks_of(r);
    if (r) memset(w->numbers, 0, (size_t)(ranks * each) * sizeof *w->numbers);
    for (int k = 0; !status && k < ranks && next < w->taken; k++) {
        if (k == rank_of(r)) status = compute(s, w, next, w->numbers + k * each, e);
        next += batch_at(w, next);
    }
    if (!status) status = ranks_sum(r, w->numbers, ranks * each, e);
    for (int k = 0; !status && k < ranks && *i < w->taken; k++) {
        const double *x = w->numbers + k * each;
        int64_t n = (int64_t)x[0], b = batch_at(w, *i);
        for (int64_t t = 0; t < n; t++)
            *nll += x[1 + t];
        *tokens += n, *i += b;
        if (w->plan->watch) w->plan->watch(w->plan->user, b, *nll, *tokens);
    }
    return status;
}

static int evaluate_run(Session *s, Windows *w, double *nll, int64_t *tokens, Error *e) {
    int status = STATUS_OK;
    *nll = 0, *tokens = 0;
    for (int64_t i = 0; !status && i < w->taken;)
        status = round_of_ranks(s, w, &i, nll, tokens, e);
    return status;
}

static int in_form(Session *s, Windows *w, uint32_t flags, double *nll, int64_t *tokens, Error *e) {
    s->setup.flags = flags;
    int status = session_setup(s, e);
    return status ? status : evaluate_run(s, w, nll, tokens, e);
}

static int run_forms(Session *s, Windows *w, Evaluation *out, Error *e) {
    if (s->m->forms < 2) return evaluate_run(s, w, &out->nll, &out->tokens, e);
    int status = in_form(s, w, STRATA_AS_GENERATED, &out->nll, &out->tokens, e);
    return status ? status : in_form(s, w, 0, &out->training_nll, &out->tokens, e);
}

int evaluate(Session *s, const Data *d, const EvaluationPlan *plan, Evaluation *out, Error *e) {
    int64_t length = plan->length, most = plan->most;
    *out = (Evaluation){ 0 };
    Windows w = { .d = d, .source = plan->source, .length = length, .plan = plan };
    w.all = data_windows(d, plan->source, length);
    w.taken = most ? most / length > 1 ? most / length : 1 : w.all;
    if (w.taken > w.all) w.taken = w.all;
    size_t n = (size_t)plan->batch * (size_t)length;
    w.tokens = calloc(n, sizeof *w.tokens);
    w.targets = calloc(n, sizeof *w.targets);
    w.nll = calloc(n, sizeof *w.nll);
    w.numbers = calloc((size_t)ranks_of(plan->reducer), (n + 1) * sizeof *w.numbers);
    int status = w.tokens && w.targets && w.nll && w.numbers ? run_forms(s, &w, out, e)
                                                             : error_memory(e, "windows", n * 20);
    free(w.tokens);
    free(w.targets);
    free(w.nll);
    free(w.numbers);
    return status;
}

/* == The command eval ===================================================== */

/* Of a file, or of all. */
typedef struct LossResult {
    Evaluation value;
    double bytes; /* of text; 0: not known */
} LossResult;

typedef struct LengthResult {
    int64_t length;
    double beside;         /* another program's loss; NaN: none */
    LossResult all, *file; /* file: of each source */
    const Data *d;
} LengthResult;

/* Which weights they are, and what of the text is no token of its own; "" where there is nothing to
** say. What another program said. */
typedef struct EvalNotes {
    char weights[ABOUT_WEIGHTS], unknown[UNKNOWN_WORDS];
    Beside beside;
} EvalNotes;

/* Bits that a byte of text takes; NaN where there is no text. */
static double bits_per_byte(const LossResult *r) {
    return r->bytes > 0 ? r->value.nll / log(2) / r->bytes : (double)NAN;
}

static void add_result(LossResult *all, const LossResult *r, bool first) {
    all->bytes = r->bytes > 0 && (first || all->bytes > 0) ? all->bytes + r->bytes : 0;
    all->value.nll += r->value.nll;
    all->value.training_nll += r->value.training_nll;
    all->value.tokens += r->value.tokens;
}

static int evaluate_check_finite(double loss, Error *e) {
    if (isfinite(loss)) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "eval: expected a finite loss, found %s; the weights are not usable",
                     isnan(loss) ? "nan" : "inf");
}

static int evaluate_length(const Program *p, Session *s, LengthResult *r, Error *e) {
    if (r->length > p->m->context && p->m->learned_positions)
        return error_set(e, STATUS_USER,
                         "eval: --length: expected at most the context, %d tokens, whose positions "
                         "are learned, found %lld",
                         p->m->context, (long long)r->length);
    const OptionValue *given = option(p, OPTION_BATCH);
    int64_t batch = given->given ? given->count
                                 : BATCH_TOKENS / r->length + (r->length > BATCH_TOKENS),
            windows = 1;
    for (int i = 0; i < r->d->sources; i++)
        if (data_windows(r->d, i, r->length) > windows) windows = data_windows(r->d, i, r->length);
    batch = batch > windows ? windows : batch;
    int status = session_arena(s, batch * r->length, false, e);
    EvalWatch watch;
    eval_watch_open(&watch, r->d, r->length, p->m->forms);
    for (int i = 0; !status && i < r->d->sources; i++) {
        const EvaluationPlan plan = { i, r->length, batch, 0, eval_watch, &watch, NULL };
        r->file[i].bytes = (double)r->d->source[i].bytes;
        status = evaluate(s, r->d, &plan, &r->file[i].value, e);
        add_result(&r->all, &r->file[i], i == 0);
    }
    eval_watch_close(&watch);
    return status ? status : evaluate_check_finite(evaluation_loss(&r->all.value), e);
}

/* Where the model is not causal, so that its loss is no measure of what it could write; NULL: it
** is. */
static const char *sees_later(const strata_model *m) {
    const char *acausal = strata_string(m, m->acausal), *ahead = strata_string(m, m->ahead);
    return acausal[0] ? acausal : ahead[0] ? ahead : NULL;
}

static void loss_json(Text *t, const LossResult *r, const strata_model *m) {
    text_add(t, "\"loss\": ");
    text_json_number(t, evaluation_loss(&r->value));
    text_add(t, ", \"perplexity\": ");
    text_json_number(t, exp(evaluation_loss(&r->value)));
    text_add(t, ", \"bits_per_byte\": ");
    text_json_number(t, bits_per_byte(r));
    text_add(t, ", \"tokens\": %lld", (long long)r->value.tokens);
    if (m->forms != 2) return;
    text_add(t, ", \"loss_training_form\": ");
    text_json_number(t, evaluation_training_loss(&r->value));
}

/* What keys and values are rounded to that products do not round them to; NULL: nothing. */
static const char *rounding_cache(const strata_model *m) {
    const char *cache = state_cache_name(m);
    return cache && !strcmp(cache, strata_string(m, m->precision)) ? NULL : cache;
}

/* How much larger the loss is than the other program's. */
static double percent_more(const LengthResult *r) {
    return 100 * (evaluation_loss(&r->all.value) / r->beside - 1);
}

static void result_json(Text *t, const LengthResult *r, const strata_model *m) {
    loss_json(t, &r->all, m);
    text_add(t, ", \"length\": %lld", (long long)r->length);
    if (weights_small_name(m)) text_add(t, ", \"weights_type\": \"%s\"", weights_small_name(m));
    if (rounding_cache(m)) text_add(t, ", \"cache\": \"%s\"", rounding_cache(m));
    if (!isnan(r->beside)) {
        text_add(t, ", \"beside\": ");
        text_json_number(t, r->beside);
        text_add(t, ", \"percent\": ");
        text_json_number(t, percent_more(r));
    }
    if (sees_later(m)) text_add(t, ", \"causal\": false");
    for (int i = 0; r->d->sources > 1 && i < r->d->sources; i++) {
        text_add(t, i ? "}, {\"name\": " : ", \"files\": [{\"name\": ");
        text_json_string(t, r->d->source[i].name);
        text_add(t, ", ");
        loss_json(t, &r->file[i], m);
    }
    text_add(t, r->d->sources > 1 ? "}]" : "");
}

static int print_json(const LengthResult *r, int count, const strata_model *m,
                      const EvalNotes *notes, Error *e) {
    Text t = { 0 };
    text_add(&t, "{");
    result_json(&t, &r[0], m);
    for (int i = 0; count > 1 && i < count; i++) {
        text_add(&t, i ? "}, {" : ", \"lengths\": [{");
        result_json(&t, &r[i], m);
    }
    text_add(&t, count > 1 ? "}]" : "");
    if (*notes->weights) text_add(&t, ", \"weights\": "), text_json_string(&t, notes->weights);
    if (*notes->unknown) text_add(&t, ", \"unknown_characters\": %lld", (long long)r->d->unknown);
    text_add(&t, "}\n");
    return console_text(&t, e);
}

static void print_result(Text *t, const LengthResult *r, const strata_model *m) {
    const LossResult *all = &r->all;
    double loss = evaluation_loss(&all->value), bits = bits_per_byte(all);
    text_add(t, "length         %lld\nloss           %.6f\nperplexity     %s\n",
             (long long)r->length, loss, FIGURES(exp(loss), 6));
    if (!isnan(r->beside))
        text_add(t, "beside         %.6f, difference %+.6f (%+.3f %%)\n", r->beside,
                 loss - r->beside, percent_more(r));
    if (weights_small_name(m)) text_add(t, "weights_type   %s\n", weights_small_name(m));
    if (rounding_cache(m)) text_add(t, "cache          %s\n", rounding_cache(m));
    if (isnan(bits)) text_add(t, "bits_per_byte  not known: there is no text\n");
    else text_add(t, "bits_per_byte  %.6f\n", bits);
    text_add(t, "tokens         %lld\n", (long long)all->value.tokens);
    if (m->forms == 2)
        text_add(t, "loss_training_form  %.6f\n", evaluation_training_loss(&all->value));
    for (int i = 0; r->d->sources > 1 && i < r->d->sources; i++)
        text_add(t, "loss           %.6f  %lld tokens  %s\n", evaluation_loss(&r->file[i].value),
                 (long long)r->file[i].value.tokens, r->d->source[i].name);
    if (sees_later(m)) text_add(t, "not causal: %s sees later tokens\n", sees_later(m));
}

static int print_results(const Program *p, const LengthResult *r, int count, const EvalNotes *notes,
                         Error *e) {
    Text t = { 0 };
    if (option(p, OPTION_JSON)->given) return print_json(r, count, p->m, notes, e);
    if (*notes->weights) text_add(&t, "weights        %s\n", notes->weights);
    if (*notes->unknown) text_add(&t, "%s\n", notes->unknown);
    for (int i = 0; i < count; i++) {
        text_add(&t, i ? "\n" : "");
        print_result(&t, &r[i], p->m);
    }
    return console_lines(&t, e);
}

/* Positions of the longest window, and how they turn. */
static int prepare_positions(const Program *p, Session *s, const LengthResult *r, int count,
                             Error *e) {
    double factor;
    int64_t longest = p->m->context;
    int status = eval_rope(p, &factor, e);
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

/* A window that no text fills would be called by a length that it does not have. */
static int check_lengths(const Data *d, const LengthResult *r, int count, Error *e) {
    int64_t most = 0;
    for (int i = 0; i < d->sources; i++)
        if (d->source[i].count > most) most = d->source[i].count;
    for (int i = 0; i < count; i++)
        if (r[i].length > most)
            return error_set(e, STATUS_USER,
                             "eval: --length: expected at most the longest text, %lld tokens, "
                             "found %lld",
                             (long long)most, (long long)r[i].length);
    return STATUS_OK;
}

static int eval_lengths(const Program *p, Session *s, const Data *d, const EvalNotes *notes,
                        Error *e) {
    const OptionValue *lengths = option(p, OPTION_LENGTH);
    int count = lengths->given ? lengths->length : 1;
    LengthResult *r = calloc((size_t)count, sizeof *r);
    LossResult *file = calloc((size_t)count * (size_t)d->sources, sizeof *file);
    int status = r && file ? STATUS_OK : error_memory(e, "results", (size_t)count * sizeof *r);
    for (int i = 0; !status && i < count; i++) {
        r[i].length = lengths->given ? lengths->counts[i] : p->m->context;
        r[i].d = d;
        r[i].file = file + (size_t)i * (size_t)d->sources;
        status = beside_loss(&notes->beside, r[i].length, 0, &r[i].beside, e);
    }
    if (!status && lengths->given) status = check_lengths(d, r, count, e);
    if (!status) status = prepare_positions(p, s, r, count, e);
    for (int i = 0; i < count && !status; i++) {
        status = evaluate_length(p, s, &r[i], e);
        if (!status)
            status = beside_loss(&notes->beside, r[i].length, r[i].all.value.tokens, &r[i].beside,
                                 e);
    }
    if (!status) status = print_results(p, r, count, notes, e);
    free(file);
    free(r);
    return status;
}

static int eval_data(const Program *p, Session *s, const Tokenizer *tokenizer, EvalNotes *notes,
                     Error *e) {
    Data d = { 0 };
    int status = program_data(p, tokenizer, true, &d, e);
    for (int i = 0; !status && i < d.sources; i++)
        status = data_measure(&d, i, tokenizer, e);
    tokenizer_unknown(notes->unknown, tokenizer, "the text", d.unknown, d.encoded);
    if (!status) status = eval_lengths(p, s, &d, notes, e);
    data_free(&d);
    return status;
}

int command_eval(const Program *p, Error *e) {
    Session s = { 0 };
    Tokenizer tokenizer = { 0 };
    EvalNotes notes = { 0 };
    int status = options_require(&p->options, OPTION_WEIGHTS, e);
    if (!status) status = options_require(&p->options, OPTION_DATA, e);
    if (!status) status = beside_open(&notes.beside, option(p, OPTION_BESIDE)->text, e);
    if (!status) status = program_session(p, &s, e);
    if (!status) status = program_weights_about(p, &s, &tokenizer, notes.weights, e);
    if (!status) status = eval_data(p, &s, &tokenizer, &notes, e);
    beside_close(&notes.beside);
    tokenizer_free(&tokenizer);
    session_close(&s);
    return status;
}
