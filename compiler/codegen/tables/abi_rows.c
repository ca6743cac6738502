/* SPDX-License-Identifier: MIT */
#include "abi_rows.h"

enum {
#define API(slot, name, member, type, parameters, need) ROW_##name,
#include "abi.def"
};

const ApiRow api_rows[API_ROWS] = {
#define API(slot, name, member, type, parameters, need) \
    { #name, #member, #type, #parameters, API_##need },
#include "abi.def"
};

const ApiRow *const api_member[API_ROWS] = {
#define API(slot, name, member, type, parameters, need) [slot] = &api_rows[ROW_##name],
#include "abi.def"
};
