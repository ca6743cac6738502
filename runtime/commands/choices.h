/* SPDX-License-Identifier: MIT
** The values of the spec's options when the program was built, from the descriptor.
*/
#ifndef STRATA_CHOICES_H
#define STRATA_CHOICES_H

#include "standalone.h"

/* An error unless the program was built with what -D says. */
int choices_check(const Program *p, Error *e);
/* "options      -D width=64 -D mixer=haares", as strata takes them; nothing: there are none. */
void choices_line(const Program *p, Text *t);

#endif
