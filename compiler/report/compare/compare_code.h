/* SPDX-License-Identifier: MIT
** Row kernels of a variant beside those of the baseline that do the same job; a comparison shows
** them line by line.  Kernels of the library (products, attention) have the same code in every
** model and are left out.
*/
#ifndef STRATA_COMPARE_CODE_H
#define STRATA_COMPARE_CODE_H

#include "code_lines.h"
#include "comparison.h"

enum { CODE_KERNELS = 6 }; /* of a variant, at most */

/* Two texts of the same kind, the baseline's first, and how they fit: see code_align. */
typedef struct CodeSides {
    CodeLines side[2];
    int *align;
} CodeSides;

typedef struct CodePair {
    int variant;
    const ReportKernel *kernel[2]; /* the baseline's, NULL: it has none alike; the variant's */
    CodeSides listing, assembly;   /* assembly: empty where it is not known */
} CodePair;

/*
** Of every variant the most costly kernels, by bytes of a training step, of which the listing
** differs from the baseline's, one a role.  The baseline's is, of those in the role that are
** called at the same place of the model, the one with the most lines in common; or of all row
** kernels, where those have less than half: work moves between kernels of different roles.
** In the order of variants, then of cost.  NULL and *n -1: no memory.
*/
CodePair *compare_code(const Comparison *c, int *n);
void compare_code_free(CodePair *pair, int n);

/* compare_lua.c: text of Lua lines, of the library's files and of those on disk. */
typedef struct LuaFile {
    char name[256], *text;
    size_t size;
} LuaFile;
enum { LUA_FILES = 32, LUA_LINE = 160 };
typedef struct LuaFiles {
    LuaFile file[LUA_FILES];
    int n;
} LuaFiles;

/* Of "FILE:LINE", without its indentation; false: there is no such line to be read. */
bool lua_line(LuaFiles *x, const char *place, char to[LUA_LINE]);
/* A whole file; NULL: there is none, or there are too many. */
const LuaFile *lua_file(LuaFiles *x, const char *name);
void lua_free(LuaFiles *x);

#endif
