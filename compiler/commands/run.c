/* SPDX-License-Identifier: MIT
** strata run: runs the program of a spec from a cache (program_cache.h), or from a temporary
** folder that is removed first if the cache cannot be trusted.  A child process builds the program
** within its limits, and the waiting process gets it in memory.
*/
#include "build.h"
#include "command.h"
#include "process.h"
#include "program_cache.h"
#include "temporary.h"
#include "work_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* A line about the cache, which is no error. */
static void run_tell(const Allowance *a, const char *place, const char *wanted, const char *found,
                     const char *done) {
    char line[PATH_MAX + 256];
    snprintf(line, sizeof line, "%s: expected %s, found %s%s", place, wanted, found, done);
    show_line(a->console, "strata run: ", line, "");
}

static int build(const Model *m, const char *output, Allowance *a, Error *e) {
    BuildOptions o = {
        .spec = m->file, .output = output, .allowance = a, .code = { .level = 2, .cpu = "native" }
    };
    int status = build_model(m, &o, e);
    if (!status) build_notes(m, a);
    return status;
}

/* Builds it where nobody else looks, and leaves nothing there. */
static int build_apart(const Model *m, Allowance *a, int *program, Error *e) {
    WorkFolder w;
    char path[WORK_FILE_PATH];
    int status = work_folder_open(&w, a, e);
    if (status) return status;
    snprintf(path, sizeof path, "%s/%s", w.path, m->name);
    status = build(m, path, a, e);
    *program = status ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (!status && *program < 0) status = error_errno(e, path, "open it", errno);
    work_folder_close(&w, a);
    return status;
}

/* Of processes that all find none, one builds it and the others take that. */
static int build_cached(const Model *m, ProgramCache *c, Allowance *a, int *program, Error *e) {
    const char *found;
    if (cache_lock(c))
        temporary_note(a->console, c->fresh, ", which a command that was killed left: removed");
    *program = cache_find(c, &found);
    if (*program >= 0) return STATUS_OK;
    if (found) run_tell(a, c->path, "the program of this spec", found, ", built anew");
    int status = build(m, c->fresh, a, e);
    if (!status) status = cache_put(c, e);
    if (status) return status;
    *program = cache_find(c, &found);
    if (*program >= 0) return STATUS_OK;
    return error_set(e, STATUS_IO, "%s: expected the program that was just built, found %s",
                     c->path, found ? found : "none");
}

static int find_program(const Model *m, Allowance *a, int *program, char **path, Error *e) {
    ProgramCache c;
    const char *found;
    int status = cache_open(&c, m, e);
    if (!status && c.folder < 0) {
        run_tell(a, c.wrong_folder, "a folder of your own", c.wrong,
                 "; the program is built without the cache");
        status = build_apart(m, a, program, e);
    } else if (!status) {
        *program = cache_find(&c, &found);
        if (*program < 0) status = build_cached(m, &c, a, program, e);
    }
    *path = c.path;
    c.path = NULL;
    cache_close(&c);
    return status;
}

typedef struct FindWork {
    const char *spec;
    Allowance *a;
    int memory; /* where the program goes */
} FindWork;

static int copy_program(int from, const FindWork *w, const char *path, Error *e) {
    struct stat st;
    bool copied = strlen(path) < sizeof w->a->notes->program && !fstat(from, &st);
    for (off_t at = 0; copied && at < st.st_size;)
        copied = sendfile(w->memory, from, &at, (size_t)(st.st_size - at)) > 0;
    if (!copied) return error_errno(e, path, "load it", errno);
    strcpy(w->a->notes->program, path);
    return STATUS_OK;
}

static int find_work(void *work, Error *e) {
    const FindWork *w = work;
    Model *m = build_load(w->spec, w->a, e);
    if (!m) return e->status;
    char *path = NULL;
    int program = -1, status = find_program(m, w->a, &program, &path, e);
    if (!status) status = copy_program(program, w, path ? path : m->name, e);
    if (program >= 0) close(program);
    free(path);
    spec_free(m);
    return status;
}

static int run_run(const Options *o, Allowance *a, const char *spec, Error *e) {
    FindWork w = { spec, a, memfd_create("program", MFD_CLOEXEC) };
    if (w.memory < 0) return error_errno(e, spec, "make memory for its program", errno);
    sigset_t before;
    process_hold(&before);
    int status = allowance_run(a, find_work, &w, &before, e);
    process_release(&before);
    if (!status) {
        o->word[0] = a->notes->program; /* a NULL ends the words */
        fexecve(w.memory, o->word, environ);
        status = error_errno(e, a->notes->program, "run", errno);
    }
    close(w.memory);
    return status;
}

static bool is_choice(const Options *o, int i) {
    return i + 1 < o->words && !strcmp(o->word[i], "-D") && strchr(o->word[i + 1], '=');
}

/* Behind the spec -D is typed too. In front of the program's command it is not the program's; what
** stands behind is, which was built with it then.  Returns the words that are left. */
static int take_choices(const Options *o, SpecChoices *c, const char *word[OPTION_PAIRS]) {
    const OptionValue *given = option_of(o, STRATA_OPTION_DEFINE);
    int n = given->length, own = 1;
    for (int i = 0; i < n; i++)
        word[i] = given->list[i];
    while (is_choice(o, own))
        own += 2;
    for (int i = 1; i < o->words && n < OPTION_PAIRS; i++)
        if (is_choice(o, i)) word[n++] = o->word[++i];
    memmove(o->word + 1, o->word + own, (size_t)(o->words + 1 - own) * sizeof *o->word);
    *c = (SpecChoices){ .word = word, .n = n };
    return o->words + 1 - own;
}

int command_run(const Options *o, Error *e) {
    const char *spec = o->words ? o->word[0] : "nothing", *word[OPTION_PAIRS];
    SpecChoices chosen;
    if (!o->words || (spec[0] == '-' && spec[1]))
        return error_set(e, STATUS_USAGE, "strata run: expected a spec, found %s", spec);
    struct stat st; /* a folder is told what it is, whatever is asked of it */
    bool folder = !stat(spec, &st) && S_ISDIR(st.st_mode);
    if (!folder && !is_spec(spec) && o->words > 1 && is_spec(o->word[1]))
        return error_set(e, STATUS_USAGE,
                         "strata run: expected SPEC COMMAND, found '%s' before '%s'; strata run %s "
                         "%s",
                         spec, o->word[1], o->word[1], spec);
    if (take_choices(o, &chosen, word) < 2 && !folder)
        return error_set(
            e, STATUS_USAGE,
            "strata run: expected a command for the program, such as info, found nothing");
    Allowance a;
    int status = allowance_open(&a, o, e);
    a.chosen = chosen;
    if (!status) status = run_run(o, &a, spec, e);
    allowance_close(&a);
    return status;
}
