/*
** One LLVM module a model: the kernel library, the row kernels, the tables;
** internalised, renamed, optimised and written.
*/
#include "tables.h"
#include "blobs.h"
#include "emit.h"
#include "lines.h"

#include <stdlib.h>
#include <string.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

/* == The target ============================================================= */

/* Code is generated for one of the x86-64 levels, found by features, never by
** a processor's name: a name can be wrong where the features are right. */
typedef struct Level { const char *cpu; int lanes; bool fma; uint64_t bits; } Level;

static const Level levels[] = {
    { "x86-64-v2", 4, false, 1 },
    { "x86-64-v3", 8, true, 15 },
    { "x86-64-v4", 16, true, 63 },
};

/* Names of processors a user may give, by level. */
static const struct { const char *name; int level; } known[] = {
    { "x86-64-v2", 0 }, { "x86-64-v3", 1 }, { "x86-64-v4", 2 }, { "nehalem", 0 }, { "sandybridge", 0 },
    { "ivybridge", 0 }, { "haswell", 1 }, { "broadwell", 1 }, { "skylake", 1 }, { "alderlake", 1 },
    { "znver1", 1 }, { "znver2", 1 }, { "znver3", 1 }, { "skylake-avx512", 2 }, { "cascadelake", 2 },
    { "cooperlake", 2 }, { "icelake-server", 2 }, { "sapphirerapids", 2 }, { "graniterapids", 2 },
    { "znver4", 2 }, { "znver5", 2 },
};

static bool has(const char *features, const char *name) {
    size_t n = strlen(name);
    for (const char *p = features; (p = strstr(p, name)); p += n)
        if ((p == features || p[-1] == ',') && (p[n] == ',' || !p[n])) return true;
    return false;
}

static const Level *host_level(void) {
    char *f = LLVMGetHostCPUFeatures();
    bool v3 = has(f, "+avx2") && has(f, "+fma") && has(f, "+bmi2") && has(f, "+f16c") && has(f, "+lzcnt") && has(f, "+movbe");
    bool v4 = v3 && has(f, "+avx512f") && has(f, "+avx512bw") && has(f, "+avx512dq") && has(f, "+avx512vl") && has(f, "+avx512cd");
    bool v2 = has(f, "+sse4.2") && has(f, "+popcnt");
    LLVMDisposeMessage(f);
    return v4 ? &levels[2] : v3 ? &levels[1] : v2 ? &levels[0] : NULL;
}

static const Level *find_level(const char *cpu, char *error, size_t size) {
    if (!strcmp(cpu, "native")) {
        const Level *l = host_level();
        if (!l) snprintf(error, size, "error: --cpu native: expected a processor with at least SSE4.2, found an older one");
        return l;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, cpu)) return &levels[known[i].level];
    snprintf(error, size, "error: --cpu: expected native, x86-64-v2, x86-64-v3, x86-64-v4 or a processor's name such as haswell, found %.80s", cpu);
    return NULL;
}

const char *codegen_native(void) {
    char error[256];
    const Level *l = find_level("native", error, sizeof error);
    return l ? l->cpu : NULL;
}

void codegen_llvm(char *out, size_t size) {
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(out, size, "%u.%u.%u", major, minor, patch);
}

/* Loop strength reduction is quadratic in the rows a kernel reads and gains
** nothing there: x86 adds base and index for free. */
static void set_options(void) {
    static const char *const options[] = { "strata", "-disable-lsr" };
    LLVMParseCommandLineOptions(2, options, NULL);
}

static LLVMTargetMachineRef open_target(const Level *l, const CodegenOptions *o, char *error, size_t size) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    const char *triple = o->triple ? o->triple : "x86_64-unknown-linux-gnu";
    LLVMTargetRef target;
    char *why = NULL;
    if (strncmp(triple, "x86_64-", 7) || LLVMGetTargetFromTriple(triple, &target, &why)) {
        snprintf(error, size, "error: --target: expected x86_64-unknown-linux-gnu or another x86_64 triple, found %.80s", triple);
        LLVMDisposeMessage(why);
        return NULL;
    }
    LLVMCodeGenOptLevel level = o->level >= 3 ? LLVMCodeGenLevelAggressive : o->level == 2 ? LLVMCodeGenLevelDefault
        : o->level == 1 ? LLVMCodeGenLevelLess : LLVMCodeGenLevelNone;
    return LLVMCreateTargetMachine(target, triple, l->cpu, "", level, LLVMRelocPIC, LLVMCodeModelDefault);
}

