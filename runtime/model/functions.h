/* SPDX-License-Identifier: MIT
** The model's functions, by the rows of abi.def, each of which agrees with abi.h in place and
** type; PREFIX_init is model_init here. */
#ifndef STRATA_FUNCTIONS_H
#define STRATA_FUNCTIONS_H

#include "abi.h"

#define EXPORT __attribute__((visibility("default"), used))

#define API(slot, name, member, type, parameters, need)                                      \
    type model_##name parameters;                                                            \
    _Static_assert(offsetof(strata_api, member) == sizeof(size_t) + (slot) * sizeof(void *), \
                   "abi.def: " #member " has another place in strata_api");                  \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((strata_api *)0)->member),       \
                                                __typeof__(type(*) parameters)),             \
                   "abi.def: " #member " has another type in strata_api");
#include "abi.def"

enum {
    API_FUNCTIONS = 0
#define API(slot, name, member, type, parameters, need) +1
#include "abi.def"
};

_Static_assert(offsetof(strata_api, reserved) == sizeof(size_t) + API_FUNCTIONS * sizeof(void *),
               "abi.def: strata_api has another number of functions");

#endif
