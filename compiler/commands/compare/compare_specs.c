/* SPDX-License-Identifier: MIT
** See compare_specs.h. */
#include "compare_specs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where choices begin, behind the last folder's name; NULL: nowhere, or a file is called so. */
static const char *choices_of(const char *word) {
    const char *slash = strrchr(word, '/'), *mark = strchr(slash ? slash : word, ':');
    return mark && strchr(mark, '=') && access(word, F_OK) ? mark : NULL;
}

static int read_choices(SpecWord *s, char *at, const char *word, Error *e) {
    for (char *next; at; at = next) {
        next = strchr(at, ',');
        if (next) *next++ = 0;
        const char *mark = strchr(at, '=');
        if (!mark || mark == at || s->choices == OPTION_PAIRS)
            return error_set(e, STATUS_USAGE,
                             "strata compare: expected SPEC:NAME=VALUE,..., found '%s'", word);
        s->choice[s->choices++] = at;
    }
    return STATUS_OK;
}

static int read_word(SpecWord *s, const char *word, Error *e) {
    const char *mark = choices_of(word);
    s->path = strdup(word);
    if (!s->path) return error_memory(e, word, strlen(word) + 1);
    if (!mark) return STATUS_OK;
    char *end = s->path + (mark - word);
    *end = 0;
    return read_choices(s, end + 1, word, e);
}

/* "generated,openblas"; without the option one way, NULL. */
static int read_ways(SpecWords *s, const Options *o, Error *e) {
    static const char *const names[] = { "auto", "generated", "openblas" };
    enum { NAMES = sizeof names / sizeof *names };
    const char *value = option_of(o, STRATA_OPTION_BLAS_WAYS)->text;
    s->ways = !value;
    for (const char *at = value; at; at = strchr(at, ','), at = at ? at + 1 : NULL) {
        size_t n = strcspn(at, ",");
        int k = 0;
        while (k < NAMES && (strlen(names[k]) != n || strncmp(names[k], at, n)))
            k++;
        for (int i = 0; k < NAMES && i < s->ways; i++)
            if (s->way[i] == names[k]) k = NAMES;
        if (k == NAMES)
            return error_set(e, STATUS_USAGE,
                             "strata compare: --blas: expected some of auto, generated and "
                             "openblas, with commas, found '%s'",
                             value);
        s->way[s->ways++] = names[k];
    }
    return STATUS_OK;
}

int spec_words_read(SpecWords *s, const Options *o, Error *e) {
    *s = (SpecWords){ 0 };
    int status = read_ways(s, o, e), most = status ? 0 : COMPARE_MOST / s->ways;
    if (status) return status;
    if (o->words > most)
        return error_set(e, STATUS_USAGE,
                         "strata compare: expected %d specs at most, found '%s' too", most,
                         o->word[most]);
    if (o->words * s->ways < 2)
        return error_set(
            e, STATUS_USAGE,
            "strata compare: expected two specs or more, the first as baseline, found %s",
            o->words ? "one" : "none");
    s->spec = calloc((size_t)o->words, sizeof *s->spec);
    if (!s->spec) return error_memory(e, "strata compare", (size_t)o->words * sizeof *s->spec);
    for (; !status && s->n < o->words; s->n++)
        status = read_word(&s->spec[s->n], o->word[s->n], e);
    return status;
}

void spec_words_free(SpecWords *s) {
    for (int i = 0; i < s->n; i++)
        free(s->spec[i].path);
    free(s->spec);
    *s = (SpecWords){ 0 };
}

/* == Planning ============================================================= */

/* The spec's own come last, and so count; 'used' is told of the others. */
static int plan_one(const SpecWord *s, const ReportOptions *asked, bool *used, Variant *v,
                    Error *e) {
    const SpecChoices *all = &asked->limits->chosen;
    const char *word[2 * OPTION_PAIRS];
    bool found[2 * OPTION_PAIRS] = { false };
    SpecLimits limits = *asked->limits;
    ReportOptions r = *asked;
    for (int i = 0; i < all->n; i++)
        word[i] = all->word[i];
    for (int i = 0; i < s->choices; i++)
        word[all->n + i] = s->choice[i];
    limits.chosen = (SpecChoices){ word, all->n + s->choices, found };
    r.limits = &limits;
    *v = (Variant){ .report = report_new(s->path, &r, e),
                    .code_bytes = NAN,
                    .compile_seconds = NAN };
    if (!v->report) return e->status;
    for (int i = 0; i < all->n; i++)
        used[i] |= found[i];
    const Model *m = v->report->model;
    const SpecChoices own = { s->choice, s->choices, found + all->n };
    return spec_options_unused(&own, &m, 1, e);
}

int spec_words_plan(const SpecWords *s, const ReportOptions *r, Comparison *c, Allowance *a,
                    Error *e) {
    bool used[OPTION_PAIRS] = { false };
    const Model *model[COMPARE_MOST];
    SpecChoices all = r->limits->chosen;
    for (; c->n < s->n * s->ways; c->n++) {
        const SpecWord *spec = &s->spec[c->n / s->ways];
        allowance_spec(a, spec->path);
        doing(a, "planning %s, %d of %d", spec->path, c->n + 1, s->n * s->ways);
        int status = plan_one(spec, r, used, &c->variant[c->n], e);
        c->variant[c->n].planning_seconds = allowance_used(a);
        c->variant[c->n].blas = s->way[c->n % s->ways];
        if (status) return c->n += c->variant[c->n].report != NULL, status;
        model[c->n] = c->variant[c->n].report->model;
    }
    compare_name(c);
    all.used = used;
    return spec_options_unused(&all, model, c->n, e);
}
