/* SPDX-License-Identifier: MIT
** A model as an LLVM module: tables, row kernels and the kernel library; or tables alone, to be
** linked with the library's object and one for each row kernel (kernel_objects.h).
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
    V which = LLVMBuildSwitch(e->b, LLVMGetParam(fn, 4), other, (unsigned)t->sink.row.n);
    for (int i = 0; i < 4; i++)
        args[i] = LLVMGetParam(fn, (unsigned)i);
    for (int i = 0; i < t->sink.row.n; i++) {
        V kernel = find_kernel(e, LIST(t->sink.row, RowKernel *, i)->name);
        LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(e->ctx, fn, "");
        LLVMAddCase(which, LLVMConstInt(e->i32, (unsigned long long)i, 0), block);
        LLVMPositionBuilderAtEnd(e->b, block);
        LLVMSetTailCall(LLVMBuildCall2(e->b, LLVMGlobalGetValueType(kernel), kernel, args, 4, ""),
                        1);
        LLVMBuildRetVoid(e->b);
    }
}

/* == All of it ============================================================ */

static void keep_kernels(CompiledModel *out, const Tables *t) {
    out->kernel = checked_new((size_t)t->costs.kernel.n + 1, sizeof *out->kernel);
    for (int i = 0; i < t->costs.kernel.n; i++) {
        out->kernel[i] = LIST(t->costs.kernel, KernelInfo, i);
        out->kernel[i].name = checked_text(out->kernel[i].name);
        out->nkernel++;
    }
}

static const Level *level_of(const CodegenOptions *o, Error *e) {
    const Target *t = target_of(o->triple, e);
    return t ? target_level(t, o->cpu, o->passes.bf16 || o->passes.small, e) : NULL;
}

int codegen_plan(const Graph *g, const ModelInfo *info, const CodegenOptions *o, Planned *out,
                 Error *e) {
    *out = (Planned){ 0 };
    const Level *l = level_of(o, e);
    if (!l) return STATUS_USER;
    Tables t = { .info = info,
                 .costs.planned = out,
                 .lanes = l->lanes,
                 .pairs = l->pairs && o->passes.bf16,
                 .parts = l->tiles,
                 .cache_bytes = l->cache_bytes,
                 .rates = &l->target->rates };
    out->lanes = l->lanes, out->tiles = l->tiles;
    snprintf(out->code.cpu, sizeof out->code.cpu, "%s", l->name);
    ModelPlans plans = plans_make(g, info->probe ? info->probe->graph : NULL, info->rules,
                                  &o->passes);
    step_note(o->passes.step, g->n, "listing kernels");
    tables_build(&t, g, &plans, o);
    size_t bytes;
    void *model = tables_descriptor(&t, o, &out->code, g, &bytes);
    memcpy(&out->code.model, model, sizeof out->code.model);
    out->code.blas = products_of(&t);
    keep_kernels(&out->code, &t);
    free(model);
    tables_free(&t);
    return 0;
}

void codegen_plan_free(Planned *p) {
    for (int i = 0; i < PROGRAMS; i++)
        if (p->plan[i]) graph_free(p->plan[i]->g);
    codegen_free(&p->code);
}

/* The library's object is of one system; what is watched is so in the library, too. */
static bool links_library(const CodegenOptions *o) {
    return o->link && !o->triple && !o->watch && o->emit != EMIT_IR && o->emit != EMIT_ASM;
}

static int finish(Module *m, KernelObjects *objects, CompiledModel *out, StepNote *step, Error *e) {
    step_note(step, step ? step->operations : 0, "machine code");
    module_finish(m);
    out->data = m->data, out->size = m->size;
    int status = objects ? kernel_objects_close(objects, out, e) : STATUS_OK;
    if (m->error.status) *e = m->error;
    return m->error.status ? m->error.status : status;
}

/* The module of the tables, and where row kernels go: to it, or to objects of their own. */
static int begin(Module *m, Tables *t, const ModelInfo *info, const CodegenOptions *o,
                 CompiledModel *out, Error *e) {
    const Level *l = level_of(o, e);
    bool linked = links_library(o);
    *out = (CompiledModel){ .library = -1 };
    if (!l) return STATUS_USER;
    target_options(l->target);
    if (!module_open(m, linked ? PART_OWN : PART_WHOLE, l, o, linked ? NULL : info->file, e))
        return STATUS_USER;
    *t = (Tables){ .info = info,
                   .sink = { .emit = linked ? NULL : &m->e,
                             .objects = linked ? kernel_objects_open(l, o) : NULL },
                   .lanes = l->lanes,
                   .pairs = l->pairs && o->passes.bf16,
                   .parts = l->tiles,
                   .cache_bytes = l->cache_bytes,
                   .rates = &l->target->rates };
    t->bytes.constants.cpu[0] = l->bits;
    snprintf(out->cpu, sizeof out->cpu, "%s", l->name);
    if (linked) out->library = l->library;
    return STATUS_OK;
}

int codegen_compile(const Graph *g, const ModelInfo *info, const CodegenOptions *o,
                    CompiledModel *out, Error *e) {
    Module m;
    Tables t;
    int status = begin(&m, &t, info, o, out, e);
    if (status) return status;
    ModelPlans plans = plans_make(g, info->probe ? info->probe->graph : NULL, info->rules,
                                  &o->passes);
    step_note(o->passes.step, g->n, "code generation");
    tables_build(&t, g, &plans, o);
    size_t bytes;
    void *model = tables_descriptor(&t, o, out, g, &bytes);
    memcpy(&out->model, model, sizeof out->model);
    out->blas = products_of(&t);
    keep_kernels(out, &t);
    if (m.e.lines) lines_close(m.e.lines);
    define_dispatch(&m.e, &t);
    define_blas(&m.e, t.bytes.constants.blas, o->main);
    define_tables(&m.e, &t.bytes, model, bytes);
    status = finish(&m, t.sink.objects, out, o->passes.step, e);
    free(model);
    tables_free(&t);
    return status;
}

void codegen_free(CompiledModel *c) {
    for (int i = 0; i < c->nkernel; i++)
        free((char *)c->kernel[i].name);
    free(c->kernel);
    free(c->data);
    free(c->kernels);
}
