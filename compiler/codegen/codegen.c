/* SPDX-License-Identifier: MIT
** Compiling: tables are filled from finished plans, then a back end writes row kernels and tables.
*/
#include "tables.h"

#include <stdlib.h>
#include <string.h>

#include "fatal.h"

static const Backend *const backend = &llvm_backend;

static void keep_kernels(CompiledModel *out, const Tables *t) {
    out->kernel = checked_new((size_t)t->costs.kernel.n + 1, sizeof *out->kernel);
    for (int i = 0; i < t->costs.kernel.n; i++) {
        out->kernel[i] = LIST(t->costs.kernel, KernelInfo, i);
        out->kernel[i].name = checked_text(out->kernel[i].name);
        out->nkernel++;
    }
}

/* The tables of plans, and what they say of the model.  'planned' may be NULL. */
static int codegen_fill(Tables *t, Planned *planned, const ModelPlans *plans, const Graph *g,
                        const ModelInfo *info, const CodegenOptions *o, CompiledModel *out,
                        Error *e) {
    *out = (CompiledModel){ .library = -1 };
    *t = (Tables){ .info = info, .costs.planned = planned };
    int status = backend->rates(o, &t->rates, e);
    if (status) return status;
    step_note(o->passes.step, g->n, "listing kernels");
    out->cpu = t->rates.cpu, out->features = t->rates.further;
    t->bytes.constants.cpu[0] = t->rates.features;
    tables_build(t, g, plans, o);
    t->model = tables_descriptor(t, o, out, g, &t->model_bytes);
    memcpy(&out->model, t->model, sizeof out->model);
    out->blas = products_of(t);
    keep_kernels(out, t);
    return STATUS_OK;
}

int codegen_check(const CodegenOptions *o, Error *e) {
    BackendRates rates;
    return backend->rates(o, &rates, e);
}

int codegen_describe(Planned *out, const Graph *g, const ModelInfo *info, const CodegenOptions *o,
                     Error *e) {
    Tables t;
    int status = codegen_fill(&t, out, &out->plans, g, info, o, &out->code, e);
    out->lanes = t.rates.lanes, out->tiles = t.rates.parts;
    tables_free(&t);
    return status;
}

int codegen_compile(const ModelPlans *plans, const Graph *g, const ModelInfo *info,
                    const CodegenOptions *o, CompiledModel *out, Error *e) {
    Tables t;
    int status = codegen_fill(&t, NULL, plans, g, info, o, out, e);
    BackendCode *code = status ? NULL : backend->begin(info, o, e);
    if (code) {
        step_note(o->passes.step, g->n, "code generation");
        row_kernels_emit(&t, backend, code);
        status = backend->finish(code, &t, out, e);
    } else if (!status) status = e->status;
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
