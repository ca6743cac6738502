/*
** strata run: the program of a spec, from a cache (program_cache.h) or, where that is not to be
** trusted, from a folder that is gone before it runs.
*/
#include "build.h"
#include "command.h"
#include "program_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A line about the cache, which is no error. */
static void tell(const char *place, const char *wanted, const char *found, const char *done) {
    char line[PATH_MAX + 256];
    snprintf(line, sizeof line, "%s: expected %s, found %s%s", place, wanted, found, done);
    show_line(stderr, "strata run: ", line, "");
}

static int build(const Model *m, const char *output, Error *e) {
    BuildOptions o = { .spec = m->file, .output = output, .code = { .level = 2, .cpu = "native" } };
    int status = build_model(m, &o, e);
    for (int i = 0; !status && i < m->nnote; i++)
        show_line(stderr, "note: ", m->note[i], "");
    return status;
}

/* Builds it where nobody else looks, and leaves nothing there. */
static int build_apart(const Model *m, int *program, Error *e) {
    const char *where = getenv("TMPDIR");
    char folder[256], path[384];
    int n = snprintf(folder, sizeof folder, "%s/strata-XXXXXX", where && *where ? where : "/tmp");
    if (n >= (int)sizeof folder)
        return error_set(e, STATUS_USER,
                         "TMPDIR: expected a name of at most 240 bytes, found a longer one");
    if (!mkdtemp(folder)) return error_errno(e, folder, "make a folder for the program", errno);
    snprintf(path, sizeof path, "%s/%s", folder, m->name);
    int status = build(m, path, e);
    *program = status ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (!status && *program < 0) status = error_errno(e, path, "open it", errno);
    unlink(path);
    rmdir(folder);
    return status;
}

/* Of processes that all find none, one builds it and the others take that. */
static int build_cached(const Model *m, ProgramCache *c, int *program, Error *e) {
    const char *found;
    cache_lock(c);
    *program = cache_find(c, &found);
    if (*program >= 0) return STATUS_OK;
    if (found) tell(c->path, "the program of this spec", found, ", built anew");
    int status = build(m, c->fresh, e);
    if (!status) status = cache_put(c, e);
    if (status) return status;
    *program = cache_find(c, &found);
    if (*program >= 0) return STATUS_OK;
    return error_set(e, STATUS_IO, "%s: expected the program that was just built, found %s",
                     c->path, found ? found : "none");
}

static int find_program(const char *spec, int *program, char **path, Error *e) {
    ProgramCache c;
    const char *found;
    Model *m = spec_load(spec, NULL, e);
    if (!m) return e->status;
    int status = cache_open(&c, m, e);
    if (!status && c.folder < 0) {
        tell(c.wrong_folder, "a folder of your own", c.wrong,
             "; the program is built without the cache");
        status = build_apart(m, program, e);
    } else if (!status) {
        *program = cache_find(&c, &found);
        if (*program < 0) status = build_cached(m, &c, program, e);
    }
    *path = c.path;
    c.path = NULL;
    cache_close(&c);
    spec_free(m);
    return status;
}

int command_run(const Options *o, Error *e) {
    const char *spec = o->words ? o->word[0] : "nothing";
    if (!o->words || (spec[0] == '-' && spec[1]))
        return error_set(e, STATUS_USAGE, "strata run: expected a spec, found %s", spec);
    if (o->words < 2)
        return error_set(
            e, STATUS_USAGE,
            "strata run: expected a command for the program, such as info, found nothing");
    char *path = NULL;
    int program = -1, status = find_program(spec, &program, &path, e);
    if (!status) {
        o->word[0] = path; /* a NULL ends the words */
        fexecve(program, o->word, environ);
        status = error_errno(e, path, "run", errno);
    }
    if (program >= 0) close(program);
    free(path);
    return status;
}
