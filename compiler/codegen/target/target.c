/* SPDX-License-Identifier: MIT
** What all targets share: which of them and which level is meant, and LLVM's target machine.
*/
#include "target.h"
#include "fatal.h"
#include "text.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <llvm-c/Core.h>
#include <llvm-c/Support.h>

#define TARGET(name, triple, clang) extern const Target target_##name;
#include "levels.def"

static const Target *const targets[] = {
#define TARGET(name, triple, clang) &target_##name,
#include "levels.def"
};
enum { TARGETS = sizeof targets / sizeof *targets };

/* == Which target ========================================================= */

static const Target *host_target(void) {
    for (int i = 0; i < TARGETS; i++)
        if (targets[i]->host) return targets[i];
    bug(NULL, "no target is of this processor");
}

/* "TRIPLE or another NAME triple", of each target. */
static void unknown_triple(const char *triple, Error *e) {
    char known[256] = "";
    size_t n = 0, size = sizeof known;
    for (int i = 0; i < TARGETS && n < size; i++)
        n += (size_t)snprintf(known + n, size - n, "%s%s or another %s triple", i ? ", " : "",
                              targets[i]->triple, targets[i]->name);
    error_set(e, STATUS_USER, "--target: expected %s, found %.80s", known, triple);
}

const Target *target_of(const char *triple, Error *e) {
    if (!triple) return host_target();
    for (int i = 0; i < TARGETS; i++) {
        size_t n = strlen(targets[i]->name);
        if (!strncmp(triple, targets[i]->name, n) && triple[n] == '-') return targets[i];
    }
    unknown_triple(triple, e);
    return NULL;
}

bool codegen_has_target(const char *triple) { return target_of(triple, NULL); }

bool codegen_is_host(const char *triple) { return target_of(triple, NULL) == host_target(); }

/* == Which level ========================================================== */

/* The best one that the host has everything for; of another target the plainest. */
static const Level *host_level(const Target *t, bool special) {
    if (!t->host) return &t->level[0];
    char *features = checked(LLVMGetHostCPUFeatures());
    uint64_t found = t->host(features);
    LLVMDisposeMessage(features);
    for (int i = t->levels - 1; i >= 0; i--)
        if ((special || !t->level[i].special) && !(t->level[i].bits & ~found)) return &t->level[i];
    return NULL;
}

/* A level by its own name; where nothing gains by a special one, the one below. */
static const Level *named_level(const Target *t, const char *cpu, bool special) {
    for (int i = 0; i < t->levels; i++) {
        if (strcmp(t->level[i].name, cpu)) continue;
        while (!special && t->level[i].special)
            i--;
        return &t->level[i];
    }
    return NULL;
}

/* "native, LEVEL, .. or a processor's name", special levels left out. */
static void unknown_cpu(const Target *t, const char *cpu, Error *e) {
    char known[256] = "native";
    size_t n = strlen(known), size = sizeof known;
    for (int i = 0; i < t->levels; i++)
        if (!t->level[i].special && n < size)
            n += (size_t)snprintf(known + n, size - n, ", %s", t->level[i].name);
    error_set(e, STATUS_USER, "--cpu: expected %s or a processor's name such as %s, found %.80s",
              known, t->example, cpu);
}

const Level *target_level(const Target *t, const char *cpu, bool special, Error *e) {
    if (!cpu || !strcmp(cpu, "native")) {
        const Level *l = host_level(t, special);
        if (!l)
            error_set(e, STATUS_USER,
                      "--cpu native: expected a processor with at least %s, found an older one",
                      t->least);
        return l;
    }
    const Level *named = named_level(t, cpu, special);
    if (named) return named;
    for (int i = 0; i < t->processors; i++)
        if (!strcmp(t->processor[i].name, cpu))
            return target_of_library(special ? t->processor[i].special : t->processor[i].level);
    unknown_cpu(t, cpu, e);
    return NULL;
}

const Level *target_of_library(int library) {
    for (int i = 0; i < TARGETS; i++)
        for (int k = 0; k < targets[i]->levels; k++)
            if (targets[i]->level[k].library == library) return &targets[i]->level[k];
    bug(NULL, "no level has library %d", library);
}

/* == The host ============================================================= */

const char *codegen_native(void) {
    const Level *l = target_level(host_target(), NULL, false, NULL);
    return l ? l->name : NULL;
}

const char *codegen_least(void) { return host_target()->least; }

int codegen_blas_bits(const char *core) {
    const Target *t = host_target();
    for (int i = 0; i < t->blas_cores; i++)
        if (!strcasecmp(core, t->blas_core[i].name)) return t->blas_core[i].bits;
    return 0;
}

const char *codegen_blas_better(const char *core) {
    const Target *t = host_target();
    const Level *native = target_level(t, NULL, false, NULL);
    int bits = codegen_blas_bits(core), wide = native ? 32 * native->lanes : 0;
    if (!bits || bits >= wide) return NULL;
    for (int i = 0; i < t->blas_cores; i++)
        if (t->blas_core[i].best && t->blas_core[i].bits == wide) return t->blas_core[i].name;
    return NULL;
}

/* == LLVM ================================================================= */

void codegen_llvm(char *out, size_t size) {
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(out, size, "%u.%u.%u", major, minor, patch);
}

/* Libraries are known by whole paths, the program by what it was called. */
const char *codegen_llvm_file(void) {
    Dl_info at;
    bool found = dladdr((void *)(uintptr_t)LLVMGetVersion, &at) && at.dli_fname;
    return found && *at.dli_fname == '/' ? at.dli_fname : NULL;
}

/* The newer way to follow variables for debuggers takes a tenth of the time, and row kernels have
** none. */
void target_options(const Target *t) {
    enum { MOST = 16 };
    const char *line[MOST] = { "strata", "-experimental-debug-variable-locations=false" };
    int n = 2;
    for (int i = 0; t->options[i] && n < MOST; i++)
        line[n++] = t->options[i];
    LLVMParseCommandLineOptions(n, line, NULL);
}

LLVMTargetMachineRef target_open(const Level *l, const CodegenOptions *o, Error *e) {
    const char *triple = o->triple ? o->triple : l->target->triple;
    LLVMTargetRef target;
    char *why = NULL;
    l->target->initialise();
    if (LLVMGetTargetFromTriple(triple, &target, &why)) {
        unknown_triple(triple, e);
        LLVMDisposeMessage(why);
        return NULL;
    }
    LLVMCodeGenOptLevel level = o->level >= 3 ? LLVMCodeGenLevelAggressive
        : o->level == 2                       ? LLVMCodeGenLevelDefault
        : o->level == 1                       ? LLVMCodeGenLevelLess
                                              : LLVMCodeGenLevelNone;
    return LLVMCreateTargetMachine(target, triple, l->cpu, "", level, LLVMRelocPIC,
                                   LLVMCodeModelDefault);
}
