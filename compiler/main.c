/*
** strata: from a spec to a program.
**
**   spec.lua -> spec/ -> graph/ -> passes/ -> codegen/ -> object -> cc -> program
*/
#include "command.h"

#include <stdio.h>
#include <string.h>

static const Command commands[] = {
    { "build", "SPEC [-o FILE] [options]", "compile a spec to a program, an object or a library", command_build },
    { "check", "SPEC", "read a spec and say what it is, or what is wrong with it", command_check },
};

static void help(FILE *f) {
    fprintf(f, "usage: strata COMMAND ...\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(f, "  %-6s %-26s %s\n", commands[i].name, commands[i].arguments, commands[i].help);
    fprintf(f, "\nstrata COMMAND --help says more; strata --version prints the version.\n");
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "--version")) return printf("strata %s\n", STRATA_VERSION) < 0;
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) return help(stdout), 0;
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i].name, argv[1])) return commands[i].run(argc - 1, argv + 1);
    if (argc > 1) fprintf(stderr, "error: strata: expected a command, found %.80s\n", argv[1]);
    help(stderr);
    return 2;
}
