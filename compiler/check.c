/* strata check: reads a spec and says what it is, or what is wrong with it. */
#include "command.h"
#include "spec.h"

#include <stdio.h>
#include <string.h>

static void print_model(const Model *m) {
    printf("%s: %lld layers, %lld sublayers, dim %lld, context %lld, vocabulary %lld, residual %s\n", m->name, (long long)m->layers,
           (long long)m->sublayers, (long long)m->dim, (long long)m->context, (long long)m->vocab, m->mixer);
    printf("%lld parameters\n", (long long)m->parameters);
    for (int i = 0; i < m->nnote; i++) printf("note: %s\n", m->note[i]);
}

int command_check(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "--help")) {
        printf("usage: strata check SPEC\n\nReads a spec, builds its graph, prints what it is.  Exit status as strata build.\n");
        return 0;
    }
    if (argc != 2 || argv[1][0] == '-') {
        fprintf(stderr, "error: strata check: expected one spec, found %s\n", argc < 2 ? "none" : argv[argc - 1]);
        return 2;
    }
    SpecError error;
    Model *m = spec_load(argv[1], NULL, &error);
    if (!m) return fprintf(stderr, "%s\n", error.message), error.status;
    print_model(m);
    spec_free(m);
    return 0;
}
