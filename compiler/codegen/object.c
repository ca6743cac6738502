/*
** A model as an LLVM module: the kernel library, the row kernels, the tables;
** internalised, renamed, optimised and written.  A program's row kernels are shared out
** over two modules, which two threads make objects of at once; the second has nothing
** else that anybody calls.
*/
#include "tables.h"
#include "blobs.h"
#include "emit.h"
#include "exports.h"
#include "instrument.h"
#include "lines.h"
#include "target.h"
#include "fatal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>

/* == The kernel library in the module ===================================== */

static LLVMModuleRef read_library(LLVMContextRef ctx, int library) {
    size_t size;
    const char *data = blob_kernels(library, &size);
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(data, size, "kernels", 0);
    LLVMModuleRef mod;
    if (LLVMParseBitcodeInContext2(ctx, buffer, &mod))
        bug(NULL, "the kernel library does not fit this LLVM");
    LLVMDisposeMemoryBuffer(buffer);
    return mod;
}

static void set_text(LLVMContextRef ctx, V fn, const char *key, const char *value) {
    LLVMAddAttributeAtIndex(
        fn, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(ctx, key, (unsigned)strlen(key), value, (unsigned)strlen(value)));
}

/* Functions marked "no AVX" find out what the processor is: they stay plain. */
static bool is_plain(V fn) {
    LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                                                       "target-features", 15);
    unsigned n = 0;
    const char *s = a ? LLVMGetStringAttributeValue(a, &n) : "";
    return n && memmem(s, n, "-avx,", 5);
}

static void retarget(LLVMContextRef ctx, V fn, const Level *l) {
    bool plain = is_plain(fn);
    static const char *const keys[] = { "target-features", "tune-cpu", "target-cpu",
                                        "min-legal-vector-width" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        LLVMRemoveStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex, keys[i],
                                         (unsigned)strlen(keys[i]));
    set_text(ctx, fn, "target-cpu", plain ? "x86-64" : l->cpu);
    if (*l->features && !plain) set_text(ctx, fn, "target-features", l->features);
    set_text(ctx, fn, "prefer-vector-width", l->lanes == 16 ? "512" : "256");
    LLVMAddAttributeAtIndex(
        fn, LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(ctx, LLVMGetEnumAttributeKindForName("nounwind", 8), 0));
}

/* A program exports main alone: whatever its model is called, no function of that has the name of
** one of libstrata or of the C library. Without 'main' that goes too. */
static void settle_symbols(Emit *e, const CodegenOptions *o, const Level *l, bool side) {
    V used[] = { LLVMGetNamedGlobal(e->mod, "llvm.used"),
                 LLVMGetNamedGlobal(e->mod, "llvm.compiler.used") };
    for (int i = 0; i < 2; i++)
        if (used[i]) LLVMDeleteGlobal(used[i]);
    V main = LLVMGetNamedFunction(e->mod, "main");
    if ((!o->main || side) && main) LLVMDeleteFunction(main);
    for (V f = LLVMGetFirstFunction(e->mod); f; f = LLVMGetNextFunction(f)) {
        size_t n;
        const char *name = LLVMGetValueName2(f, &n);
        if (LLVMIsDeclaration(f)) continue;
        retarget(e->ctx, f, l);
        if (o->main ? strcmp(name, "main") != 0 : !is_export(name)) {
            LLVMSetVisibility(f, LLVMDefaultVisibility);
            LLVMSetLinkage(f, LLVMInternalLinkage);
        }
    }
    for (V g = LLVMGetFirstGlobal(e->mod); g; g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g))
            LLVMSetVisibility(g, LLVMDefaultVisibility), LLVMSetLinkage(g, LLVMInternalLinkage);
    if (!o->main) name_exports(e->mod, o->prefix);
}

/* == Tables =============================================================== */

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

