/* SPDX-License-Identifier: MIT
** The functions that an object exports: those of abi.def, with the names that a prefix gives them.
*/
#ifndef STRATA_EXPORTS_H
#define STRATA_EXPORTS_H

#include <stdbool.h>
#include <llvm-c/Core.h>

/* Of a function as the kernel library calls it, model_NAME: whether objects export it. */
bool is_export(const char *name);
/* model_NAME becomes PREFIX_NAME; whatever is called that already takes another name. */
void name_exports(LLVMModuleRef mod, const char *prefix);
/* Of a model whose library is linked: functions PREFIX_NAME that go on in the library's; they are
** for LLVM's processor 'cpu'. */
void add_exports(LLVMModuleRef mod, const char *prefix, const char *cpu);

/* Of a shared library: strata_model_api, which fills a strata_api with the functions PREFIX_NAME,
** for programs that load a library without knowing the model's name. */
void add_api_symbol(LLVMModuleRef mod, const char *prefix, const char *cpu);

/* Names that objects of one model share begin so, and no name in C does. */
#define SHARED "strata."

#endif
