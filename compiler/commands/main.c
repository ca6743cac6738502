/* SPDX-License-Identifier: MIT
** strata: from a spec to a program.
**
**   spec.lua -> spec/ -> graph/ -> passes/ -> codegen/ -> object -> cc -> program
*/
#include "command.h"
#include "console.h"
#include "files.h"
#include "own_stack.h"
#include "process.h"
#include "program_options.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* == Running ============================================================== */

static int command_completion(const Options *o, Error *e) {
    if (o->words != 1)
        return error_set(
            e, STATUS_USAGE, "strata completion: expected bash, zsh or fish, found %s%s%s",
            o->words ? "'" : "nothing", o->words ? o->word[o->words - 1] : "", o->words ? "'" : "");
    Text t = { 0 };
    int status = options_completion(&t, o->table, "strata", o->word[0], e);
    if (!status) return console_text(&t, e);
    text_free(&t);
    return status;
}

static int print_help(const Options *o, Error *e) {
    Text t = { 0 };
    options_help(&t, o->table, "strata", o->command);
    return console_text(&t, e);
}

/* Does the command read specs, and are there some among its words? */
static bool names_specs(const Options *o) {
    if (!option_is_in(&o->table->option[STRATA_OPTION_DEFINE], o->command)) return false;
    for (int i = 0; i < o->argc; i++)
        if (is_spec(o->argv[i])) return true;
    return false;
}

/* What the specs among the words declare; what they print themselves is left out. */
static int print_choices(const Options *o, Allowance *a, Error *e) {
    Text t = { 0 };
    int status = STATUS_OK;
    for (int i = 0; !status && i < o->argc; i++) {
        if (!is_spec(o->argv[i])) continue;
        SpecLimits limits = allowance_limits(a);
        limits.console = NULL;
        limits.chosen = (SpecChoices){ 0 };
        allowance_spec(a, o->argv[i]);
        Model *m = spec_load(o->argv[i], &limits, e);
        if (!m) status = e->status;
        else text_add(&t, "\nOptions of %s%s\n", m->file, m->noption ? "" : ": none");
        if (m) spec_options_text(m, &t);
        spec_free(m);
    }
    if (t.length && !status) return console_lines(&t, e);
    text_free(&t);
    return status;
}

typedef int PlainCommand(const Options *o, Error *e);
typedef int AllowedCommand(const Options *o, Allowance *a, Error *e);

/* One of both: those of allowance.h run in a process of their own. */
static const struct {
    PlainCommand *plain;
    AllowedCommand *allowed;
} main_command[STRATA_COMMANDS] = {
    [STRATA_COMMAND_BUILD] = { NULL, command_build },
    [STRATA_COMMAND_CHECK] = { NULL, command_check },
    [STRATA_COMMAND_COMPLETION] = { command_completion, NULL },
    [STRATA_COMMAND_INSPECT] = { NULL, command_inspect },
    [STRATA_COMMAND_COMPARE] = { NULL, command_compare },
    [STRATA_COMMAND_WEIGHTS] = { NULL, command_weights },
    [STRATA_COMMAND_QUANTIZE] = { NULL, command_quantize },
    [STRATA_COMMAND_TOKENIZER] = { command_tokenizer, NULL },
    [STRATA_COMMAND_IMPORT] = { command_import, NULL },
    [STRATA_COMMAND_EXPORT] = { NULL, command_export },
    [STRATA_COMMAND_INIT] = { command_init, NULL },
    [STRATA_COMMAND_DOCTOR] = { NULL, command_doctor },
    [STRATA_COMMAND_TOKENS] = { NULL, command_tokens },
    [STRATA_COMMAND_RUN] = { command_run, NULL },
};

/* A reader that went away is no error; a full disk is. */
static int main_flush(int status, Error *e) {
    bool failed = ferror(stdout);
    errno = 0;
    if (fflush(stdout)) failed = true;
    if (!failed || status || errno == EPIPE) return status;
    return error_set(e, STATUS_IO, "standard output: cannot write: %s",
                     errno ? strerror(errno) : "an earlier write failed");
}

typedef struct CommandWork {
    const Options *o;
    Allowance *a;
} CommandWork;

static int command_work(void *work, Error *e) {
    const CommandWork *w = work;
    AllowedCommand *run = w->o->help ? print_choices : main_command[w->o->command].allowed;
    return main_flush(run(w->o, w->a, e), e);
}

static int run_allowed(const Options *o, Error *e) {
    Allowance a;
    sigset_t before;
    int status = allowance_open(&a, o, e);
    process_hold(&before);
    if (!status) status = allowance_run(&a, command_work, &(CommandWork){ o, &a }, &before, e);
    process_release(&before);
    allowance_close(&a);
    return status;
}

static void note_idle(const Options *o) {
    Text t = { 0 };
    options_idle(o, &t);
    if (t.at) fputs(t.at, stderr);
    text_free(&t);
}

static int run_parsed(const Options *o, Error *e) {
    if (o->help) {
        int status = print_help(o, e);
        return !status && names_specs(o) ? run_allowed(o, e) : status;
    }
    if (o->version) return printf("strata %s\n", STRATA_VERSION), STATUS_OK;
    int status = options_need(o, e);
    if (status) return status;
    note_idle(o);
    return main_command[o->command].plain ? main_command[o->command].plain(o, e)
                                          : run_allowed(o, e);
}

static int main_run(int argc, char **argv, Error *e) {
    Options o;
    Text t = { 0 };
    if (options_complete(&t, &strata_options, &program_options, argc, argv))
        return console_text(&t, e);
    int status = options_parse(&o, &strata_options, argc > 0 ? argc - 1 : 0, argv + (argc > 0), e);
    if (!status) status = run_parsed(&o, e);
    options_free(&o);
    return status;
}

typedef struct TypedWords {
    int argc;
    char **argv;
} TypedWords;

static int run_whole(void *argument) {
    const TypedWords *line = argument;
    Error e = { 0 };
    int status = main_flush(main_run(line->argc, line->argv, &e), &e);
    if (e.status)
        fprintf(stderr, "error: %s\n%s", e.text,
                e.status == STATUS_INTERNAL ? "This is a defect of Strata: please report it.\n"
                                            : "");
    return status;
}

int main(int argc, char **argv) {
    console_fill_closed();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    output_guard(stderr);
    return on_own_stack(run_whole, &(TypedWords){ argc, argv });
}
