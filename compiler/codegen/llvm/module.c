/* SPDX-License-Identifier: MIT
** A module: the kernel library and the generated code beside it, and how it becomes an object.
** Names that both sides of a link share begin with "strata.", which no name in a model, the C
** library or a user's program does in C.
*/
#include "module.h"

#include "attributes.h"
#include "blas_calls.h"
#include "blobs.h"
#include "exports.h"
#include "fatal.h"
#include "graph.h"
#include "instrument.h"
#include "lines.h"

#include <stdlib.h>
#include <string.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Transforms/PassBuilder.h>

/* == The kernel library ==================================================== */

static bool module_is_linked(ModulePart part) { return part == PART_OWN || part == PART_KERNEL; }

/* What clang makes of plain.h's mark is a table of functions; here it becomes an attribute, which
** lives as long as the function. */
static const char plain_mark[] = "strata.plain";

static void mark_plain(LLVMModuleRef mod) {
    V table = LLVMGetNamedGlobal(mod, "llvm.global.annotations");
    V rows = table ? LLVMGetInitializer(table) : NULL;
    for (int i = 0, n = rows ? LLVMGetNumOperands(rows) : 0; i < n; i++) {
        V row = LLVMGetOperand(rows, (unsigned)i);
        size_t size;
        const char *text = LLVMGetAsString(LLVMGetInitializer(LLVMGetOperand(row, 1)), &size);
        if (size >= sizeof plain_mark && !strcmp(text, plain_mark))
            attribute_set(LLVMGetOperand(row, 0), plain_mark, "");
    }
    if (table) LLVMDeleteGlobal(table);
}

static bool module_is_plain(V fn) {
    return LLVMGetStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex, plain_mark,
                                         sizeof plain_mark - 1);
}

static LLVMModuleRef read_library(LLVMContextRef ctx, ModulePart part, int library) {
    size_t size;
    const char *data = module_is_linked(part) ? blob_called(library, &size)
                                              : blob_kernels(library, &size);
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(data, size, "kernels", 0);
    LLVMModuleRef mod;
    if (LLVMParseBitcodeInContext2(ctx, buffer, &mod))
        bug(NULL, "the kernel library does not fit this LLVM");
    LLVMDisposeMemoryBuffer(buffer);
    mark_plain(mod);
    return mod;
}

static void retarget(V fn, const Level *l) {
    bool plain = module_is_plain(fn);
    static const char *const keys[] = { "target-features", "tune-cpu", "target-cpu",
                                        "min-legal-vector-width" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        LLVMRemoveStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex, keys[i],
                                         (unsigned)strlen(keys[i]));
    attribute_set(fn, "target-cpu", plain ? l->target->plain : l->cpu);
    if (*l->features && !plain) attribute_set(fn, "target-features", l->features);
    attribute_set(fn, "prefer-vector-width", l->lanes == 16 ? "512" : "256");
    attribute_add(fn, "nounwind");
}

/* == Symbols ============================================================== */

static bool external(V value) { return LLVMGetLinkage(value) == LLVMExternalLinkage; }

static bool module_is_named(V value, const char *name) {
    size_t n;
    return !strcmp(LLVMGetValueName2(value, &n), name);
}

/* Each function of a module, and each of its variables. */
static void each_global(LLVMModuleRef mod, void (*visit)(V value)) {
    for (V f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f))
        visit(f);
    for (V g = LLVMGetFirstGlobal(mod); g; g = LLVMGetNextGlobal(g))
        visit(g);
}

/* What another object has is here to be inlined. */
static void lend(V value) {
    if (!LLVMIsDeclaration(value) && external(value) && !module_is_named(value, "main"))
        LLVMSetLinkage(value, LLVMAvailableExternallyLinkage);
}

V module_share(V value) {
    LLVMSetLinkage(value, LLVMExternalLinkage);
    LLVMSetVisibility(value, LLVMHiddenVisibility);
    return value;
}

/* The model's tables and what finds its row kernels: its own object has them, the library's wants
** them. */
static bool is_table(V value) {
    size_t n;
    return !strncmp(LLVMGetValueName2(value, &n), "k_", 2);
}

static bool is_entry(V value) {
    size_t n;
    return LLVMIsAFunction(value) && !strncmp(LLVMGetValueName2(value, &n), "model_", 6);
}

static void name_shared(V value) {
    char name[256];
    size_t n;
    const char *now = LLVMGetValueName2(value, &n);
    n = (size_t)snprintf(name, sizeof name, SHARED "%s", now);
    if (n >= sizeof name) bug(NULL, "a name of the kernel library is too long");
    LLVMSetValueName2(value, name, n);
    LLVMSetVisibility(value, LLVMHiddenVisibility);
}

static void hide(V value) {
    if (LLVMIsDeclaration(value)) return;
    LLVMSetVisibility(value, LLVMDefaultVisibility);
    LLVMSetLinkage(value, LLVMInternalLinkage);
}

static void share_library(V value) {
    size_t n;
    bool wanted = is_entry(value) || e_calls(LLVMGetValueName2(value, &n));
    if (LLVMIsDeclaration(value) ? is_table(value) : wanted) name_shared(value);
    else hide(value);
}

