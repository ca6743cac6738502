/* SPDX-License-Identifier: MIT
** The prefix of an object's function names: --prefix, or the model's name.
*/
#ifndef STRATA_PREFIX_H
#define STRATA_PREFIX_H

#include "error.h"
#include "spec.h"

/* 'given': --prefix of 'command'; NULL: the model's name.  'shown': others link against it, so that
** it must not be taken. */
int prefix_check(const char *command, const char *given, const Model *m, bool shown, Error *e);

#endif
