/*
** strata: from a spec to a program.
**
**   spec.lua -> spec/ -> graph/ -> passes/ -> codegen/ -> object -> cc -> program
*/
#include "command.h"
#include "console.h"
#include "escape.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* == Running ============================================================== */

int spec_of(const Options *o, const char **spec, Error *e) {
    const char *name = o->table->command[o->command].name;
    if (!o->words)
        return error_set(e, STATUS_USAGE, "strata %s: expected a spec, found nothing", name);
    if (o->words > 1)
        return error_set(e, STATUS_USAGE, "strata %s: expected one spec, found '%s' too", name,
                         o->word[1]);
    *spec = o->word[0];
    return STATUS_OK;
}

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

void show_line(FILE *f, const char *before, const char *text, const char *after) {
    char shown[4096];
    text_escape(shown, sizeof shown, text, strlen(text));
    fprintf(f, "%s%s%s\n", before, shown, after);
}

static int run(int argc, char **argv, Error *e) {
    static int (*const command[STRATA_COMMANDS])(const Options *, Error *) = {
        [STRATA_COMMAND_BUILD] = command_build,
        [STRATA_COMMAND_CHECK] = command_check,
        [STRATA_COMMAND_COMPLETION] = command_completion,
        [STRATA_COMMAND_INSPECT] = command_inspect,
        [STRATA_COMMAND_COMPARE] = command_compare,
        [STRATA_COMMAND_INIT] = command_init,
        [STRATA_COMMAND_DOCTOR] = command_doctor,
        [STRATA_COMMAND_RUN] = command_run,
    };
    Options o;
    int status = options_parse(&o, &strata_options, argc > 0 ? argc - 1 : 0, argv + (argc > 0), e);
    if (!status && o.help) status = print_help(&o, e);
    else if (!status && o.version) printf("strata %s\n", STRATA_VERSION);
    else if (!status) status = command[o.command](&o, e);
    options_free(&o);
    return status;
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