/* == The kernel library in the module ======================================= */

static LLVMModuleRef read_library(LLVMContextRef ctx, int lanes) {
    size_t size;
    const char *data = blob_kernels(lanes, &size);
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(data, size, "kernels", 0);
    LLVMModuleRef mod;
    if (LLVMParseBitcodeInContext2(ctx, buffer, &mod)) {
        fprintf(stderr, "error: internal: the kernel library does not fit this LLVM; please report it\n");
        exit(5);
    }
    LLVMDisposeMemoryBuffer(buffer);
    return mod;
}

static void set_text(LLVMContextRef ctx, V fn, const char *key, const char *value) {
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, LLVMCreateStringAttribute(ctx, key, (unsigned)strlen(key), value, (unsigned)strlen(value)));
}

/* Functions marked "no AVX" find out what the processor is: they stay plain. */
static bool is_plain(V fn) {
    LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex, "target-features", 15);
    unsigned n = 0;
    const char *s = a ? LLVMGetStringAttributeValue(a, &n) : "";
    return n && memmem(s, n, "-avx,", 5);
}

static void retarget(LLVMContextRef ctx, V fn, const Level *l) {
    bool plain = is_plain(fn);
    static const char *const keys[] = { "target-features", "tune-cpu", "target-cpu", "min-legal-vector-width" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        LLVMRemoveStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex, keys[i], (unsigned)strlen(keys[i]));
    set_text(ctx, fn, "target-cpu", plain ? "x86-64" : l->cpu);
    set_text(ctx, fn, "prefer-vector-width", l->lanes == 16 ? "512" : "256");
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(ctx, LLVMGetEnumAttributeKindForName("nounwind", 8), 0));
}

static bool is_export(const char *name) {
    return !strncmp(name, "model_", 6) && strcmp(name, "model_prepare");
}

/* Exports are renamed, the rest is hidden; without 'main' that goes too. */
static void settle_symbols(Emit *e, const CodegenOptions *o, const Level *l) {
    V used[] = { LLVMGetNamedGlobal(e->mod, "llvm.used"), LLVMGetNamedGlobal(e->mod, "llvm.compiler.used") };
    for (int i = 0; i < 2; i++)
        if (used[i]) LLVMDeleteGlobal(used[i]);
    V main = LLVMGetNamedFunction(e->mod, "main");
    if (!o->main && main) LLVMDeleteFunction(main);
    for (V f = LLVMGetFirstFunction(e->mod); f; f = LLVMGetNextFunction(f)) {
        size_t n;
        const char *name = LLVMGetValueName2(f, &n);
        if (LLVMIsDeclaration(f)) continue;
        retarget(e->ctx, f, l);
        if (is_export(name)) {
            char full[192];
            const char *rest = name + 6;
            snprintf(full, sizeof full, "%s_%s", o->prefix, rest);
            LLVMSetValueName2(f, full, strlen(full));
        } else if (strcmp(name, "main")) {
            LLVMSetVisibility(f, LLVMDefaultVisibility);
            LLVMSetLinkage(f, LLVMInternalLinkage);
        }
    }
    for (V g = LLVMGetFirstGlobal(e->mod); g; g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g)) LLVMSetVisibility(g, LLVMDefaultVisibility), LLVMSetLinkage(g, LLVMInternalLinkage);
}

/* == Tables ================================================================= */

/* Gives a table its bytes in place of the library's declaration. */
static void define_bytes(Emit *e, const char *name, const void *data, size_t size) {
    static const char nothing[64];
    V init = LLVMConstStringInContext(e->ctx, size ? data : nothing, size ? (unsigned)size : 64, 1);
    V old = LLVMGetNamedGlobal(e->mod, name);
    V g = LLVMAddGlobal(e->mod, LLVMTypeOf(init), "");
    LLVMSetInitializer(g, init);
    LLVMSetGlobalConstant(g, 1);
    LLVMSetAlignment(g, 64);
    if (old) {
        LLVMReplaceAllUsesWith(old, g);
        LLVMDeleteGlobal(old);
    }
    LLVMSetValueName2(g, name, strlen(name));
}

