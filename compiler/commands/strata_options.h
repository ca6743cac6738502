/* SPDX-License-Identifier: MIT
** The command line of strata: the table's names. */
#ifndef STRATA_STRATA_OPTIONS_H
#define STRATA_STRATA_OPTIONS_H

#include "options.h"

enum {
#define COMMAND(id, name, arguments, words, summary, more) STRATA_COMMAND_##id,
#include "strata_options.def"
    STRATA_COMMANDS
};

enum {
#define OPTION(id, name, kind, argument, low, high, initial, commands, help) STRATA_OPTION_##id,
#include "strata_options.def"
    STRATA_OPTIONS
};

extern const OptionTable strata_options;

#endif
