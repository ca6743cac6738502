/*
** From an object to a program, an archive or a shared library, with the
** system's cc and ar.  libstrata is found beside this program: in its build
** tree, or where it was installed.
*/
#include "link.h"
#include "process.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef STRATA_LINK_FLAG
#define STRATA_LINK_FLAG NULL /* the sanitizers', where libstrata.a was built with them */
#endif

bool link_library(char *path, size_t size) {
    static const char *const places[] = { "/runtime", "/" STRATA_LIBRARY_FROM_PROGRAM };
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return false;
    self[n] = 0;
    *strrchr(self, '/') = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int length = snprintf(path, size, "%s%s/libstrata.a", self, places[i]);
        if (length > 0 && (size_t)length < size && !access(path, R_OK)) return true;
    }
    return false;
}

static int link_program(const char *object, const char *side, const char *result,
                        const sigset_t *mask, Error *e) {
    char library[PATH_MAX + 64];
    if (!link_library(library, sizeof library))
        return error_set(e, STATUS_IO,
                         "libstrata.a: expected it in runtime/ or " STRATA_LIBRARY_FROM_PROGRAM
                         "/ beside strata, found neither");
    char *cc[] = { "cc",           "-o",    (char *)result,
                   (char *)object, library, "-Wl,--gc-sections",
                   "-pthread",     "-lm",   STRATA_LINK_FLAG,
                   NULL,           NULL };
    int n = 0;
    while (cc[n])
        n++;
    cc[n] = (char *)side;
    return process_run(cc, mask, e);
}

int link_output(const BuildOptions *o, const char *object, const char *side, const char *result,
                const sigset_t *mask, Error *e) {
    char *ar[] = { "ar", "rcsD", (char *)result, (char *)object, NULL };
    char *shared[] = { "cc", "-shared", "-nostdlib", "-o", (char *)result, (char *)object, NULL };
    if (o->code.emit == EMIT_STATIC) return process_run(ar, mask, e);
    if (o->code.emit == EMIT_SHARED) return process_run(shared, mask, e);
    return link_program(object, side, result, mask, e);
}
