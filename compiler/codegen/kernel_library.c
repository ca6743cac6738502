/* SPDX-License-Identifier: MIT
** The kernel library as an object, which models are linked with; see codegen.h. */
#include "levels.h"
#include "module.h"

int codegen_libraries(void) { return LEVELS; }

const char *codegen_library_name(int library) {
    static const char *const name[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) #library,
#include "levels.def"
    };
    return name[library];
}

int codegen_library(int library, void **data, size_t *size, Error *e) {
    static const CodegenOptions options = { .level = 2, .emit = EMIT_OBJ };
    const Level *l = target_of_library(library);
    Module m;
    target_options(l->target);
    if (!module_open(&m, PART_LIBRARY, l, &options, NULL, e)) return e->status;
    module_finish(&m);
    *data = m.data, *size = m.size;
    if (m.error.status) *e = m.error;
    return m.error.status;
}
