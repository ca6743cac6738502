/* SPDX-License-Identifier: MIT
** strata_main: finds the command, runs it, turns its status into an exit status and
** its error into lines on standard error.  Nothing else exits or prints errors.
*/
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "choices.h"
#include "commands.h"
#include "own_stack.h"
#include "ranks.h"

int command_completion(const Program *p, Error *e) {
    Text t = { 0 };
    int status = options_completion(&t, &program_options, p->file, p->options.word[0], e);
    if (!status) return console_text(&t, e);
    text_free(&t);
    return status;
}

static int print_version(const Program *p, Error *e) {
    Text t = { 0 };
    text_add(&t, "%s: strata %s, model %s, compiled by strata %s for %s\n", p->file, STRATA_VERSION,
             model_text(p, p->m->name), model_text(p, p->m->compiler), model_text(p, p->m->cpu));
    return console_lines(&t, e);
}

static int print_help(const Program *p, Error *e) {
    Text t = { 0 };
    options_help(&t, &program_options, p->file, p->options.command);
    return console_lines(&t, e);
}

/* One of several ranks says it. */
static void note_idle(const Program *p) {
    if (!rank_writes(program_reducer(p))) return;
    Text t = { 0 };
    options_idle(&p->options, &t);
    if (t.at) (void)!write(STDERR_FILENO, t.at, t.length);
    text_free(&t);
}

static int program_main_run(Program *p, int argc, char **argv, Error *e) {
    static int (*const command[COMMANDS])(const Program *, Error *) = {
#define COMMAND(id, name, arguments, words, summary) [COMMAND_##id] = command_##name,
#include "program_options.def"
    };
    Text t = { 0 };
    if (options_complete(&t, &program_options, NULL, argc, argv)) return console_text(&t, e);
    int status = options_parse(&p->options, &program_options, argc > 0 ? argc - 1 : 0,
                               argv + (argc > 0), e);
    if (status) return status;
    bool prints = p->options.version || p->options.help || p->options.command != COMMAND_TRAIN;
    if (prints && !rank_writes(program_reducer(p))) return STATUS_OK;
    if (p->options.version) return print_version(p, e);
    if (p->options.help) return print_help(p, e);
    status = options_need(&p->options, e);
    if (!status) status = choices_check(p, e);
    if (!status) note_idle(p);
    return status ? status : command[p->options.command](p, e);
}

/* The first rank's lines are those of a program without others. */
static void report(const strata_reducer *r, const Error *e) {
    char line[sizeof e->text + 128], rank[32] = "";
    if (!rank_writes(r)) print_text(rank, sizeof rank, "rank %d: ", rank_of(r));
    int n = print_text(
        line, sizeof line, "error: %s%s\n%s", rank, e->text,
        e->status == STATUS_INTERNAL ? "This is a defect of Strata: please report it.\n" : "");
    (void)!write(STDERR_FILENO, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

/* A program and its command line. */
typedef struct Started {
    Program p;
    int argc;
    char **argv;
} Started;

static int run_whole(void *argument) {
    Started *s = argument;
    Error e = { 0 };
    const strata_reducer *r = program_reducer(&s->p);
    int status = program_main_run(&s->p, s->argc, s->argv, &e);
    options_free(&s->p.options);
    if (e.status) report(r, &e);
    if (r) r->leave(r->user, status);
    return status;
}

int strata_main_services(int argc, char **argv, const strata_api *api,
                         const strata_services *services) {
    static const strata_services none = { .struct_size = sizeof none };
    Error e = { 0 };
    console_fill_closed();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe and a size limit are errors of write, */
    signal(SIGXFSZ, SIG_IGN); /* not ends of the process */
    output_guard(stderr);
    if (services_check(services, &e)) return report(NULL, &e), e.status;
    Started s = { .p = { .api = api,
                         .m = api->model(),
                         .services = services ? services : &none,
                         .path = "model",
                         .file = "model" },
                  .argc = argc,
                  .argv = argv };
    if (argc > 0 && argv[0] && *argv[0]) {
        const char *slash = strrchr(argv[0], '/');
        s.p.path = argv[0];
        s.p.file = slash && slash[1] ? slash + 1 : argv[0];
    }
    return on_own_stack(run_whole, &s);
}

int strata_main_with(int argc, char **argv, const strata_api *api, strata_gemm_fn gemm) {
    const strata_services services = { .struct_size = sizeof services, .gemm = gemm };
    return strata_main_services(argc, argv, api, &services);
}

int strata_main(int argc, char **argv, const strata_api *api) {
    return strata_main_services(argc, argv, api, NULL);
}
