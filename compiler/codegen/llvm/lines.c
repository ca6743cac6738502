/* SPDX-License-Identifier: MIT
** DWARF through LLVM's DIBuilder: line tables only, no types and no variables.  A kernel is a
** subprogram of the file that has its first line.  Lines of other files are in lexical blocks of
** it, like inlined macros.
*/
#include "lines.h"
#include "array.h"
#include "fatal.h"

#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* block: in the current function */
typedef struct File {
    char *name;
    LLVMMetadataRef file, block;
} File;

struct Lines {
    Emit *e;
    LLVMDIBuilderRef di;
    LLVMMetadataRef unit, type, function;
    File *file;
    int nfile, files;
};

static LLVMMetadataRef make_file(Lines *l, const char *name) {
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    return LLVMDIBuilderCreateFile(l->di, base, strlen(base), name,
                                   slash ? (size_t)(slash - name) : 0);
}

/* Names are compared as text: one file may be written in several strings.  They are
** copied: kernels' lines are in the graphs of their programs, which end one by one. */
static File *find_file(Lines *l, const char *name) {
    for (int i = 0; i < l->nfile; i++)
        if (!strcmp(l->file[i].name, name)) return &l->file[i];
    checked(ARRAY_ROOM(l->file, l->nfile, l->files, 16) ? l->file : NULL);
    l->file[l->nfile] = (File){ checked_text(name), make_file(l, name), NULL };
    return &l->file[l->nfile++];
}

static void add_flag(Emit *e, const char *name, unsigned value) {
    LLVMAddModuleFlag(e->mod, LLVMModuleFlagBehaviorWarning, name, strlen(name),
                      LLVMValueAsMetadata(LLVMConstInt(e->i32, value, 0)));
}

Lines *lines_open(Emit *e, const char *spec) {
    static const char producer[] = "strata " STRATA_VERSION;
    Lines *l = checked_new(1, sizeof *l);
    l->e = e;
    l->di = LLVMCreateDIBuilder(e->mod);
    l->unit = LLVMDIBuilderCreateCompileUnit(
        l->di, LLVMDWARFSourceLanguageC99, find_file(l, spec ? spec : "spec")->file, producer,
        sizeof producer - 1, 1, "", 0, 0, "", 0, LLVMDWARFEmissionLineTablesOnly, 0, 0, 0, "", 0,
        "", 0);
    l->type = LLVMDIBuilderCreateSubroutineType(l->di, l->file[0].file, NULL, 0, LLVMDIFlagZero);
    add_flag(e, "Debug Info Version", LLVMDebugMetadataVersion());
    add_flag(e, "Dwarf Version", 4);
    return l;
}

void lines_function(Lines *l, const char *name, Loc loc) {
    Loc at = loc_innermost(loc);
    LLVMMetadataRef in = find_file(l, at.file ? at.file : l->file[0].name)->file;
    l->function = LLVMDIBuilderCreateFunction(l->di, in, name, strlen(name), name, strlen(name), in,
                                              (unsigned)at.line, l->type, 1, 1, (unsigned)at.line,
                                              LLVMDIFlagZero, 1);
    LLVMSetSubprogram(l->e->fn, l->function);
    for (int i = 0; i < l->nfile; i++)
        l->file[i].block = l->file[i].file == in ? l->function : NULL;
    lines_set(l, loc);
}

LLVMMetadataRef lines_set(Lines *l, Loc loc) {
    LLVMMetadataRef before = LLVMGetCurrentDebugLocation2(l->e->b);
    Loc at = loc_innermost(loc);
    if (!at.file || at.line < 1) return before;
    File *f = find_file(l, at.file);
    if (!f->block) f->block = LLVMDIBuilderCreateLexicalBlockFile(l->di, l->function, f->file, 0);
    LLVMSetCurrentDebugLocation2(
        l->e->b, LLVMDIBuilderCreateDebugLocation(l->e->ctx, (unsigned)at.line, 0, f->block, NULL));
    return before;
}

void lines_back(Lines *l, LLVMMetadataRef before) { LLVMSetCurrentDebugLocation2(l->e->b, before); }

void lines_none(Lines *l) { LLVMSetCurrentDebugLocation2(l->e->b, NULL); }

void lines_close(Lines *l) {
    LLVMDIBuilderFinalize(l->di);
    LLVMDisposeDIBuilder(l->di);
    for (int i = 0; i < l->nfile; i++)
        free(l->file[i].name);
    free(l->file);
    free(l);
}
