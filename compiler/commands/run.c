/*
** strata run: the program of a spec, from a cache.  A program's name there holds all
** that it depends on: the spec with what it requires, this compiler, the processor.
*/
#include "build.h"
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Folders on the way to path's last name. */
static int make_folders(char *path, Error *e) {
    for (char *s = path + 1; (s = strchr(s, '/')); s++) {
        *s = 0;
        int failed = mkdir(path, 0700) && errno != EEXIST ? errno : 0;
        if (failed) error_errno(e, path, "make a folder", failed);
        *s = '/';
        if (failed) return e->status;
    }
    return STATUS_OK;
}

/* A number that is another for every build of the compiler. */
static int own_hash(uint64_t *out, Error *e) {
    struct stat s;
    if (stat("/proc/self/exe", &s)) return error_errno(e, "/proc/self/exe", "look at", errno);
    *out = (uint64_t)s.st_mtim.tv_sec * 1000003u ^ (uint64_t)s.st_mtim.tv_nsec
        ^ (uint64_t)s.st_size << 20 ^ (uint64_t)s.st_ino;
    return STATUS_OK;
}

static int cache_path(const Model *m, char **path, Error *e) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    uint64_t own = 0;
    const char *cpu = codegen_native();
    int status = own_hash(&own, e);
    if (status) return status;
    if (!cpu)
        return error_set(
            e, STATUS_USER,
            "strata run: expected a processor with at least SSE4.2, found an older one");
    bool absolute = cache && *cache == '/';
    if (!absolute && (!home || *home != '/'))
        return error_set(
            e, STATUS_USER,
            "strata run: expected HOME or XDG_CACHE_HOME to name a folder, found neither");
    int n = asprintf(path, "%s%s/strata/%016llx-%016llx-%s/%s", absolute ? cache : home,
                     absolute ? "" : "/.cache", (unsigned long long)m->hash,
                     (unsigned long long)own, cpu, m->name);
    return n < 0 ? error_memory(e, m->name, 0) : make_folders(*path, e);
}

static int find_program(const char *spec, char **path, Error *e) {
    Model *m = spec_load(spec, NULL, e);
    if (!m) return e->status;
    int status = cache_path(m, path, e);
    if (!status && access(*path, X_OK)) {
        BuildOptions o = { .spec = spec, .output = *path, .code = { .level = 2, .cpu = "native" } };
        status = build_model(m, &o, e);
        for (int i = 0; !status && i < m->nnote; i++)
            show_line(stderr, "note: ", m->note[i], "");
    }
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
    int status = find_program(spec, &path, e);
    if (!status) {
        o->word[0] = path; /* a NULL ends the words */
        execv(path, o->word);
        status = error_errno(e, path, "run", errno);
    }
    free(path);
    return status;
}
