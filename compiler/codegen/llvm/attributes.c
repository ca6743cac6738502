/* SPDX-License-Identifier: MIT
** See attributes.h. */
#include "attributes.h"

#include <string.h>

static LLVMContextRef context_of(LLVMValueRef function) {
    return LLVMGetModuleContext(LLVMGetGlobalParent(function));
}

static unsigned attributes_kind_of(const char *name) {
    return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

void attribute_add(LLVMValueRef function, const char *name) {
    LLVMAttributeRef a = LLVMCreateEnumAttribute(context_of(function), attributes_kind_of(name), 0);
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, a);
}

void attribute_remove(LLVMValueRef function, const char *name) {
    LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, attributes_kind_of(name));
}

void attribute_set(LLVMValueRef function, const char *key, const char *value) {
    unsigned nkey = (unsigned)strlen(key), nvalue = (unsigned)strlen(value);
    LLVMAttributeRef a = LLVMCreateStringAttribute(context_of(function), key, nkey, value, nvalue);
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, a);
}
