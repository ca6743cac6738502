/* SPDX-License-Identifier: MIT
** Attributes of functions by the names that they have in LLVM's text form.
*/
#ifndef STRATA_ATTRIBUTES_H
#define STRATA_ATTRIBUTES_H

#include <llvm-c/Core.h>

void attribute_add(LLVMValueRef function, const char *name);
void attribute_remove(LLVMValueRef function, const char *name);
void attribute_set(LLVMValueRef function, const char *key, const char *value);

#endif
