/* SPDX-License-Identifier: MIT
** strata doctor: reports what a build needs and whether it is installed, what this machine is, and
** the next command to type.
*/
#include "blas_environment.h"
#include "blas_library.h"
#include "codegen.h"
#include "command.h"
#include "files.h"
#include "link.h"
#include "machine_rates.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void row(const char *name, const char *text) {
    printf("%-12s ", name);
    show_line(stdout, "", text, "");
}

static void show_machine(void) {
    char name[256], text[512], llvm[64];
    processor_name(name, sizeof name);
    const char *native = codegen_native();
    codegen_llvm(llvm, sizeof llvm);
    snprintf(text, sizeof text, STRATA_VERSION ", LLVM %s", llvm);
    row("strata", text);
    snprintf(text, sizeof text, "%s, %ld processors", name, sysconf(_SC_NPROCESSORS_ONLN));
    row("processor", text);
    snprintf(text, sizeof text, "nothing: %s is missing", codegen_least());
    row("builds for", native ? native : text);
    snprintf(text, sizeof text, "%.1f GiB", (double)memory_physical() / (1 << 30));
    row("memory", text);
}

/* Where PATH has an executable of this name; false: nowhere. */
static bool find_tool(const char *name, char *out, size_t size) {
    const char *path = getenv("PATH");
    for (size_t n; path && *path; path += n + (path[n] == ':')) {
        n = strcspn(path, ":");
        int length = snprintf(out, size, "%.*s/%s", (int)n, path, name);
        if (length > 0 && (size_t)length < size && !access(out, X_OK)) return true;
    }
    return false;
}

static int show_tool(const char *name, const char *package) {
    char path[PATH_MAX], text[PATH_MAX];
    bool found = find_tool(name, path, sizeof path);
    snprintf(text, sizeof text, "missing: apt-get install %s", package);
    row(name, found ? path : text);
    return !found;
}

static int show_library(void) {
    char path[PATH_MAX + 64];
    bool found = link_library(path, sizeof path);
    row("libstrata",
        found             ? path
            : link_proc() ? "missing: expected libstrata.a beside this program"
                          : "unknown, without /proc");
    return !found;
}

/* By which this program finds its own folder, and the processor's name. */
static int show_proc(void) {
    bool there = link_proc();
    if (!there)
        row("/proc",
            "missing: it is not mounted here, as in some chroots: mount -t proc "
            "proc /proc");
    return !there;
}

static int show_scratch(void) {
    const char *folder = getenv("TMPDIR");
    char text[PATH_MAX];
    if (!folder || !*folder) folder = "/tmp";
    bool usable = !access(folder, W_OK | X_OK);
    snprintf(text, sizeof text, "%.3000s%s", folder, usable ? "" : ": cannot be written");
    row("scratch", text);
    return !usable;
}

static void show_products(const ProductRatios *r) {
    char text[256];
    if (!r->measured) return;
    products_tell(text, sizeof text, r);
    row("products", text);
}

static int doctor_measure(Allowance *a, Error *e) {
    char path[PATH_MAX], text[PATH_MAX + 128];
    Rates r;
    ProductRatios products;
    allowance_spec(a, "strata doctor");
    int status = machine_rates_measure(a, &r, &products, path, sizeof path, e);
    if (status) return status;
    snprintf(
        text, sizeof text,
        "%d threads: products %.1f GFLOP/s, attention %.1f, row kernels %.1f, %.1f G/s of what "
        "functions take and %.1f GB/s; %.1f %% of waiting",
        r.threads, 1e-9 * r.products, 1e-9 * r.sequences, 1e-9 * r.rows, 1e-9 * r.functions,
        1e-9 * r.memory, 100 * r.waiting);
    row("rates", text);
    show_products(&products);
    row("kept in", path);
    return STATUS_OK;
}

static void show_rates(void) {
    row("rates",
        machine_rates().measured
            ? "measured: what inspect and compare predict times by"
            : "not measured: strata doctor --measure does, on a machine that does nothing else");
    ProductRatios products = machine_ratios();
    show_products(&products);
}

/* Not needed for a build: generated kernels multiply too. */
static void show_blas(Allowance *a) {
    BlasLibrary l;
    char core[64], plain[64], set[256], text[PATH_MAX + 256];
    blas_find(&l);
    if (!*l.path) {
        snprintf(text, sizeof text,
                 "none for --blas openblas%s%s%s: apt-get install "
                 "libopenblas-pthread-dev",
                 *l.serial ? ", but " : "", l.serial,
                 *l.serial ? ", which several threads may not call" : "");
        row("openblas", text);
        return;
    }
    bool asked = blas_core(&l, true, a, core, sizeof core);
    snprintf(text, sizeof text, "%s kernels, for --blas openblas: %s", asked ? core : "unknown",
             l.path);
    row("openblas", text);
    const char *better = asked ? codegen_blas_better(core) : NULL;
    if (better) {
        snprintf(text, sizeof text,
                 "warning: vectors of %d bits, where this processor has wider ones; try "
                 "OPENBLAS_CORETYPE=%s",
                 codegen_blas_bits(core), better);
        row("", text);
    }
    if (!*blas_environment(set, sizeof set) || !blas_core(&l, false, a, plain, sizeof plain))
        return;
    snprintf(text, sizeof text, "%s makes OpenBLAS another one than it would be: %s kernels", set,
             plain);
    row("", text);
}

int command_doctor(const Options *o, Allowance *a, Error *e) {
    if (o->words)
        return error_set(e, STATUS_USAGE, "strata doctor: expected no arguments, found '%s'",
                         o->word[0]);
    show_machine();
    int missing = !codegen_native() + show_tool("cc", "gcc libc6-dev") + show_tool("ar", "binutils")
        + show_tool("objcopy", "binutils") + show_proc() + show_library() + show_scratch();
    if (missing)
        return error_set(e, STATUS_USER,
                         "strata doctor: expected all that a build needs, found %d missing",
                         missing);
    show_blas(a);
    if (option_of(o, STRATA_OPTION_MEASURE)->given) {
        int status = doctor_measure(a, e);
        if (status) return status;
    } else show_rates();
    row("next", "strata init first && strata build first/model.lua");
    return STATUS_OK;
}