static void share_own(V value) {
    bool lent = LLVMGetLinkage(value) == LLVMAvailableExternallyLinkage;
    if (lent || is_entry(value)
        || (!LLVMIsDeclaration(value) && external(value) && is_table(value)))
        name_shared(value);
}

static void hide_function(V f) {
    size_t n;
    if (!is_export(LLVMGetValueName2(f, &n))) hide(f);
}

/* A program exports main alone: whatever its model is called, no function of that has the name of
** one of libstrata or of the C library. */
static void hide_all(const Module *m) {
    for (V f = LLVMGetFirstFunction(m->e.mod); f; f = LLVMGetNextFunction(f)) {
        size_t n;
        if (!m->o->main) hide_function(f);
        else if (!module_is_named(f, "main") && !is_blas_name(LLVMGetValueName2(f, &n))) hide(f);
    }
    for (V g = LLVMGetFirstGlobal(m->e.mod); g; g = LLVMGetNextGlobal(g))
        hide(g);
    if (!m->o->main) name_exports(m->e.mod, m->o->prefix);
}

/* A linker drops what is not called function by function. */
static void set_section(V value) {
    char section[300];
    size_t n;
    const char *now;
    if (!LLVMIsAFunction(value) || LLVMIsDeclaration(value)) return;
    now = LLVMGetSection(value);
    if (now && *now) return;
    snprintf(section, sizeof section, ".text.%s", LLVMGetValueName2(value, &n));
    LLVMSetSection(value, section);
}

static void settle_symbols(const Module *m) {
    const char *plain = m->level->target->plain;
    LLVMModuleRef mod = m->e.mod;
    V used[] = { LLVMGetNamedGlobal(mod, "llvm.used"),
                 LLVMGetNamedGlobal(mod, "llvm.compiler.used") };
    for (int i = 0; i < 2; i++)
        if (used[i]) LLVMDeleteGlobal(used[i]);
    V main = LLVMGetNamedFunction(mod, "main");
    bool keeps_main = m->o->main && m->part != PART_KERNEL;
    if (main && !keeps_main) LLVMDeleteFunction(main);
    for (V f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f)) retarget(f, m->level);
    bool whole = m->part == PART_WHOLE || m->part == PART_OWN;
    bool shared = m->o->emit == EMIT_SHARED && whole;
    if (m->part == PART_WHOLE) {
        hide_all(m);
        if (shared) add_api_symbol(m->e.mod, m->o->prefix, plain);
        return;
    }
    each_global(mod, m->part == PART_LIBRARY ? share_library : share_own);
    if (m->part == PART_LIBRARY) each_global(mod, set_section);
    if (m->part == PART_OWN && !m->o->main) add_exports(m->e.mod, m->o->prefix, plain);
    if (shared) add_api_symbol(m->e.mod, m->o->prefix, plain);
}

/* == From the one to the other ============================================= */

static void open_emit(Emit *e, ModulePart part, const Level *l, LLVMTargetMachineRef tm) {
    *e = (Emit){
        .ctx = LLVMContextCreate(), .lanes = l->lanes, .fma = l->fma, .narrows = l->narrows
    };
    e->mod = read_library(e->ctx, part, l->library);
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
static void optimise(const Module *m) {
    static const char slow[] = "globaldce,cgscc(inline),globaldce,function(sroa,early-cse<memssa>,"
                               "instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),"
                               "early-cse,dce),";
    char passes[256];
    snprintf(passes, sizeof passes, "%s%sglobaldce", m->o->level ? slow : "",
             module_is_linked(m->part) ? "elim-avail-extern," : "");
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(m->e.mod, passes, m->tm, options);
    LLVMDisposePassBuilderOptions(options);
    if (error) bug(NULL, "LLVM refused the passes: %s", LLVMGetErrorMessage(error));
}

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
    bool text = m->o->emit == EMIT_ASM || m->o->emit == EMIT_ROWS;
    LLVMCodeGenFileType kind = text ? LLVMAssemblyFile : LLVMObjectFile;
    if (LLVMTargetMachineEmitToMemoryBuffer(m->tm, m->e.mod, kind, &why, &buffer)) {
        error_set(&m->error, STATUS_INTERNAL, "internal: LLVM cannot write the object: %.200s",
                  why);
        return;
    }
    checked(buffer); /* NULL, and no error, where there is no memory for the copy */
    copy_out(m, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
}

bool module_open(Module *m, ModulePart part, const Level *l, const CodegenOptions *o,
                 const char *file, Error *e) {
    *m = (Module){ .part = part, .level = l, .o = o, .tm = target_open(l, o, e) };
    if (!m->tm) return false;
    open_emit(&m->e, part, l, m->tm);
    if (module_is_linked(part)) each_global(m->e.mod, lend);
    m->e.check = o->passes.check;
    if (file) m->e.lines = lines_open(&m->e, file);
    return true;
}

void module_finish(Module *m) {
    settle_symbols(m);
    if (m->o->watch) instrument_inline(&m->e);
    verify_module(&m->e);
    optimise(m);
    if (m->o->watch) instrument(&m->e, m->o->prefix), verify_module(&m->e);
    write_code(m);
    LLVMDisposeBuilder(m->e.b);
    LLVMDisposeModule(m->e.mod);
    LLVMContextDispose(m->e.ctx);
    LLVMDisposeTargetMachine(m->tm);
}
