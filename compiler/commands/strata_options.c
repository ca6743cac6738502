/* SPDX-License-Identifier: MIT
** The table of strata_options.def, and the end of strata's --help.
*/
#include "strata_options.h"

#include "codegen.h"
#include "spec.h"

enum {
#define COMMAND(id, name, arguments, words, summary, more) IN_##id = 1 << STRATA_COMMAND_##id,
#include "strata_options.def"
};

enum {
    IN_SPECS = IN_BUILD | IN_CHECK | IN_INSPECT | IN_COMPARE | IN_RUN | IN_TOKENS | IN_EXPORT
        | IN_WEIGHTS | IN_QUANTIZE,
    IN_COMPILING = IN_SPECS | IN_DOCTOR,
    IN_WRITING = IN_BUILD | IN_INSPECT | IN_COMPARE | IN_IMPORT | IN_EXPORT | IN_TOKENIZER
        | IN_TOKENS | IN_WEIGHTS | IN_QUANTIZE | IN_INIT,
    IN_STATUS = IN_COMPILING | IN_IMPORT | IN_TOKENIZER
};

static const CommandRow options_command[STRATA_COMMANDS] = {
#define COMMAND(id, name, arguments, words, summary, more) \
    [STRATA_COMMAND_##id] = { name, arguments, words, summary, more },
#include "strata_options.def"
};

/* What --cpu takes. */
static const char cpu_names[] = "native, "
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) name ", "
#include "levels.def"
                                "or a processor";

/* What --target takes. */
static const char target_triples[] = "a triple such as"
#define TARGET(name, triple, clang) " " triple
#include "levels.def"
    ;

static const OptionRow option[STRATA_OPTIONS] = {
#define OPTION(id, name, kind, argument, low, high, initial, commands, help) \
    [STRATA_OPTION_##id] = { name, OPTION_IS_##kind, argument, low, high, initial, commands, help },
#include "strata_options.def"
};

enum { STRATA_OPTION_NONE = -1 };

static const OptionNeed strata_options_need[] = {
#define NEED(option, commands, one, two, three)                            \
    { STRATA_OPTION_##option,                                              \
      commands,                                                            \
      { STRATA_OPTION_##one, STRATA_OPTION_##two, STRATA_OPTION_##three }, \
      NULL },
#define IDLE(option, commands, other, value)                             \
    { STRATA_OPTION_##option,                                            \
      commands,                                                          \
      { STRATA_OPTION_##other, STRATA_OPTION_NONE, STRATA_OPTION_NONE }, \
      value },
#include "strata_options.def"
};

/* What a command may use, and how it ends: told once, in the program's --help; its commands, but
** those that are done at once, point to it. */
static void limits(Text *t, int command) {
    if (command != STRATA_COMMANDS) {
        if (IN_STATUS >> command & 1)
            text_add(t, "\n'strata --help' has limits, and what exit statuses mean.\n");
        return;
    }
    text_add(
        t,
        "\nLimits\n  a spec: %zu MB of Lua memory, %lld million instructions, %zu MB of "
        "source, %lld layers\n"
        "  compiling it: %s of memory (--max-memory), an eighth of it for the model's graph,\n"
        "  %s s of processor time (--max-seconds), %d instructions between two products\n"
        "\nExit status\n  0 done, 1 the user's mistake, 2 usage, 3 a limit was hit, 4 input or "
        "output failed,\n"
        "  5 internal error, 6 training diverged, 128+n stopped by signal n\n",
        spec_limits.memory >> 20, (long long)spec_limits.instructions / 1000000,
        spec_limits.file >> 20, (long long)spec_limits.layers,
        option[STRATA_OPTION_MAX_MEMORY].initial, option[STRATA_OPTION_MAX_SECONDS].initial,
        KERNEL_INSTRUCTIONS);
}
_Static_assert(SPEC_GRAPH_SHARE == 8, "an eighth");

const OptionTable strata_options = {
    .title = "strata",
    .command = options_command,
    .option = option,
    .commands = STRATA_COMMANDS,
    .options = STRATA_OPTIONS,
    .need = strata_options_need,
    .needs = sizeof strata_options_need / sizeof *strata_options_need,
    .closing = "To begin: strata build specs/demo.lua && ./demo --help\n",
    .limits = limits,
};
_Static_assert((int)STRATA_COMMANDS <= (int)COMMANDS_MOST
                   && (int)STRATA_OPTIONS <= (int)OPTIONS_MOST,
               "options_parse has room");
