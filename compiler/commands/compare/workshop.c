/* SPDX-License-Identifier: MIT
** Programs of a comparison, in a folder that does not outlive them; see workshop.h. */
#include "workshop.h"

#include "build.h"
#include "files.h"
#include "process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int workshop_open(Workshop *w, Allowance *a, Error *e) {
    w->allowance = a;
    process_hold(&w->before);
    int status = work_folder_open(&w->folder, a, e);
    if (status) process_release(&w->before);
    return status;
}

/* A signal that came where nothing ran is delivered here, after the cleaning. */
void workshop_close(Workshop *w) {
    work_folder_close(&w->folder, w->allowance);
    doing_end(w->allowance);
    process_release(&w->before);
}

void workshop_path(const Workshop *w, int variant, const char *suffix, char path[WORKSHOP_PATH]) {
    snprintf(path, WORKSHOP_PATH, "%s/model-%d%s%.64s", w->folder.path, variant + 1,
             *suffix ? "." : "", suffix);
}

int workshop_build(const Workshop *w, Comparison *c, int variant, const char *cpu, Error *e) {
    Variant *v = &c->variant[variant];
    char path[WORKSHOP_PATH];
    BuildFacts facts = { 0 };
    workshop_path(w, variant, "", path);
    doing(w->allowance, "compiling %s, %d of %d", v->label, variant + 1, c->n);
    BuildOptions o = {
        .spec = v->report->model->file,
        .output = path,
        .facts = &facts,
        .allowance = w->allowance,
        .before = &w->before,
        .multiply = multiply_named(v->blas),
        .code = { .level = 2, .cpu = cpu ? cpu : "native", .emit = EMIT_EXE },
    };
    allowance_go_on(w->allowance, o.spec, v->planning_seconds);
    int status = build_model(v->report->model, &o, e);
    v->code_bytes = (double)facts.code_bytes;
    v->compile_seconds = facts.seconds;
    return status;
}

int workshop_assembly(const Workshop *w, Comparison *c, int variant, const char *cpu, Error *e) {
    Variant *v = &c->variant[variant];
    char path[WORKSHOP_PATH];
    Text text = { 0 };
    workshop_path(w, variant, "s", path);
    doing(w->allowance, "assembly of %s, %d of %d", v->label, variant + 1, c->n);
    BuildOptions o = {
        .spec = v->report->model->file,
        .output = path,
        .allowance = w->allowance,
        .before = &w->before,
        .multiply = multiply_named(v->blas),
        .code = { .level = 2, .cpu = cpu ? cpu : "native", .emit = EMIT_ROWS },
    };
    allowance_go_on(w->allowance, o.spec, v->planning_seconds);
    int status = build_model(v->report->model, &o, e);
    if (!status) status = workshop_read(path, &text, e);
    if (status) text_free(&text);
    v->assembly = text.at;
    return status;
}

/* What a program calls --data has another name here. */
static void say_ours(Error *e) {
    static const char theirs[] = "its program: --data", ours[] = "--train";
    char *at = strstr(e->text, theirs);
    if (!at) return;
    memcpy(at, ours, sizeof ours - 1);
    memmove(at + sizeof ours - 1, at + sizeof theirs - 1, strlen(at + sizeof theirs - 1) + 1);
}

int workshop_run(const Workshop *w, const Comparison *c, int variant, char *const *argv,
                 const ProcessTick *tick, Text *t, Error *e) {
    allowance_lift(w->allowance);
    int status = process_read(argv, c->variant[variant].label, &w->before, tick,
                              w->allowance->console, t, e);
    if (status) say_ours(e);
    allowance_spec(w->allowance, c->variant[variant].report->model->file);
    step_note(allowance_step(w->allowance), 0, "what its program told");
    return status;
}

int workshop_read(const char *path, Text *t, Error *e) {
    Input in;
    char piece[65536];
    int status = input_open(&in, path, e);
    uint64_t size = status ? 0 : (uint64_t)in.before.st_size;
    for (uint64_t at = 0; !status && at < size;) {
        size_t n = size - at < sizeof piece ? (size_t)(size - at) : sizeof piece;
        status = input_read(&in, at, piece, n, e);
        if (!status) text_bytes(t, piece, n);
        at += n;
    }
    input_close(&in);
    return status ? status : text_status(t, e);
}
