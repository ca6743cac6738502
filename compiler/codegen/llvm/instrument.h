/* SPDX-License-Identifier: MIT
** A watched build: functions tell, while they run, which floats they read and write and
** how many operations on floats they do.  For tests of what the compiler says of its
** kernels; it is made of the code that is written otherwise, after all optimisations.
*/
#ifndef STRATA_INSTRUMENT_H
#define STRATA_INSTRUMENT_H

#include "emit.h"

/* Before optimisations: what library functions load and store for a row kernel (e_collect,
** e_spread) is done in the kernel, and told under its name; mathematics is not, so that a function
** stays one operation. */
void instrument_inline(Emit *e);
/* Adds the calls to all functions of the module, and "PREFIX_watch", a Watch, to its exports. */
void instrument(Emit *e, const char *prefix);

#endif
