/* SPDX-License-Identifier: MIT
** See planned.h.
*/
#include "planned.h"

static ModelPlans plans_of(const Graph *g, const ModelInfo *info, const CodegenOptions *o) {
    return plans_make(g, info->probe ? info->probe->graph : NULL, info->rules, &o->passes);
}

int planned_make(const Graph *g, const ModelInfo *info, const CodegenOptions *o, Planned *out,
                 Error *e) {
    *out = (Planned){ 0 };
    int status = codegen_check(o, e);
    if (status) return status;
    out->plans = plans_of(g, info, o);
    return codegen_describe(out, g, info, o, e);
}

void planned_free(Planned *p) {
    plans_free(&p->plans);
    codegen_free(&p->code);
}

int planned_compile(const Graph *g, const ModelInfo *info, const CodegenOptions *o,
                    CompiledModel *out, Error *e) {
    int status = codegen_check(o, e);
    if (status) return status;
    ModelPlans plans = plans_of(g, info, o);
    status = codegen_compile(&plans, g, info, o, out, e);
    plans_free(&plans);
    return status;
}
