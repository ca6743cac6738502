/* SPDX-License-Identifier: MIT
** An LLVM module on its way to an object.  A module either contains the kernel library, or the
** library is linked to it as an object that was compiled with the compiler.
*/
#ifndef STRATA_MODULE_H
#define STRATA_MODULE_H

#include "codegen.h"
#include "emit.h"
#include "target.h"

/* clang-format off */
typedef enum ModulePart {
    PART_WHOLE,  /* library, row kernels and tables: nothing is linked to it */
    PART_OWN,    /* tables, and main() */
    PART_KERNEL, /* a row kernel, of the library what is inlined in it */
    PART_LIBRARY /* the library */
} ModulePart;
/* clang-format on */

typedef struct Module {
    ModulePart part;
    Emit e;
    const Level *level;
    LLVMTargetMachineRef tm;
    const CodegenOptions *o;
    void *data; /* of 'size' bytes, when it is finished */
    size_t size;
    Error error; /* the same */
} Module;

/* 'file': the spec; NULL: there is none.  false, and one line, for an unknown target. */
bool module_open(Module *m, ModulePart part, const Level *l, const CodegenOptions *o,
                 const char *file, Error *e);
/* Makes something known to other objects of the model, and to nobody else. */
V module_share(V value);
/* Optimises, writes and closes it. */
void module_finish(Module *m);

#endif
