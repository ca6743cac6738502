/* SPDX-License-Identifier: MIT
** Training runs of a comparison: every variant from every seed.  A seed gives the
** initial weights and the order of the data, so that variants with the same context
** and batch read the same windows.  What a run did is taken from its log.
*/
#include "workshop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EVALUATIONS = 20, LINE_VALUES = 1 << 16 };
#define VAL_SHARE 0.1

/* == The log ============================================================== */

static int add_evaluation(TrainRun *r, double step, double loss, Error *e) {
    if (r->evaluations == r->room) {
        int room = r->room ? 2 * r->room : 32;
        int *steps = realloc(r->step, (size_t)room * sizeof *steps);
        if (steps) r->step = steps;
        double *values = realloc(r->value, (size_t)room * sizeof *values);
        if (values) r->value = values;
        if (!steps || !values)
            return error_memory(e, "strata compare", (size_t)room * sizeof *values);
        r->room = room;
    }
    r->step[r->evaluations] = (int)step;
    r->value[r->evaluations++] = loss;
    return STATUS_OK;
}

/* A share for each route; the others' lines have none. */
static int take_routed(const Comparison *c, TrainRun *r, int step, const Json *j, Error *e) {
    const JsonNode *list = json_member(j, j->node, "routed");
    if (!list || list->type != JSON_ARRAY || !list->count) return STATUS_OK;
    if (!r->routed) {
        r->routes = (int)list->count;
        r->routed = calloc((size_t)c->steps, sizeof *r->routed);
        r->route = calloc((size_t)r->routes, sizeof *r->route);
        if (!r->routed || !r->route)
            return error_memory(e, "strata compare", (size_t)c->steps * sizeof *r->routed);
    }
    int i = 0, last = compare_last(c);
    for (const JsonNode *n = json_first(j, list); n && i < r->routes; n = json_next(j, n), i++) {
        double share;
        if (!json_double(n, &share)) continue;
        r->routed[step - 1] += share / r->routes;
        if (step > c->steps - last) r->route[i] += share / last;
    }
    return STATUS_OK;
}

/* The run's first line has neither a step's loss nor an evaluation's. */
static int take_line(const Comparison *c, TrainRun *r, const Json *j, Error *e) {
    double step, loss, seconds;
    const JsonNode *n = json_member(j, j->node, "step"),
                   *value = json_member(j, j->node, "val_loss"),
                   *own = json_member(j, j->node, "cross_entropy"),
                   *time = json_member(j, j->node, "seconds");
    if (!n || !json_double(n, &step) || step < 0 || step > c->steps) return STATUS_OK;
    if (value && json_double(value, &loss)) {
        if (step >= 1) return add_evaluation(r, step, loss, e);
        r->first = loss, r->has_first = true;
    }
    if (step < 1) return STATUS_OK;
    if (!own || !time || !json_double(own, &loss) || !json_double(time, &seconds)) return STATUS_OK;
    int i = (int)step - 1;
    r->loss[i] = loss;
    r->seconds[i] = seconds + (i ? r->seconds[i - 1] : 0);
    return take_routed(c, r, i + 1, j, e);
}

static int take_log(const Comparison *c, const Variant *v, TrainRun *r, const char *path,
                    Error *e) {
    Text t = { 0 };
    int status = workshop_read(path, &t, e);
    for (char *at = t.at, *end; !status && at && (end = strchr(at, '\n')); at = end + 1) {
        Json j = { 0 };
        status = json_parse(&j, v->label, at, (size_t)(end - at), LINE_VALUES, e);
        if (!status) status = take_line(c, r, &j, e);
        json_free(&j);
    }
    text_free(&t);
    if (!status && (!(r->seconds[c->steps - 1] > 0) || !r->evaluations))
        status = error_set(e, STATUS_INTERNAL,
                           "%s: expected a log of %d steps with evaluations, found fewer", v->label,
                           c->steps);
    return status;
}

/* == Runs ================================================================= */

/* What is trained on, and evaluated on: without words, the last of the former. */
typedef struct RunData {
    const DataWords *data, *val;
} RunData;