static void define_tables(Emit *e, const Tables *t, const void *model, size_t size) {
    define_bytes(e, "k_constants", &t->constants, sizeof t->constants);
    define_bytes(e, "k_programs", t->program, sizeof t->program);
    define_bytes(e, "k_stages", t->stage.data, (size_t)t->stage.n * sizeof(Stage));
    define_bytes(e, "k_actions", t->action.data, (size_t)t->action.n * sizeof(Action));
    define_bytes(e, "k_refs", t->ref.data, (size_t)t->ref.n * sizeof(Ref));
    define_bytes(e, "k_waves", t->wave.data, (size_t)t->wave.n * sizeof(Wave));
    define_bytes(e, "k_caches", t->cache.data, (size_t)t->cache.n * sizeof(Cache));
    define_bytes(e, "k_frequencies", t->frequency.data, (size_t)t->frequency.n * sizeof(double));
    define_bytes(e, "k_probe_results", t->probe_result.data, (size_t)t->probe_result.n * sizeof(ProbeResult));
    define_bytes(e, "k_regions", t->region.data, (size_t)t->region.n * sizeof(Region));
    define_bytes(e, "k_reaches", t->reach.data, (size_t)t->reach.n * sizeof(Reach));
    define_bytes(e, "k_model", model, size);
}

/* k_row: from a kernel's number to the kernel. */
static void define_dispatch(Emit *e, const Tables *t) {
    V fn = LLVMGetNamedFunction(e->mod, "k_row"), args[4];
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(e->ctx, fn, "entry");
    LLVMBasicBlockRef other = LLVMAppendBasicBlockInContext(e->ctx, fn, "");
    LLVMPositionBuilderAtEnd(e->b, other);
    LLVMBuildRetVoid(e->b);
    LLVMPositionBuilderAtEnd(e->b, entry);
    V which = LLVMBuildSwitch(e->b, LLVMGetParam(fn, 0), other, (unsigned)t->row.n);
    for (int i = 0; i < 4; i++) args[i] = LLVMGetParam(fn, (unsigned)i + 1);
    for (int i = 0; i < t->row.n; i++) {
        V kernel = LLVMGetNamedFunction(e->mod, LIST(t->row, RowKernel, i).name);
        LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(e->ctx, fn, "");
        LLVMAddCase(which, LLVMConstInt(e->i32, (unsigned long long)i, 0), block);
        LLVMPositionBuilderAtEnd(e->b, block);
        LLVMBuildCall2(e->b, LLVMGlobalGetValueType(kernel), kernel, args, 4, "");
        LLVMBuildRetVoid(e->b);
    }
}

/* == All of it ============================================================== */

static void open_emit(Emit *e, const Level *l, LLVMTargetMachineRef tm) {
    *e = (Emit){ .ctx = LLVMContextCreate(), .lanes = l->lanes, .fma = l->fma };
    e->mod = read_library(e->ctx, l->lanes);
    e->b = LLVMCreateBuilderInContext(e->ctx);
    e->f32 = LLVMFloatTypeInContext(e->ctx), e->f64 = LLVMDoubleTypeInContext(e->ctx);
    e->i64 = LLVMInt64TypeInContext(e->ctx), e->i32 = LLVMInt32TypeInContext(e->ctx);
    e->i8 = LLVMInt8TypeInContext(e->ctx), e->i1 = LLVMInt1TypeInContext(e->ctx);
    e->ptr = LLVMPointerTypeInContext(e->ctx, 0), e->void_ = LLVMVoidTypeInContext(e->ctx);
    char *triple = LLVMGetTargetMachineTriple(tm);
    LLVMTargetDataRef data = LLVMCreateTargetDataLayout(tm);
    LLVMSetTarget(e->mod, triple);
    LLVMSetModuleDataLayout(e->mod, data);
    LLVMDisposeTargetData(data);
    LLVMDisposeMessage(triple);
}

static void verify_module(Emit *e) {
    char *why = NULL;
    if (LLVMVerifyModule(e->mod, LLVMReturnStatusAction, &why)) {
        fprintf(stderr, "error: internal: the generated module is wrong; please report it: %.2000s\n", why);
        exit(5);
    }
    LLVMDisposeMessage(why);
}

/* Row kernels are explicit vector code, the library is optimised already: what
** is left is inlining, scalar clean-up and moving invariants out of loops. */
static void optimise(Emit *e, LLVMTargetMachineRef tm, int level) {
    const char *passes = level == 0 ? "globaldce"
        : "globaldce,cgscc(inline),globaldce,function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
          "loop-mssa(licm),early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,dce),globaldce";
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(e->mod, passes, tm, options);
    LLVMDisposePassBuilderOptions(options);
    if (!error) return;
    fprintf(stderr, "error: internal: LLVM refused the passes: %s\n", LLVMGetErrorMessage(error));
    exit(5);
}

