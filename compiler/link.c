/*
** From an object to a program, an archive or a shared library, with the
** system's cc and ar.  libstrata is found beside this program: in its build
** tree, or where it was installed.
*/
#include "link.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int run(char *const *argv) {
    pid_t child;
    int how, error = posix_spawnp(&child, argv[0], NULL, NULL, argv, environ);
    if (error) {
        fprintf(stderr, "error: %s: expected the system's %s to link with, found: %s\n", argv[0], argv[0], strerror(error));
        return 4;
    }
    while (waitpid(child, &how, 0) < 0 && errno == EINTR) {}
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0) return 0;
    fprintf(stderr, "error: %s: expected it to link the model, found a failure (see above)\n", argv[0]);
    return 4;
}

/* The folder of libstrata.a; NULL if there is none. */
static const char *library_folder(char *path, size_t size) {
    static const char *const places[] = { "/runtime", "/../lib/x86_64-linux-gnu", "/../lib", "/../lib64" };
    char self[PATH_MAX], file[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return NULL;
    self[n] = 0;
    *strrchr(self, '/') = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(file, sizeof file, "%s%s/libstrata.a", self, places[i]);
        if (access(file, R_OK)) continue;
        snprintf(path, size, "%s%s", self, places[i]);
        return path;
    }
    return NULL;
}

static int link_program(const char *object, const char *result) {
    char folder[PATH_MAX + 64], library[PATH_MAX + 96];
    if (!library_folder(folder, sizeof folder)) {
        fprintf(stderr, "error: libstrata.a: expected it in runtime/ beside strata or in ../lib, found neither\n");
        return 4;
    }
    snprintf(library, sizeof library, "%s/libstrata.a", folder);
    char *cc[] = { "cc", "-o", (char *)result, (char *)object, library, "-Wl,--gc-sections", "-l:libutf8proc.a", "-lpthread", "-lm", NULL };
    return run(cc);
}

int link_output(const BuildOptions *o, const char *object, const char *result) {
    char *ar[] = { "ar", "rcsD", (char *)result, (char *)object, NULL };
    char *shared[] = { "cc", "-shared", "-nostdlib", "-o", (char *)result, (char *)object, NULL };
    if (o->code.emit == EMIT_STATIC) return run(ar);
    if (o->code.emit == EMIT_SHARED) return run(shared);
    return link_program(object, result);
}
