/* SPDX-License-Identifier: MIT
** Reads what training runs of a comparison did from their logs; see compare_runs.h.
*/
#include "compare_runs.h"

#include "files.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_VALUES = 1 << 16 };

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

int run_log_read(const Comparison *c, TrainRun *r, const char *path, Error *e) {
    Text t = { 0 };
    int status = workshop_read(path, &t, e);
    for (char *at = t.at, *end; !status && at && (end = strchr(at, '\n')); at = end + 1) {
        Json j = { 0 };
        status = json_parse(&j, path, at, (size_t)(end - at), LINE_VALUES, e);
        if (!status) status = take_line(c, r, &j, e);
        json_free(&j);
    }
    text_free(&t);
    if (!status && run_log_ends(c, r) && !run_leave_out_pauses(r, c->steps))
        return error_memory(e, "strata compare", (size_t)c->steps * sizeof *r->seconds);
    return status;
}

bool run_log_ends(const Comparison *c, const TrainRun *r) {
    return r->seconds[c->steps - 1] > 0 && r->evaluations
        && r->step[r->evaluations - 1] == c->steps;
}

int run_room(const Comparison *c, TrainRun *r, Error *e) {
    size_t steps = (size_t)c->steps;
    *r = (TrainRun){ .loss = calloc(steps, sizeof *r->loss),
                     .seconds = calloc(steps, sizeof *r->seconds) };
    return r->loss && r->seconds ? STATUS_OK
                                 : error_memory(e, "strata compare", steps * sizeof(double));
}

bool run_log_last(const char *path, int64_t *step, double *loss) {
    enum { TAIL = 1 << 16 };
    static char text[TAIL + 1];
    Input in;
    bool found = false;
    if (input_open(&in, path, NULL)) return false;
    size_t size = (size_t)in.before.st_size, n = size < TAIL ? size : TAIL;
    if (input_read(&in, size - n, text, n, NULL)) n = 0;
    input_close(&in);
    text[n] = 0;
    char *line = text;
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        Json j = { 0 };
        if (json_parse(&j, path, line, (size_t)(end - line), LINE_VALUES, NULL)) continue;
        const JsonNode *at = json_member(&j, j.node, "step"),
                       *value = json_member(&j, j.node, "cross_entropy");
        if (at && value && json_int64(at, step) && json_double(value, loss)) found = true;
        json_free(&j);
    }
    return found;
}
