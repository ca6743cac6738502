/*
** strata: from a spec to a program.
**
**   spec.lua -> spec/ -> graph/ -> passes/ -> codegen/ -> object -> cc -> program
*/
#include "command.h"
#include "options.h"
#include "spec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const Command commands[] = {
    { "build", "SPEC [OPTION ...]", "compiles a spec to a program, an object or a library",
      "The program trains, evaluates and generates; it needs nothing at run time but libc.",
      build_flags, command_build },
    { "check", "SPEC", "reads a spec and says what it is, or what is wrong with it",
      "Writes nothing.", NULL, command_check },
    { "completion", "bash|zsh|fish", "prints a shell's completion script",
      "For bash: eval \"$(strata completion bash)\"", NULL, command_completion },
    { "inspect", "SPEC [OPTION ...]", "parameters, cost, memory and kernels of a spec",
      "Plans the model without compiling it; work is counted a token at full context.",
      inspect_flags, command_inspect },
    { "compare", "SPEC SPEC ...", "variants side by side",
      "The first spec is the baseline; every one is planned and compiled.", compare_flags,
      command_compare },
    { "import", "DIR", "a checkpoint folder to a spec", NULL, NULL, NULL },
    { "export", "hf|gguf SPEC", "weights for other programs", NULL, NULL, NULL },
    { "init", "[DIR]", "writes a sample spec, with annotations for editors",
      "Replaces nothing.  DIR (the current folder) is made if it is not there.", NULL,
      command_init },
    { "doctor", "", "what is installed, which processor this is, and the next command",
      "Exit status 1 if something is missing that a build needs.", NULL, command_doctor },
    { "run", "SPEC COMMAND ...", "builds a program into a cache, then runs it with COMMAND",
      "The cache is $XDG_CACHE_HOME/strata (~/.cache/strata); nothing in it is ever needed again.",
      NULL, command_run },
};
const int ncommands = sizeof commands / sizeof *commands;

/* == Help ================================================================= */

static void help_program(FILE *f) {
    fprintf(f, "usage: strata COMMAND ...\n\n");
    for (int i = 0; i < ncommands; i++)
        if (commands[i].run)
            fprintf(f, "  %-10s %-18s %s\n", commands[i].name, commands[i].arguments,
                    commands[i].help);
    fprintf(f, "\nNot in this version:");
    for (int i = 0; i < ncommands; i++)
        if (!commands[i].run) fprintf(f, " %s", commands[i].name);
    fprintf(f,
            ".\n'strata COMMAND --help' says more; 'strata --version' prints the version.\n"
            "To begin: strata build specs/demo.lua && ./demo --help\n");
}

static void help_flag(const Flag *f) {
    char left[96];
    bool joined = !strcmp(f->name, "-O"), optional = f->argument && *f->argument == '=';
    snprintf(left, sizeof left, "%s%s%s%s", f->name,
             optional                     ? "["
                 : !f->argument || joined ? ""
                                          : " ",
             f->argument ? f->argument : "", optional ? "]" : "");
    if (strlen(left) > 24) printf("  %s\n  %-24s %s\n", left, "", f->help);
    else printf("  %-24s %s\n", left, f->help);
}

static void help_command(const Command *c) {
    printf("usage: strata %s %s\n\n  %s%s\n", c->name, c->arguments, c->help,
           c->run ? "" : " (not in this version)");
    if (c->more) printf("  %s\n", c->more);
    if (c->flags) printf("\nOptions\n");
    for (const Flag *f = c->flags; f && f->name; f++)
        help_flag(f);
    printf("\nLimits\n  a spec: %zu MB of Lua memory, %lld million instructions, %zu MB of source, "
           "%lld layers\n"
           "Exit status\n  0 done, 1 the user's mistake, 2 usage, 3 a limit was hit, 4 input or "
           "output failed,\n"
           "  5 internal error, 128+n stopped by signal n\n",
           spec_limits.memory >> 20, (long long)spec_limits.instructions / 1000000,
           spec_limits.file >> 20, (long long)spec_limits.layers);
}

/* == Options ============================================================== */

static int unknown_flag(const Command *c, const char *word, Error *e) {
    const char *name[32] = { "--help" };
    int n = 1;
    for (const Flag *f = c->flags; f && f->name && n < 32; f++)
        name[n++] = f->name;
    const char *near = nearest_name(word, name, n);
    if (near)
        return error_set(e, STATUS_USAGE, "strata %s: unknown option '%s'; the nearest is '%s'",
                         c->name, word, near);
    return error_set(e, STATUS_USAGE,
                     "strata %s: unknown option '%s'; 'strata %s --help' lists them", c->name, word,
                     c->name);
}