/* Words of a command line; what they point to stays the caller's. */
typedef struct Words {
    char **word;
    int n;
} Words;
enum { WORDS_MOST = 32 }; /* but for those of data */

static void add(Words *w, const char *name, const char *value) {
    w->word[w->n++] = (char *)name;
    if (value) w->word[w->n++] = (char *)value;
}

static void add_data(Words *w, const char *name, const DataWords *d) {
    add(w, name, NULL);
    for (int i = 0; i < d->words; i++)
        add(w, d->word[i], NULL);
}

static int open_words(Words *w, const RunData *x, Error *e) {
    size_t room = WORDS_MOST + (size_t)x->data->words + (size_t)x->val->words;
    *w = (Words){ calloc(room, sizeof *w->word), 0 };
    return w->word ? STATUS_OK : error_memory(e, "strata compare", room * sizeof *w->word);
}

static int run(const Workshop *w, Comparison *c, int variant, int seed, const RunData *x,
               Error *e) {
    Variant *v = &c->variant[variant];
    char path[WORKSHOP_PATH], log[WORKSHOP_PATH], out[WORKSHOP_PATH], number[5][32];
    Words words;
    int status = open_words(&words, x, e);
    if (status) return status;
    Text said = { 0 };
    workshop_path(w, variant, "", path);
    workshop_path(w, variant, "log", log);
    workshop_path(w, variant, "safetensors", out);
    print_text(number[0], 32, "%d", c->steps);
    print_text(number[1], 32, "%llu", (unsigned long long)c->seed[seed]);
    print_text(number[2], 32, "%d", c->steps > EVALUATIONS ? c->steps / EVALUATIONS : 1);
    print_text(number[3], 32, "%d", c->threads);
    add(&words, path, "train"), add(&words, "--steps", number[0]), add(&words, "--seed", number[1]),
        add(&words, "--field", x->data->field);
    add(&words, "--eval-every", number[2]), add(&words, "--save-every", number[0]),
        add(&words, "--log", log), add(&words, "--out", out), add(&words, "--overwrite", NULL);
    add_data(&words, "--data", x->data);
    if (x->val->words) add_data(&words, "--val", x->val);
    else add(&words, "--val-share", print_double(number[4], VAL_SHARE));
    if (c->threads) add(&words, "--threads", number[3]);
    if (c->init) add(&words, "--init", c->init);
    workshop_tell(w, "training %s, seed %s, %d of %d", v->label, number[1],
                  seed * c->n + variant + 1, c->seeds * c->n);
    status = workshop_run(w, c, variant, words.word, &said, e);
    if (!status) status = take_log(c, v, &v->run[seed], log, e);
    if (!status && !seed && c->mixing)
        v->trained = mixing_trained(v->report->model, out,
                                    x->val->words ? &(MixingText){ *x->val, 1 }
                                                  : &(MixingText){ *x->data, VAL_SHARE },
                                    &v->untrained);
    text_free(&said);
    free(words.word);
    return status;
}

static int make_room(Comparison *c, Error *e) {
    size_t steps = (size_t)c->steps;
    for (int i = 0; i < c->n; i++) {
        Variant *v = &c->variant[i];
        v->run = calloc((size_t)c->seeds, sizeof *v->run);
        for (int s = 0; v->run && s < c->seeds; s++) {
            v->run[s].loss = calloc(steps, sizeof *v->run[s].loss);
            v->run[s].seconds = calloc(steps, sizeof *v->run[s].seconds);
            if (!v->run[s].loss || !v->run[s].seconds)
                return error_memory(e, "strata compare", steps * sizeof(double));
        }
        if (!v->run) return error_memory(e, "strata compare", (size_t)c->seeds * sizeof *v->run);
    }
    return STATUS_OK;
}

int workshop_train(const Workshop *w, Comparison *c, const DataWords *data, const DataWords *val,
                   Error *e) {
    const RunData x = { data, val };
    int status = make_room(c, e);
    c->val_share = val->words ? 0 : VAL_SHARE;
    for (int s = 0; !status && s < c->seeds; s++)
        for (int k = 0; !status && k < c->n; k++)
            status = run(w, c, s % 2 ? c->n - 1 - k : k, s, &x, e);
    return status;
}
