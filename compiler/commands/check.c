/* SPDX-License-Identifier: MIT
** strata check: reads a spec and says what it is, or what is wrong with it. */
#include "build.h"
#include "command.h"

#include "console.h"

#include <stdio.h>

static void print_options(const Model *m) {
    Text t = { 0 };
    Error e = { 0 };
    spec_options_text(m, &t);
    printf("options\n");
    fflush(stdout);
    console_lines(&t, &e);
}

static void print_model(const Model *m) {
    char text[1024];
    snprintf(
        text, sizeof text,
        "%s: %lld layers, %lld sublayers, dim %lld, context %lld, vocabulary %lld, residual %s",
        m->name, (long long)m->layers, (long long)m->sublayers, (long long)m->dim,
        (long long)m->context, (long long)m->vocab, m->mixer);
    show_line(stdout, "", text, "");
    printf("%lld parameters\n", (long long)m->parameters);
    if (m->noption) print_options(m);
    for (int i = 0; i < m->nnote; i++)
        show_line(stdout, "note: ", m->note[i], "");
}

int command_check(const Options *o, Allowance *a, Error *e) {
    const char *spec;
    int status = spec_of(o, &spec, e);
    if (status) return status;
    Model *m = build_load(spec, a, e);
    if (!m) return e->status;
    print_model(m);
    spec_free(m);
    return STATUS_OK;
}