/* Is 'word' one of "a|b|c"? */
static bool listed(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strcspn(at, "|") == n && !memcmp(at, word, n)) return true;
    }
    return false;
}

static const Flag *find_flag(const Command *c, const char *arg, const char **joined) {
    for (const Flag *f = c->flags; f && f->name; f++) {
        size_t n = strlen(f->name);
        if (strncmp(arg, f->name, n)) continue;
        bool level = !strcmp(f->name, "-O");
        *joined = level && arg[n] ? arg + n : arg[n] == '=' && n > 2 ? arg + n + 1 : NULL;
        if (*joined || !arg[n]) return f;
    }
    return NULL;
}

int flag_parse(const Command *c, int argc, char **argv, int *i, const Flag **flag,
               const char **value, Error *e) {
    *flag = find_flag(c, argv[*i], value);
    if (!*flag) return unknown_flag(c, argv[*i], e);
    const char *name = (*flag)->name, *wanted = (*flag)->argument;
    if (!wanted)
        return *value ? error_set(e, STATUS_USAGE, "strata %s: %s: expected no value, found '%s'",
                                  c->name, name, *value)
                      : STATUS_OK;
    bool optional = *wanted == '=';
    wanted += optional;
    if (optional && !*value) return STATUS_OK;
    if (!*value && *i + 1 < argc && strcmp(name, "-O")) *value = argv[++*i];
    if (!*value)
        return error_set(e, STATUS_USAGE, "strata %s: %s: expected %s, found nothing", c->name,
                         name, wanted);
    if (strchr(wanted, '|') && !listed(wanted, *value))
        return error_set(e, STATUS_USAGE, "strata %s: %s: expected %s, found '%s'", c->name, name,
                         wanted, *value);
    if (!**value)
        return error_set(e, STATUS_USAGE, "strata %s: %s: expected %s, found an empty word",
                         c->name, name, wanted);
    return STATUS_OK;
}

/* == Running ============================================================== */

int error_taken(Error *e, int status, const char *message) {
    static const char prefix[] = "error: ";
    if (!strncmp(message, prefix, sizeof prefix - 1)) message += sizeof prefix - 1;
    e->status = status;
    snprintf(e->text, sizeof e->text, "%s", message);
    return status;
}

static bool is(const char *word, const char *a, const char *b) {
    return word && (!strcmp(word, a) || !strcmp(word, b));
}

static const Command *find_command(const char *word, Error *e) {
    const char *name[16];
    for (int i = 0; i < ncommands; i++) {
        name[i] = commands[i].name;
        if (!strcmp(word, name[i])) return &commands[i];
    }
    const char *near = nearest_name(word, name, ncommands);
    if (near)
        error_set(e, STATUS_USAGE, "strata: expected a command, found '%s'; the nearest is '%s'",
                  word, near);
    else
        error_set(e, STATUS_USAGE,
                  "strata: expected a command, found '%s'; 'strata --help' lists them", word);
    return NULL;
}

static int run(int argc, char **argv, Error *e) {
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word)
        return error_set(e, STATUS_USAGE,
                         "strata: expected a command, found nothing; 'strata --help' lists them");
    if (!strcmp(word, "--version")) return printf("strata %s\n", STRATA_VERSION), STATUS_OK;
    bool asked = is(word, "--help", "-h") || !strcmp(word, "help");
    if (asked && argc == 2) return help_program(stdout), STATUS_OK;
    const Command *c = find_command(asked ? argv[2] : word, e);
    if (!c) return e->status;
    for (int i = 2; i < argc; i++)
        asked = asked || is(argv[i], "--help", "-h");
    if (asked) return help_command(c), STATUS_OK;
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], "--version")) return printf("strata %s\n", STRATA_VERSION), STATUS_OK;
    if (!c->run) return error_set(e, STATUS_USER, "strata %s: not in this version", c->name);
    return c->run(argc - 1, argv + 1, e);
}

/* Files 0-2 may be closed at start: nothing that is opened later may land there. */
static void fill_closed_files(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", O_RDONLY);
}

/* A reader that went away is no error; a full disk is. */
static int flush(int status, Error *e) {
    bool failed = ferror(stdout);
    errno = 0;
    if (fflush(stdout)) failed = true;
    if (!failed || status || errno == EPIPE) return status;
    return error_set(e, STATUS_IO, "standard output: cannot write: %s",
                     errno ? strerror(errno) : "an earlier write failed");
}

int main(int argc, char **argv) {
    fill_closed_files();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    Error e = { 0 };
    int status = flush(run(argc, argv, &e), &e);
    if (e.status)
        fprintf(stderr, "error: %s\n%s", e.text,
                e.status == STATUS_INTERNAL ? "This is a defect of Strata: please report it.\n"
                                            : "");
    return status;
}
