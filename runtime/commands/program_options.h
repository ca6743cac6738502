/* SPDX-License-Identifier: MIT
** The command line of the programs that strata builds: the table's names. */
#ifndef STRATA_PROGRAM_OPTIONS_H
#define STRATA_PROGRAM_OPTIONS_H

#include "options.h"

typedef enum CommandId {
#define COMMAND(id, name, arguments, words, summary) COMMAND_##id,
#include "program_options.def"
    COMMANDS
} CommandId;

typedef enum OptionId {
#define OPTION(id, name, kind, argument, low, high, initial, commands, help) OPTION_##id,
#include "program_options.def"
    OPTIONS
} OptionId;

extern const OptionTable program_options;

#endif