static void define_tables(Emit *e, const TableBytes *b, const void *model, size_t size) {
    const struct {
        const char *name;
        const List *list;
        size_t size;
    } table[] = {
        { "k_stages", &b->stage, sizeof(Stage) },
        { "k_actions", &b->action, sizeof(Action) },
        { "k_refs", &b->ref, sizeof(Ref) },
        { "k_waves", &b->wave, sizeof(Wave) },
        { "k_caches", &b->cache, sizeof(Cache) },
        { "k_frequencies", &b->frequency, sizeof(double) },
        { "k_probe_results", &b->probe_result, sizeof(ProbeResult) },
        { "k_spans", &b->span, sizeof(Span) },
        { "k_repacked", &b->repacked, sizeof(Repacked) },
        { "k_regions", &b->region, sizeof(CheckRegion) },
        { "k_reaches", &b->reach, sizeof(Reach) },
    };
    define_bytes(e, "k_constants", &b->constants, sizeof b->constants);
    define_bytes(e, "k_programs", b->program, sizeof b->program);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        define_bytes(e, table[i].name, table[i].list->data,
                     (size_t)table[i].list->n * table[i].size);
    define_bytes(e, "k_model", model, size);
}

/* A kernel of the other module, or one that it calls. */
static V share(V kernel) {
    LLVMSetLinkage(kernel, LLVMExternalLinkage);
    LLVMSetVisibility(kernel, LLVMHiddenVisibility);
    return kernel;
}

static V find_kernel(Emit *e, const char *name) {
    V kernel = LLVMGetNamedFunction(e->mod, name);
    LLVMTypeRef args[] = { e->ptr, e->i64, e->i64, e->ptr };
    return kernel ? kernel
                  : share(LLVMAddFunction(e->mod, name, LLVMFunctionType(e->void_, args, 4, 0)));
}

/* k_row: from a kernel's number to the kernel. */
static void define_dispatch(Emit *e, const Tables *t) {
    V fn = LLVMGetNamedFunction(e->mod, "k_row"), args[4];
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(e->ctx, fn, "entry");
    LLVMBasicBlockRef other = LLVMAppendBasicBlockInContext(e->ctx, fn, "");
    LLVMPositionBuilderAtEnd(e->b, other);
    LLVMBuildRetVoid(e->b);
    LLVMPositionBuilderAtEnd(e->b, entry);
    V which = LLVMBuildSwitch(e->b, LLVMGetParam(fn, 0), other, (unsigned)t->sink.row.n);
    for (int i = 0; i < 4; i++)
        args[i] = LLVMGetParam(fn, (unsigned)i + 1);
    for (int i = 0; i < t->sink.row.n; i++) {
        V kernel = find_kernel(e, LIST(t->sink.row, RowKernel *, i)->name);
        LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(e->ctx, fn, "");
        LLVMAddCase(which, LLVMConstInt(e->i32, (unsigned long long)i, 0), block);
        LLVMPositionBuilderAtEnd(e->b, block);
        LLVMBuildCall2(e->b, LLVMGlobalGetValueType(kernel), kernel, args, 4, "");
        LLVMBuildRetVoid(e->b);
    }
}

/* == All of it ============================================================ */

static void open_emit(Emit *e, const Level *l, LLVMTargetMachineRef tm) {
    *e = (Emit){
        .ctx = LLVMContextCreate(), .lanes = l->lanes, .fma = l->fma, .narrows = l->narrows
    };
    e->mod = read_library(e->ctx, l->library);
    e->b = LLVMCreateBuilderInContext(e->ctx);
    e->f32 = LLVMFloatTypeInContext(e->ctx), e->f64 = LLVMDoubleTypeInContext(e->ctx);
    e->i64 = LLVMInt64TypeInContext(e->ctx), e->i32 = LLVMInt32TypeInContext(e->ctx);
    e->i8 = LLVMInt8TypeInContext(e->ctx), e->i1 = LLVMInt1TypeInContext(e->ctx);
    e->ptr = LLVMPointerTypeInContext(e->ctx, 0), e->void_ = LLVMVoidTypeInContext(e->ctx);
    char *triple = checked(LLVMGetTargetMachineTriple(tm));
    LLVMTargetDataRef data = LLVMCreateTargetDataLayout(tm);
    LLVMSetTarget(e->mod, triple);
    LLVMSetModuleDataLayout(e->mod, data);
    LLVMDisposeTargetData(data);
    LLVMDisposeMessage(triple);
}