static void copy_out(Code *out, const char *data, size_t size) {
    out->data = malloc(size + 1);
    if (!out->data) {
        fprintf(stderr, "error: memory: expected room for the object, found none\n");
        exit(3);
    }
    memcpy(out->data, data, size);
    out->size = size;
}

static int write_code(Emit *e, LLVMTargetMachineRef tm, const CodegenOptions *o, Code *out, char *error, size_t size) {
    if (o->emit == EMIT_IR) {
        char *text = LLVMPrintModuleToString(e->mod);
        copy_out(out, text, strlen(text));
        LLVMDisposeMessage(text);
        return 0;
    }
    LLVMMemoryBufferRef buffer;
    char *why = NULL;
    LLVMCodeGenFileType kind = o->emit == EMIT_ASM ? LLVMAssemblyFile : LLVMObjectFile;
    if (LLVMTargetMachineEmitToMemoryBuffer(tm, e->mod, kind, &why, &buffer)) {
        snprintf(error, size, "error: internal: LLVM cannot write the object: %.200s", why);
        return 5;
    }
    copy_out(out, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return 0;
}

static void keep_kernels(Code *out, const Tables *t) {
    out->kernel = calloc((size_t)t->kernel.n + 1, sizeof *out->kernel);
    for (int i = 0; out->kernel && i < t->kernel.n; i++) {
        out->kernel[i] = LIST(t->kernel, KernelInfo, i);
        out->kernel[i].name = strdup(out->kernel[i].name);
        out->nkernel++;
    }
}

int codegen_plan(const Graph *g, const ModelInfo *info, const CodegenOptions *o, Planned *out, char *error, size_t size) {
    *out = (Planned){ 0 };
    const Level *l = find_level(o->cpu ? o->cpu : "native", error, size);
    if (!l) return 1;
    Tables t = { .info = info, .planned = out, .lanes = l->lanes };
    out->lanes = l->lanes;
    snprintf(out->code.cpu, sizeof out->code.cpu, "%s", l->cpu);
    tables_build(&t, g, o);
    size_t bytes;
    void *model = tables_descriptor(&t, o, &out->code, g, &bytes);
    memcpy(&out->code.model, model, sizeof out->code.model);
    keep_kernels(&out->code, &t);
    free(model);
    tables_free(&t);
    return 0;
}

void codegen_plan_free(Planned *p) {
    for (int i = 0; i < PLANS; i++)
        if (p->plan[i]) graph_free(p->plan[i]->g);
    codegen_free(&p->code);
}

int codegen_compile(const Graph *g, const ModelInfo *info, const CodegenOptions *o, Code *out, char *error, size_t size) {
    *out = (Code){ 0 };
    const Level *l = find_level(o->cpu ? o->cpu : "native", error, size);
    LLVMTargetMachineRef tm = l ? open_target(l, o, error, size) : NULL;
    if (!tm) return 1;
    set_options();
    Emit e;
    open_emit(&e, l, tm);
    e.check = o->check;
    e.lines = lines_open(&e, info->file);
    Tables t = { .info = info, .emit = &e, .lanes = l->lanes };
    t.constants.cpu[0] = l->bits;
    snprintf(out->cpu, sizeof out->cpu, "%s", l->cpu);
    tables_build(&t, g, o);
    size_t bytes;
    void *model = tables_descriptor(&t, o, out, g, &bytes);
    memcpy(&out->model, model, sizeof out->model);
    keep_kernels(out, &t);
    lines_close(e.lines);
    define_dispatch(&e, &t);
    define_tables(&e, &t, model, bytes);
    settle_symbols(&e, o, l);
    verify_module(&e);
    optimise(&e, tm, o->level);
    int status = write_code(&e, tm, o, out, error, size);
    free(model);
    tables_free(&t);
    LLVMDisposeBuilder(e.b);
    LLVMDisposeModule(e.mod);
    LLVMContextDispose(e.ctx);
    LLVMDisposeTargetMachine(tm);
    return status;
}

void codegen_free(Code *c) {
    for (int i = 0; i < c->nkernel; i++) free((char *)c->kernel[i].name);
    free(c->kernel);
    free(c->data);
}
