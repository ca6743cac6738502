/* SPDX-License-Identifier: MIT
** A watched build: while its functions run, they report which floats they read and write and how
** many float operations they execute.  Tests use it to check what the compiler says of its
** kernels.  The calls are added to the ordinary code after all optimisations.
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
