/* SPDX-License-Identifier: MIT
** The commands of a standalone program.  Each is a function in a file of its own.  It returns a
** status, describes a failure in the Error, and prints only results.
*/
#ifndef STRATA_COMMANDS_H
#define STRATA_COMMANDS_H

#include "standalone.h"

#define COMMAND(id, name, arguments, words, summary) int command_##name(const Program *p, Error *e);
#include "program_options.def"

#endif
