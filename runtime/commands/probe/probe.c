/* SPDX-License-Identifier: MIT
** The command probe: weights, text, passes of the model's probe, and what came out on
** the terminal, as JSON, and as a page.
*/
#include "probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "standalone.h"
#include "weights.h"

enum { PASSAGE = 512 }; /* tokens that are shown one by one, of a window */

/* == Text ================================================================= */

/* Windows of a text, evenly spaced over it; a short text is one window. */
static int take_windows(ProbeText *x, const Data *d, int64_t length, int64_t tokens, Error *e) {
    int64_t count = data_count(d), full = (count - 1) / length, n;
    x->length = full ? length : count - 1;
    x->count = tokens < x->length ? 1 : tokens / x->length;
    x->count = full && x->count < full ? x->count : full ? full : 1;
    size_t room = (size_t)x->count * (size_t)x->length;
    x->tokens = calloc(room, sizeof *x->tokens);
    x->targets = calloc(room, sizeof *x->targets);
    int status = x->tokens && x->targets ? STATUS_OK : error_memory(e, "windows", room * 8);
    for (int64_t i = 0; !status && i < x->count; i++)
        status = data_window(d, 0, x->length, full ? i * full / x->count : 0,
                             x->tokens + i * x->length, x->targets + i * x->length, &n, e);
    return status;
}

static int read_text(const Program *p, const Tokenizer *tokenizer, ProbeText *x, Error *e) {
    const OptionValue *length = option(p, OPTION_PROBE_LENGTH);
    Data d = { 0 };
    int64_t window = length->given ? length->count : p->m->context;
    if (window > p->m->context)
        return error_set(e, STATUS_USER,
                         "probe: --length: expected at most the context, %d tokens, found %lld",
                         p->m->context, (long long)window);
    x->name = option(p, OPTION_DATA)->list, x->names = option(p, OPTION_DATA)->length;
    int status = program_data(p, tokenizer, false, &d, e);
    if (!status) status = take_windows(x, &d, window, option(p, OPTION_PROBE_TOKENS)->count, e);
    if (!status && p->m->routed) status = probe_passage(x, tokenizer, PASSAGE, e);
    data_free(&d);
    return status;
}

/* == Results ============================================================== */

static int write_page(const char *path, const Text *t, Error *e) {
    Output o;
    int status = text_status(t, e);
    if (status) return status;
    status = output_open(&o, path, e);
    if (status) return status;
    status = output_write(&o, t->at, t->length, e);
    if (status) output_discard(&o);
    return status ? status : output_commit(&o, false, e);
}

static bool in_colours(void) {
    const char *term = getenv("TERM"), *none = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0 && !(none && *none);
}

static int show(const Program *p, const Probe *x, const Probe *before, Error *e) {
    const char *page = option(p, OPTION_OUTPUT)->text;
    Text t = { 0 };
    int status = STATUS_OK;
    if (page) {
        probe_page(x, before, option(p, OPTION_WEIGHTS)->text, option(p, OPTION_BEFORE)->text, &t);
        status = write_page(page, &t, e);
        text_free(&t);
        t = (Text){ 0 };
    }
    if (status) return status;
    if (option(p, OPTION_JSON)->given) probe_json(x, before, &t);
    else probe_print(x, before, in_colours(), &t);
    return console_text(&t, e);
}

/* == All of it ============================================================ */

static int check_files(const Program *p, Error *e) {
    const char *page = option(p, OPTION_OUTPUT)->text;
    const OptionValue *data = option(p, OPTION_DATA);
    int status = options_require(&p->options, OPTION_WEIGHTS, e);
    if (!status) status = options_require(&p->options, OPTION_DATA, e);
    if (!status) status = program_distinct(page, option(p, OPTION_WEIGHTS)->text, e);
    if (!status) status = program_distinct(page, option(p, OPTION_BEFORE)->text, e);
    for (int i = 0; !status && i < data->length; i++)
        status = program_distinct(page, data->list[i], e);
    return status || !page ? status : output_check(page, false, e);
}

static int measure(Probe *x, Session *s, const ProbeText *text, bool tells, Error *e) {
    int status = probe_measure(x, s, text, tells, e);
    if (status || isfinite(x->loss)) return status;
    return error_set(e, STATUS_USER,
                     "probe: expected a finite loss, found %s; the weights are not usable",
                     isnan(x->loss) ? "nan" : "inf");
}

static int measure_both(const Program *p, Session *s, const ProbeText *text, Error *e) {
    Probe x = { 0 }, before = { 0 };
    const char *earlier = option(p, OPTION_BEFORE)->text;
    bool tells = isatty(STDERR_FILENO);
    int status = measure(&x, s, text, tells, e);
    if (!status && earlier)
        status = weights_load_changed(p->m, earlier, option(p, OPTION_CHANGED)->text,
                                      session_write_weights(s), e);
    if (!status && earlier) status = measure(&before, s, text, tells, e);
    if (!status) status = show(p, &x, earlier ? &before : NULL, e);
    probe_free(&x);
    probe_free(&before);
    return status;
}

int command_probe(const Program *p, Error *e) {
    Session s = { 0 };
    Tokenizer tokenizer = { 0 };
    ProbeText text = { 0 };
    int status = check_files(p, e);
    if (!status && !p->m->probe_results)
        status =
            error_set(e, STATUS_USER,
                      "probe: expected a program of strata build, found a model without a probe");
    if (!status) status = program_session(p, &s, e);
    if (!status) status = program_weights(p, &s, &tokenizer, e);
    if (!status) status = read_text(p, &tokenizer, &text, e);
    if (!status) status = measure_both(p, &s, &text, e);
    tokenizer_free(&tokenizer);
    free(text.tokens);
    free(text.targets);
    free(text.piece);
    session_close(&s);
    return status;
}
