/* SPDX-License-Identifier: MIT
** Where a plan's values lie, as references that the driver's tables (program.h) contain.
*/
#ifndef STRATA_PLACES_H
#define STRATA_PLACES_H

#include "plan.h"
#include "program.h"

int32_t place_area(Space s);
/* Of a stored value, a parameter or another source. */
Ref place_of(const Plan *p, const Node *n);
Ref place_gradient(const Plan *p, const Node *param);
/* Of another result of an anchor; AREA_NONE if nobody wants it. */
Ref place_side(const Plan *p, const Node *n, int result);

#endif
