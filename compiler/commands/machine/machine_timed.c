/* SPDX-License-Identifier: MIT
** See machine_timed.h. */
#include "machine_timed.h"

#include "process.h"
#include "publish.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { TIMED_VALUES = 1 << 16 };

static int build_timed(Allowance *a, const char *spec, const char *program, Multiply multiply,
                       Error *e) {
    Model *m = build_load(spec, a, e);
    if (!m) return e->status;
    BuildOptions o = { .spec = spec,
                       .output = program,
                       .allowance = a,
                       .multiply = multiply,
                       .code = { .level = 2, .cpu = "native" } };
    int status = build_model(m, &o, e);
    spec_free(m);
    return status;
}

static int run_round(const char *program, int steps, TimedTold *told, void *to, Error *e) {
    char count[16];
    char *argv[] = { (char *)program, "bench", "--train", "--json", "--steps", count, NULL };
    Text out = { 0 };
    Json j = { 0 };
    sigset_t before;
    snprintf(count, sizeof count, "%d", steps);
    process_hold(&before);
    int status = process_read(argv, "timed", &before, NULL, NULL, &out, e);
    process_release(&before);
    if (!status)
        status = json_parse(&j, "timed", out.at ? out.at : "", out.length, TIMED_VALUES, e);
    if (!status) status = told(&j, to, e);
    json_free(&j);
    text_free(&out);
    return status;
}

static int report_timed(Allowance *a, const char *spec, Report **to, Error *e) {
    const ReportOptions o = { .cpu = "native", .passes.step = allowance_step(a) };
    *to = report_new(spec, &o, e);
    return *to ? STATUS_OK : e->status;
}

int machine_timed(Allowance *a, const TimedModel *m, TimedTold *told, void *to, Error *e) {
    char spec[PATH_MAX], program[PATH_MAX];
    print_text(spec, sizeof spec, "%s/timed.lua", m->folder);
    print_text(program, sizeof program, "%s/timed", m->folder);
    int status = text_status(m->spec, e);
    if (!status) status = publish_own(spec, m->spec, e);
    text_free(m->spec);
    if (!status && m->report) status = report_timed(a, spec, m->report, e);
    if (!status) status = build_timed(a, spec, program, m->multiply, e);
    allowance_lift(a);
    for (int round = 0; !status && round < m->rounds; round++)
        status = run_round(program, m->steps, told, to, e);
    allowance_spec(a, "strata doctor");
    unlink(program);
    unlink(spec);
    return status;
}
