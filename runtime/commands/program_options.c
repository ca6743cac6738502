/* SPDX-License-Identifier: MIT
** The table of program_options.def, and what --help of a program ends with. */
#include "program_options.h"

#include "documents.h"
#include "file_limits.h"

enum {
#define COMMAND(id, name, arguments, words, summary) IN_##id = 1 << COMMAND_##id,
#include "program_options.def"
};

/* What has the model to do with. */
enum { IN_ALL = ((1 << COMMANDS) - 1) & ~IN_COMPLETION };

static const CommandRow program_options_command[COMMANDS] = {
#define COMMAND(id, name, arguments, words, summary) \
    [COMMAND_##id] = { #name, arguments, words, summary, "" },
#include "program_options.def"
};

static const OptionRow option[OPTIONS] = {
#define OPTION(id, name, kind, argument, low, high, initial, commands, help) \
    [OPTION_##id] = { name, OPTION_IS_##kind, argument, low, high, initial, commands, help },
#include "program_options.def"
};

enum { OPTION_NONE = -1 };

static const OptionNeed program_options_need[] = {
#define NEED(option, commands, one, two, three) \
    { OPTION_##option, commands, { OPTION_##one, OPTION_##two, OPTION_##three }, NULL },
#define IDLE(option, commands, other, value) \
    { OPTION_##option, commands, { OPTION_##other, OPTION_NONE, OPTION_NONE }, value },
#include "program_options.def"
};

static const OptionLetter letter[] = {
    { 'o', OPTION_OUTPUT },
    { 'p', OPTION_PROMPT },
    { 'w', OPTION_WEIGHTS },
};

/* What a command may use, and how it ends: told once, in the program's --help. */
static void limits(Text *t, int command) {
    if (command != COMMANDS) {
        if (option_is_in(&option[OPTION_THREADS], command))
            text_add(t, "\nThe program's --help has limits, and what exit statuses mean.\n");
        return;
    }
    text_add(
        t,
        "\nLimits\n  sequences up to the model's context; 1024 threads\n"
        "  safetensors: header %d bytes, %d tensors, rank %d\n"
        "  JSON: depth %d, lines of %d MB\n"
        "  data: %d files, folders %d deep\n"
        "\nExit status\n  0 done, 1 the user's mistake, 2 usage, 3 a limit was hit, 4 input or "
        "output failed,\n"
        "  5 internal error, 6 training diverged, 128+n stopped by signal n\n",
        SAFETENSORS_HEADER, SAFETENSORS_TENSORS, SAFETENSORS_RANK, JSON_DEPTH, JSONL_LINE >> 20,
        DATA_FILES_MOST, DATA_FOLDERS_DEEP);
}

const OptionTable program_options = {
    .title = "",
    .command = program_options_command,
    .option = option,
    .commands = COMMANDS,
    .options = OPTIONS,
    .need = program_options_need,
    .needs = sizeof program_options_need / sizeof *program_options_need,
    .letter = letter,
    .letters = sizeof letter / sizeof *letter,
    .closing = "NO_COLOR in the environment turns colours off.\n",
    .limits = limits,
};
_Static_assert((int)COMMANDS <= (int)COMMANDS_MOST && (int)OPTIONS <= (int)OPTIONS_MOST,
               "options_parse has room");
