/* SPDX-License-Identifier: MIT
** From the result of an importer to a plan of tensors; see importer.c.
*/
#ifndef STRATA_IMPORTER_PLAN_H
#define STRATA_IMPORTER_PLAN_H

#include "front.h"
#include "importer.h"

/* result at 'result': { names =, recipes =, ignore =, same = } of import/kit.lua */
void importer_plan(lua_State *L, int result, const ImportRequest *r, Imported *out);

#endif
