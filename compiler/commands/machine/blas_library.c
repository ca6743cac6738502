/* SPDX-License-Identifier: MIT
** See blas_library.h. */
#include "blas_library.h"

#include "command.h"
#include "files.h"
#include "machine_rates.h"
#include "process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PACKAGE "libopenblas-pthread-dev"

/* == Finding it =========================================================== */

/* A function that builds for threads have, and no other. */
static bool is_for_threads(const char *path) {
    static const char name[] = "exec_blas_async";
    struct stat s;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool found = false;
    if (fd >= 0 && !fstat(fd, &s) && S_ISREG(s.st_mode) && s.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            found = memmem(bytes, (size_t)s.st_size, name, sizeof name - 1);
            munmap(bytes, (size_t)s.st_size);
        }
    }
    if (fd >= 0) close(fd);
    return found;
}

static bool is_archive(const char *path) {
    size_t n = strlen(path);
    return n > 2 && !strcmp(path + n - 2, ".a");
}

static bool library_take(BlasLibrary *out, const char *path) {
    bool fits = is_for_threads(path);
    print_text(fits ? out->path : out->serial, PATH_MAX, "%s", path);
    out->archive = fits && is_archive(path);
    return fits;
}

/* The path of a library that cc would link; false: there is none. */
static bool ask_cc(const char *name, char path[PATH_MAX]) {
    char word[128];
    char *argv[] = { "cc", word, NULL };
    Text out = { 0 };
    Error ignored = { 0 };
    sigset_t before;
    print_text(word, sizeof word, "-print-file-name=%s", name);
    process_hold(&before);
    int status = process_read(argv, "cc", &before, NULL, NULL, &out, &ignored);
    process_release(&before);
    int n = status || !out.at ? 0 : (int)strcspn(out.at, "\n");
    bool found = n > 0 && out.at[0] == '/' && n < PATH_MAX;
    if (found) out.at[n] = 0;
    found = found && realpath(out.at, path) && !access(path, R_OK);
    text_free(&out);
    return found;
}

void blas_find(BlasLibrary *out) {
    static const char *const names[] = { "openblas-pthread/libopenblas.a", "libopenblas.a",
                                         "openblas-pthread/libopenblas.so", "libopenblas.so" };
    const char *own = getenv("STRATA_OPENBLAS");
    char path[PATH_MAX];
    *out = (BlasLibrary){ 0 };
    if (own) {
        if (*own && !access(own, R_OK)) library_take(out, own);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ask_cc(names[i], path) && library_take(out, path)) return;
}

/* == Choosing ============================================================= */

static bool library_is_linked(const CodegenOptions *o) {
    return o->emit == EMIT_EXE || o->emit == EMIT_SHARED;
}

static int library_refuse(Error *e, const char *expected, const char *found) {
    return error_set(e, STATUS_USER, "--blas openblas: expected %s, found %.200s", expected, found);
}

static int check_openblas(const BuildOptions *o, BlasLibrary *library, Error *e) {
    const CodegenOptions *c = &o->code;
    if (c->passes.bf16)
        return library_refuse(e, "products of float32, as those of bfloat16 are generated",
                              "--precision bf16");
    if (c->passes.small)
        return library_refuse(e, "weights of float32, as products with small ones are generated",
                              c->passes.small == SMALL_Q4 ? "--weights q4" : "--weights q8");
    if (build_is_foreign(c))
        return library_refuse(e, "a target of Linux, which the OpenBLAS found here is for",
                              c->triple);
    if (!library_is_linked(c)) return STATUS_OK;
    blas_find(library);
    if (*library->path) return STATUS_OK;
    if (!*library->serial)
        return library_refuse(e, "OpenBLAS (apt-get install " PACKAGE ")", "none");
    return library_refuse(e,
                          "an OpenBLAS that several threads may call (apt-get install " PACKAGE ")",
                          library->serial);
}

/* What was measured is of code for this machine, and of products of float32. */
static bool is_measured(const CodegenOptions *o, ProductRatios *ratios) {
    const char *native = codegen_native();
    bool here = !o->cpu || !strcmp(o->cpu, "native") || (native && !strcmp(o->cpu, native));
    if (!here || o->triple || o->passes.bf16 || o->passes.small) return false;
    *ratios = machine_ratios();
    return ratios->measured;
}

int blas_choose(BuildOptions *o, ProductRatios *ratios, BlasLibrary *library, Error *e) {
    CodegenOptions *c = &o->code;
    Multiply by = o->multiply;
    *library = (BlasLibrary){ 0 };
    c->products = PRODUCTS_GENERATED;
    if (by == MULTIPLY_OPENBLAS) {
        int status = check_openblas(o, library, e);
        if (!status) c->products = PRODUCTS_OPENBLAS;
        return status;
    }
    /* objects need nothing unless it is asked for */
    if (by == MULTIPLY_DEFAULT) by = library_is_linked(c) ? MULTIPLY_AUTO : MULTIPLY_GENERATED;
    if (by == MULTIPLY_GENERATED || !is_measured(c, ratios)) return STATUS_OK;
    if (library_is_linked(c)) blas_find(library);
    if (library_is_linked(c) && !*library->path) return STATUS_OK;
    c->products = PRODUCTS_AUTO;
    c->ratios = ratios;
    return STATUS_OK;
}
