/* SPDX-License-Identifier: MIT
** Links objects to one object, a program, an archive or a shared library, with the system's cc, ar
** and objcopy. libstrata is found beside this program: in its build tree, or where it was
** installed.
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

bool link_proc(void) { return !access("/proc/self/exe", F_OK); }

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

/* Addresses of functions cannot be written once a program runs, nor its stack be executed. */
#define HARDENED "-Wl,-z,relro,-z,now,-z,noexecstack"

/* A command line that grows. */
typedef struct CommandLine {
    char *word[24];
    int n;
} CommandLine;

static void link_add(CommandLine *w, const char *word) {
    if (word) w->word[w->n++] = (char *)word;
}

/* GCC's plugin would hold a descriptor for each object of an archive. */
static CommandLine words_of(const char *const *first, const LinkObjects *objects) {
    CommandLine w = { 0 };
    for (; *first; first++)
        link_add(&w, *first);
    link_add(&w, objects->own), link_add(&w, objects->library);
    if (objects->kernels) {
        link_add(&w, "-fno-use-linker-plugin");
        link_add(&w, "-Wl,--whole-archive"), link_add(&w, objects->kernels);
        link_add(&w, "-Wl,--no-whole-archive");
    }
    return w;
}

/* Of a shared one only what is called, as of an archive. */
static void add_blas(CommandLine *w, const LinkObjects *objects) {
    if (objects->blas) link_add(w, "-Wl,--as-needed"), link_add(w, objects->blas);
}

static int link_program(const LinkObjects *objects, const char *result, const sigset_t *mask,
                        Error *e) {
    static const char *const first[] = { "cc", "-pthread", "-Wl,--gc-sections", HARDENED, NULL };
    char library[PATH_MAX + 64];
    if (!link_proc())
        return error_set(e, STATUS_IO,
                         "/proc: expected it mounted, by which strata finds libstrata.a, found "
                         "none");
    if (!link_library(library, sizeof library))
        return error_set(e, STATUS_IO,
                         "libstrata.a: expected it in runtime/ or " STRATA_LIBRARY_FROM_PROGRAM
                         "/ beside strata, found neither");
    CommandLine cc = words_of(first, objects);
    link_add(&cc, objects->carried), link_add(&cc, objects->mark), link_add(&cc, library),
        add_blas(&cc, objects), link_add(&cc, "-lm");
    link_add(&cc, STRATA_LINK_FLAG);
    link_add(&cc, "-o"), link_add(&cc, result);
    return process_run(cc.word, objects->temporary, mask, e);
}

/* A library's table has its own functions, whatever another one of that name has; an OpenBLAS in
** it is nobody else's. */
static int link_shared(const LinkObjects *objects, const char *result, const sigset_t *mask,
                       Error *e) {
    static const char *const first[] = { "cc", "-shared", "-Wl,--gc-sections,-Bsymbolic", HARDENED,
                                         NULL };
    CommandLine cc = words_of(first, objects);
    link_add(&cc, objects->mark), add_blas(&cc, objects);
    if (objects->blas)
        link_add(&cc, "-Wl,--exclude-libs,ALL"), link_add(&cc, "-lm"), link_add(&cc, "-pthread");
    else link_add(&cc, "-nostdlib");
    link_add(&cc, "-o"), link_add(&cc, result);
    return process_run(cc.word, objects->temporary, mask, e);
}

/* Of what is left, only the model's functions can be seen: two models may be in one program. */
int link_object(const LinkObjects *objects, const char *result, const sigset_t *mask, Error *e) {
    static const char *const first[] = { "cc", "-r", "-nostdlib",
                                         "-Wl,--gc-sections,--gc-keep-exported", NULL };
    char *hide[] = { "objcopy", "--localize-hidden", (char *)result, NULL };
    CommandLine cc = words_of(first, objects);
    link_add(&cc, "-o"), link_add(&cc, result);
    int status = process_run(cc.word, objects->temporary, mask, e);
    return status ? status : process_run(hide, objects->temporary, mask, e);
}

int link_output(EmitKind emit, const LinkObjects *objects, const char *result, const sigset_t *mask,
                Error *e) {
    char *ar[] = { "ar", "rcsD", (char *)result, (char *)objects->own, NULL };
    if (emit == EMIT_STATIC) return process_run(ar, objects->temporary, mask, e);
    if (emit == EMIT_SHARED) return link_shared(objects, result, mask, e);
    return link_program(objects, result, mask, e);
}