static void verify_module(Emit *e) {
    char *why = NULL;
    if (LLVMVerifyModule(e->mod, LLVMReturnStatusAction, &why))
        bug(NULL, "the generated module is wrong: %s", why);
    LLVMDisposeMessage(why);
}

/* Row kernels are explicit vector code, the library is optimised already: what
** is left is inlining, scalar clean-up and moving invariants out of loops. */
static void optimise(Emit *e, LLVMTargetMachineRef tm, int level) {
    const char *passes = level == 0 ? "globaldce"
                                    : "globaldce,cgscc(inline),globaldce,function(sroa,early-cse<"
                                      "memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
                                      "loop-mssa(licm),early-cse,dce),globaldce";
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(e->mod, passes, tm, options);
    LLVMDisposePassBuilderOptions(options);
    if (error) bug(NULL, "LLVM refused the passes: %s", LLVMGetErrorMessage(error));
}

/* The library takes about as long to compile as so many instructions of row kernels. */
enum { LIBRARY = 50000 };

/* A module on its way to an object. */
typedef struct Module {
    Emit e;
    const Level *level;
    LLVMTargetMachineRef tm;
    const CodegenOptions *o;
    bool side;
    const Tables *t;
    void *data;
    size_t size;
    Error error;
} Module;

static void copy_out(Module *m, const char *data, size_t size) {
    m->data = checked_new(size + 1, 1);
    memcpy(m->data, data, size);
    m->size = size;
}

