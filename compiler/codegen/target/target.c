/* SPDX-License-Identifier: MIT
** The processor code is generated for: one of the x86-64 levels, found by features,
** never by a processor's name, which can be wrong where the features are right.
*/
#include "target.h"
#include "fatal.h"
#include "levels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <llvm-c/Core.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>

static const Level levels[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) \
    { name,                                                         \
      cpu,                                                          \
      more,                                                         \
      LEVEL_##library,                                              \
      lanes,                                                        \
      (NEEDS_##library & FEATURE_FMA) != 0,                         \
      NEEDS_##library,                                              \
      (NEEDS_##library & FEATURE_BF16) != 0,                        \
      (NEEDS_##library & FEATURE_BF16) != 0,                        \
      (NEEDS_##library & FEATURE_AMX) != 0,                         \
      (NEEDS_##library & (FEATURE_BF16 | FEATURE_AVXVNNI)) != 0     \
          && !(NEEDS_##library & FEATURE_AMX),                      \
      cache },
#include "levels.def"
};

/* Names of processors a user may give, by level, and by level for bfloat16 and small weights. */
static const struct {
    const char *name;
    int level, special;
} known[] = {
#define PROCESSOR(name, level, special) { name, LEVEL_##level, LEVEL_##special },
#include "levels.def"
};

static bool has(const char *features, const char *name) {
    size_t n = strlen(name);
    for (const char *p = features; (p = strstr(p, name)); p += n)
        if ((p == features || p[-1] == ',') && (p[n] == ',' || !p[n])) return true;
    return false;
}

/* The system, too, must let processes have tiles: ARCH_REQ_XCOMP_PERM of XFEATURE_XTILEDATA. */
static bool tiles_allowed(void) {
#if defined(__linux__) && defined(__x86_64__)
    return !syscall(SYS_arch_prctl, 0x1023, 18);
#else
    return false;
#endif
}

/* All of a list of names, as LLVM tells what the host has. */
static bool has_all(const char *features, const char *names) {
    char name[32];
    for (const char *p = names; *p; p += *p == ',') {
        size_t n = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        if (!has(features, name)) return false;
        p += n;
    }
    return true;
}

static uint64_t host_features(void) {
    char *f = checked(LLVMGetHostCPUFeatures());
    uint64_t found = 0;
#define FEATURE(name, text, llvm, test) \
    if (has_all(f, llvm)) found |= FEATURE_##name;
#include "levels.def"
    LLVMDisposeMessage(f);
    if (found & FEATURE_AMX && !tiles_allowed()) found &= ~(uint64_t)FEATURE_AMX;
    return found;
}

/* The best one that the host has everything for. */
static const Level *host_level(bool special) {
    uint64_t found = host_features();
    for (int i = LEVELS - 1; i >= 0; i--)
        if ((special || !levels[i].special) && !(levels[i].bits & ~found)) return &levels[i];
    return NULL;
}

/* A level by its own name; where nothing gains by a special one, the one below. */
static const Level *named_level(const char *cpu, bool special) {
    for (int i = 0; i < LEVELS; i++) {
        if (strcmp(levels[i].name, cpu)) continue;
        while (!special && levels[i].special)
            i--;
        return &levels[i];
    }
    return NULL;
}

/* "native, LEVEL, .. or a processor's name", special levels left out. */
static void unknown_cpu(const char *cpu, Error *e) {
    char known_levels[256] = "native";
    size_t n = strlen(known_levels), size = sizeof known_levels;
    for (int i = 0; i < LEVELS; i++)
        if (!levels[i].special && n < size)
            n += (size_t)snprintf(known_levels + n, size - n, ", %s", levels[i].name);
    error_set(e, STATUS_USER,
              "--cpu: expected %s or a processor's name such as haswell, found %.80s", known_levels,
              cpu);
}

const Level *target_level(const char *cpu, bool special, Error *e) {
    if (!strcmp(cpu, "native")) {
        const Level *l = host_level(special);
        if (!l)
            error_set(
                e, STATUS_USER,
                "--cpu native: expected a processor with at least SSE4.2, found an older one");
        return l;
    }
    const Level *named = named_level(cpu, special);
    if (named) return named;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, cpu))
            return &levels[special ? known[i].special : known[i].level];
    unknown_cpu(cpu, e);
    return NULL;
}

const Level *target_of_library(int library) {
    int i = 0;
    while (levels[i].library != library)
        i++;
    return &levels[i];
}

const char *codegen_native(void) {
    const Level *l = target_level("native", false, NULL);
    return l ? l->name : NULL;
}

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

/* Loop strength reduction is quadratic in the rows a kernel reads and gains
** nothing there: x86 adds base and index for free.  The newer way to follow variables for
** debuggers takes a tenth of the time, and row kernels have none. */
void target_options(void) {
    static const char *const options[] = { "strata", "-disable-lsr",
                                           "-experimental-debug-variable-locations=false" };
    LLVMParseCommandLineOptions(3, options, NULL);
}

LLVMTargetMachineRef target_open(const Level *l, const CodegenOptions *o, Error *e) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    const char *triple = o->triple ? o->triple : "x86_64-unknown-linux-gnu";
    LLVMTargetRef target;
    char *why = NULL;
    if (strncmp(triple, "x86_64-", 7) || LLVMGetTargetFromTriple(triple, &target, &why)) {
        error_set(e, STATUS_USER,
                  "--target: expected x86_64-unknown-linux-gnu or another x86_64 triple, "
                  "found %.80s",
                  triple);
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
