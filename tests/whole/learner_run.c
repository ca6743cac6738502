/* SPDX-License-Identifier: MIT
** See learner_run.h. */
#include "learner_run.h"

#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "safetensors.h"

static double key(const Json *j, const char *name) {
    const JsonNode *n = json_member(j, j->node, name);
    double value = NAN;
    if (!n || !json_double(n, &value)) fail_msg("expected a number '%s' in %s", name, j->text);
    return value;
}

void learner_log(const Folder *f, const char *name, TrainerStep *step, int steps) {
    size_t length;
    char *log = folder_read(f, name, &length), *line = log;
    assert_non_null(log);
    for (int at = 0; at <= steps; at++) {
        char *end = strchr(line, '\n');
        Json j = { 0 };
        Error e = { 0 };
        if (!end || json_parse(&j, name, line, (size_t)(end - line), 1000, &e))
            fail_msg("%s:%d: %s", name, at + 1, e.text);
        if (at > 0) {
            assert_true(key(&j, "step") == at);
            step[at - 1] = (TrainerStep){ key(&j, "loss"), key(&j, "cross_entropy"),
                                          key(&j, "grad_norm"), key(&j, "lr") };
        }
        json_free(&j);
        line = end + 1;
    }
    assert_true(line == log + length);
    free(log);
}

static double *first_weight(void *user, const char *name, int64_t *count) {
    const Safetensors *file = user;
    const Tensor *t = safetensors_find(file, name);
    Error e = { 0 };
    if (!t) fail_msg("%s: expected '%s'", file->path, name);
    double *x = malloc((size_t)t->count * sizeof *x);
    assert_non_null(x);
    if (safetensors_read_f64(file, t, x, &e)) fail_msg("%s", e.text);
    *count = t->count;
    return x;
}

Trainer *learner_trainer(const Folder *f, const Learner *l, const char *weights) {
    Safetensors file = { 0 };
    Error e = { 0 };
    char path[512], spec[512];
    snprintf(path, sizeof path, "%s/%s", f->path, weights);
    snprintf(spec, sizeof spec, "%s/%s.lua", f->path, l->name);
    if (safetensors_open(&file, path, &e)) fail_msg("%s", e.text);
    Trainer *t = trainer_open(spec, first_weight, &file);
    safetensors_close(&file);
    return t;
}