static void write_code(Module *m) {
    if (m->o->emit == EMIT_IR) {
        char *text = checked(LLVMPrintModuleToString(m->e.mod));
        copy_out(m, text, strlen(text));
        LLVMDisposeMessage(text);
        return;
    }
    LLVMMemoryBufferRef buffer;
    char *why = NULL;
    LLVMCodeGenFileType kind = m->o->emit == EMIT_ASM ? LLVMAssemblyFile : LLVMObjectFile;
    if (LLVMTargetMachineEmitToMemoryBuffer(m->tm, m->e.mod, kind, &why, &buffer)) {
        error_set(&m->error, STATUS_INTERNAL, "internal: LLVM cannot write the object: %.200s",
                  why);
        return;
    }
    checked(buffer); /* NULL, and no error, where there is no memory for the copy */
    copy_out(m, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
}

static bool open_module(Module *m, const Level *l, const CodegenOptions *o, const ModelInfo *info,
                        Error *e) {
    *m = (Module){ .level = l, .o = o, .tm = target_open(l, o, e) };
    if (!m->tm) return false;
    open_emit(&m->e, l, m->tm);
    m->e.check = o->passes.check;
    m->e.lines = lines_open(&m->e, info->file);
    return true;
}

static void *finish_module(void *module) {
    Module *m = module;
    settle_symbols(&m->e, m->o, m->level, m->side);
    for (int i = 0; m->side && i < m->t->sink.row.n; i++) {
        V kernel = LLVMGetNamedFunction(m->e.mod, LIST(m->t->sink.row, RowKernel *, i)->name);
        if (kernel) share(kernel);
    }
    if (m->o->watch) instrument_inline(&m->e);
    verify_module(&m->e);
    optimise(&m->e, m->tm, m->o->level);
    if (m->o->watch) instrument(&m->e, m->o->prefix), verify_module(&m->e);
    write_code(m);
    LLVMDisposeBuilder(m->e.b);
    LLVMDisposeModule(m->e.mod);
    LLVMContextDispose(m->e.ctx);
    LLVMDisposeTargetMachine(m->tm);
    return NULL;
}

/* Both at once where there is a thread to be had. */
static void finish_both(Module *m, Module *side) {
    StepNote *step = m->o->passes.step;
    step_note(step, step ? step->operations : 0, "machine code");
    pthread_t thread;
    bool apart = side->tm && !pthread_create(&thread, NULL, finish_module, side);
    finish_module(m);
    if (apart) pthread_join(thread, NULL);
    else if (side->tm) finish_module(side);
}

static void keep_kernels(CompiledModel *out, const Tables *t) {
    out->kernel = checked_new((size_t)t->costs.kernel.n + 1, sizeof *out->kernel);
    for (int i = 0; i < t->costs.kernel.n; i++) {
        out->kernel[i] = LIST(t->costs.kernel, KernelInfo, i);
        out->kernel[i].name = checked_text(out->kernel[i].name);
        out->nkernel++;
    }
}

int codegen_plan(const Graph *g, const ModelInfo *info, const CodegenOptions *o, Planned *out,
                 Error *e) {
    *out = (Planned){ 0 };
    const Level *l = target_level(o->cpu ? o->cpu : "native", o->passes.bf16, e);
    if (!l) return STATUS_USER;
    Tables t = { .info = info,
                 .costs.planned = out,
                 .lanes = l->lanes,
                 .pairs = l->pairs,
                 .cache_bytes = l->cache_bytes };
    out->lanes = l->lanes;
    snprintf(out->code.cpu, sizeof out->code.cpu, "%s", l->name);
    ModelPlans plans = plans_make(g, info->probe ? info->probe->graph : NULL, &o->passes);
    step_note(o->passes.step, g->n, "listing kernels");
    tables_build(&t, g, &plans, o);
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

int codegen_compile(const Graph *g, const ModelInfo *info, const CodegenOptions *o,
                    CompiledModel *out, Error *e) {
    *out = (CompiledModel){ 0 };
    const Level *l = target_level(o->cpu ? o->cpu : "native", o->passes.bf16, e);
    /* both share something in one module */
    bool split = o->emit == EMIT_EXE && !o->passes.check && !o->watch;
    Module m = { 0 }, side = { 0 };
    if (!l) return STATUS_USER;
    target_options();
    if (!open_module(&m, l, o, info, e)) return STATUS_USER;
    if (split && !open_module(&side, l, o, info, e)) return STATUS_USER;
    Tables t = { .info = info,
                 .sink = { .emitted = { LIBRARY }, .emit = { &m.e, split ? &side.e : NULL } },
                 .lanes = l->lanes,
                 .pairs = l->pairs,
                 .cache_bytes = l->cache_bytes };
    m.t = side.t = &t;
    side.side = true;
    t.bytes.constants.cpu[0] = l->bits;
    snprintf(out->cpu, sizeof out->cpu, "%s", l->name);
    ModelPlans plans = plans_make(g, info->probe ? info->probe->graph : NULL, &o->passes);
    step_note(o->passes.step, g->n, "code generation");
    tables_build(&t, g, &plans, o);
    size_t bytes;
    void *model = tables_descriptor(&t, o, out, g, &bytes);
    memcpy(&out->model, model, sizeof out->model);
    keep_kernels(out, &t);
    lines_close(m.e.lines);
    if (split) lines_close(side.e.lines);
    define_dispatch(&m.e, &t);
    define_tables(&m.e, &t.bytes, model, bytes);
    finish_both(&m, &side);
    free(model);
    tables_free(&t);
    out->data = m.data, out->size = m.size;
    out->side = side.data, out->side_size = side.size;
    const Error *failed = m.error.status ? &m.error : &side.error;
    if (failed->status) *e = *failed;
    return failed->status;
}

void codegen_free(CompiledModel *c) {
    for (int i = 0; i < c->nkernel; i++)
        free((char *)c->kernel[i].name);
    free(c->kernel);
    free(c->data);
    free(c->side);
}
