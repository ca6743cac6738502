/* SPDX-License-Identifier: MIT
** The commands of a standalone program. Each is a function of its own file; it returns a status and
** describes a failure in the Error, and prints results only.
*/
#ifndef STRATA_COMMANDS_H
#define STRATA_COMMANDS_H

#include "standalone.h"

#define COMMAND(id, name, arguments, words, summary) int command_##name(const Program *p, Error *e);
#include "program_options.def"

#endif
