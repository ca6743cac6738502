/*
** The processor code is generated for: one of the x86-64 levels, found by features,
** never by a processor's name, which can be wrong where the features are right.
*/
#include "target.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <llvm-c/Core.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>

static const Level levels[] = {
    { "x86-64-v2", "x86-64-v2", "", 0, 4, false, 1, false, false, 256 << 10 },
    { "x86-64-v3", "x86-64-v3", "", 1, 8, true, 15, false, false, 512 << 10 },
    { "x86-64-v4", "x86-64-v4", "", 2, 16, true, 63, false, false, 1 << 20 },
    { "x86-64-v4+avx512bf16", "x86-64-v4", "+avx512bf16", 3, 16, true, 127, true, true, 1 << 20 },
    { "x86-64-v4+amx-bf16", "x86-64-v4", "+amx-tile,+amx-bf16,+avx512bf16", 4, 16, true, 255, true,
      true, 2 << 20 },
};

/* Names of processors a user may give, by level, and by level for bfloat16. */
static const struct {
    const char *name;
    int level, bf16;
} known[] = {
    { "x86-64-v2", 0, 0 },
    { "x86-64-v3", 1, 1 },
    { "x86-64-v4", 2, 2 },
    { "x86-64-v4+avx512bf16", 2, 3 },
    { "x86-64-v4+amx-bf16", 2, 4 },
    { "nehalem", 0, 0 },
    { "sandybridge", 0, 0 },
    { "ivybridge", 0, 0 },
    { "haswell", 1, 1 },
    { "broadwell", 1, 1 },
    { "skylake", 1, 1 },
    { "alderlake", 1, 1 },
    { "znver1", 1, 1 },
    { "znver2", 1, 1 },
    { "znver3", 1, 1 },
    { "skylake-avx512", 2, 2 },
    { "cascadelake", 2, 2 },
    { "cooperlake", 2, 3 },
    { "icelake-server", 2, 2 },
    { "sapphirerapids", 2, 4 },
    { "graniterapids", 2, 4 },
    { "znver4", 2, 3 },
    { "znver5", 2, 3 },
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

static const Level *host_level(bool bf16) {
    char *f = LLVMGetHostCPUFeatures();
    bool v3 = has(f, "+avx2") && has(f, "+fma") && has(f, "+bmi2") && has(f, "+f16c")
        && has(f, "+lzcnt") && has(f, "+movbe");
    bool v4 = v3 && has(f, "+avx512f") && has(f, "+avx512bw") && has(f, "+avx512dq")
        && has(f, "+avx512vl") && has(f, "+avx512cd");
    bool v2 = has(f, "+sse4.2") && has(f, "+popcnt");
    bool tiles = has(f, "+amx-tile") && has(f, "+amx-bf16") && tiles_allowed(),
         pairs = has(f, "+avx512bf16");
    LLVMDisposeMessage(f);
    if (v4 && bf16 && pairs) return &levels[tiles ? 4 : 3];
    return v4 ? &levels[2] : v3 ? &levels[1] : v2 ? &levels[0] : NULL;
}

const Level *target_level(const char *cpu, bool bf16, char *error, size_t size) {
    if (!strcmp(cpu, "native")) {
        const Level *l = host_level(bf16);
        if (!l)
            snprintf(error, size,
                     "error: --cpu native: expected a processor with at least SSE4.2, found an "
                     "older one");
        return l;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, cpu)) return &levels[bf16 ? known[i].bf16 : known[i].level];
    snprintf(error, size,
             "error: --cpu: expected native, x86-64-v2, x86-64-v3, x86-64-v4 or a processor's name "
             "such as haswell, found %.80s",
             cpu);
    return NULL;
}

const char *codegen_native(void) {
    char error[256];
    const Level *l = target_level("native", false, error, sizeof error);
    return l ? l->name : NULL;
}

void codegen_llvm(char *out, size_t size) {
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(out, size, "%u.%u.%u", major, minor, patch);
}

/* Loop strength reduction is quadratic in the rows a kernel reads and gains
** nothing there: x86 adds base and index for free. */
void target_options(void) {
    static const char *const options[] = { "strata", "-disable-lsr" };
    LLVMParseCommandLineOptions(2, options, NULL);
}

LLVMTargetMachineRef target_open(const Level *l, const CodegenOptions *o, char *error,
                                 size_t size) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    const char *triple = o->triple ? o->triple : "x86_64-unknown-linux-gnu";
    LLVMTargetRef target;
    char *why = NULL;
    if (strncmp(triple, "x86_64-", 7) || LLVMGetTargetFromTriple(triple, &target, &why)) {
        snprintf(error, size,
                 "error: --target: expected x86_64-unknown-linux-gnu or another x86_64 triple, "
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
