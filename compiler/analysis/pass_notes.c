/* SPDX-License-Identifier: MIT
** Notes on the passes, for a Report. */
#include "pass_notes.h"
#include "fatal.h"

#include <stdlib.h>

/* Of every program and the model; a training step may be planned twice. */
enum { EVENTS = (PROGRAMS + 2) * PASSES };

int pass_notes_program(const Report *r) { return r->training ? PROGRAM_TRAIN : PROGRAM_LOGITS; }

static void keep_graph(Report *r, const Graph *g) {
    size_t size;
    free(r->after);
    r->after = NULL;
    FILE *f = checked_file(&r->after, &size);
    graph_print(g, f, true);
    checked_written(f, &r->after);
}

void pass_notes_see(void *user, const PassEvent *e) {
    Report *r = user;
    if (!r->pass) r->pass = graph_alloc(r->model->graph, EVENTS * sizeof *r->pass);
    if (r->npass == EVENTS) bug(NULL, "more than %d passes", r->npass);
    r->pass[r->npass++] = (PassNote){ e->pass, e->program, e->off, e->before, e->g->n, e->seconds };
    bool shown = e->program == PROGRAMS || e->program == pass_notes_program(r);
    if (r->wanted && shown && !e->off && e->pass == *r->wanted) keep_graph(r, e->g);
}
