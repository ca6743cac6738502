/* SPDX-License-Identifier: MIT
** The back end of LLVM.  A model's module contains tables, row kernels and the kernel library; or
** only the tables, to be linked with the library's object and one object per row kernel
** (kernel_objects.h).
*/
#include "tables.h"
#include "blas_calls.h"
#include "kernel_objects.h"
#include "lines.h"
#include "module.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>

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

static void define_tables(Emit *e, const Tables *t) {
    const TableBytes *b = &t->bytes;
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
    define_bytes(e, "k_model", t->model, t->model_bytes);
}

/* A kernel of the module, or of an object that is linked to it. */
static V find_kernel(Emit *e, const char *name) {
    V kernel = LLVMGetNamedFunction(e->mod, name);
    LLVMTypeRef args[] = { e->ptr, e->i64, e->i64, e->ptr };
    return kernel
        ? kernel
        : module_share(LLVMAddFunction(e->mod, name, LLVMFunctionType(e->void_, args, 4, 0)));
}

/* k_row: from a kernel's number, which comes last so that the others stay where they are, to the
** kernel. */
static void define_dispatch(Emit *e, const Tables *t) {
    static const char name[] = "k_row";
    LLVMTypeRef types[] = { e->ptr, e->i64, e->i64, e->ptr, e->i32 };
    V fn = LLVMGetNamedFunction(e->mod, name), args[4];
    if (!fn) fn = LLVMAddFunction(e->mod, name, LLVMFunctionType(e->void_, types, 5, 0));
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(e->ctx, fn, "entry");
    LLVMBasicBlockRef other = LLVMAppendBasicBlockInContext(e->ctx, fn, "");
    LLVMPositionBuilderAtEnd(e->b, other);
    LLVMBuildRetVoid(e->b);
    LLVMPositionBuilderAtEnd(e->b, entry);
    V which = LLVMBuildSwitch(e->b, LLVMGetParam(fn, 4), other, (unsigned)t->kernels.row.n);
    for (int i = 0; i < 4; i++)
        args[i] = LLVMGetParam(fn, (unsigned)i);
    for (int i = 0; i < t->kernels.row.n; i++) {
        V kernel = find_kernel(e, LIST(t->kernels.row, RowKernel *, i)->name);
        LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(e->ctx, fn, "");
        LLVMAddCase(which, LLVMConstInt(e->i32, (unsigned long long)i, 0), block);
        LLVMPositionBuilderAtEnd(e->b, block);
        LLVMSetTailCall(LLVMBuildCall2(e->b, LLVMGlobalGetValueType(kernel), kernel, args, 4, ""),
                        1);
        LLVMBuildRetVoid(e->b);
    }
}

/* == The back end ========================================================= */

/* Row kernels go to the module of the tables, or to objects of their own. */
struct BackendCode {
    Module module;
    KernelObjects *objects; /* NULL: to the module */
    const CodegenOptions *o;
    int library; /* kernel_object() to be linked; -1: it is in the module */
};

static const Level *level_of(const CodegenOptions *o, Error *e) {
    const Target *t = target_of(o->triple, e);
    return t ? target_level(t, o->cpu, o->passes.bf16 || o->passes.small, e) : NULL;
}

static int rates(const CodegenOptions *o, BackendRates *out, Error *e) {
    const Level *l = level_of(o, e);
    if (!l) return STATUS_USER;
    *out = (BackendRates){ .cpu = l->name,
                           .further = l->features,
                           .features = l->bits,
                           .lanes = l->lanes,
                           .pairs = l->pairs && o->passes.bf16,
                           .parts = l->tiles,
                           .cache_bytes = l->cache_bytes,
                           .target = &l->target->rates };
    return STATUS_OK;
}

/* The library's object is of one system; what is watched is so in the library, too. */
static bool links_library(const CodegenOptions *o) {
    return o->link && !o->triple && !o->watch && o->emit != EMIT_IR && o->emit != EMIT_ASM;
}

static BackendCode *backend_begin(const ModelInfo *info, const CodegenOptions *o, Error *e) {
    const Level *l = level_of(o, e);
    bool linked = links_library(o);
    if (!l) return NULL;
    target_options(l->target);
    BackendCode *c = checked_new(1, sizeof *c);
    *c = (BackendCode){ .o = o, .library = linked ? l->library : -1 };
    if (!module_open(&c->module, linked ? PART_OWN : PART_WHOLE, l, o, linked ? NULL : info->file,
                     e))
        return free(c), NULL;
    if (linked) c->objects = kernel_objects_open(l, o);
    return c;
}

static void row_kernel(BackendCode *c, const Rows *r, const RowKernel *kernel) {
    if (c->objects) {
        kernel_objects_add(c->objects, r, kernel);
        return;
    }
    c->module.e.plain = kernel->plain;
    rows_emit(&c->module.e, r, kernel->name);
}

static int backend_finish(BackendCode *c, const Tables *t, CompiledModel *out, Error *e) {
    Module *m = &c->module;
    StepNote *step = c->o->passes.step;
    if (m->e.lines) lines_close(m->e.lines);
    define_dispatch(&m->e, t);
    define_blas(&m->e, t->bytes.constants.blas, c->o->main);
    define_tables(&m->e, t);
    step_note(step, step ? step->operations : 0, "machine code");
    module_finish(m);
    out->data = m->data, out->size = m->size, out->library = c->library;
    int status = c->objects ? kernel_objects_close(c->objects, out, e) : STATUS_OK;
    if (m->error.status) *e = m->error, status = m->error.status;
    free(c);
    return status;
}

const Backend llvm_backend = { rates, backend_begin, row_kernel, backend_finish };
