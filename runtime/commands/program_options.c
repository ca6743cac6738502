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

static const CommandRow command[COMMANDS] = {
#define COMMAND(id, name, arguments, words, summary) \
    [COMMAND_##id] = { name, arguments, words, summary, "" },
#include "program_options.def"
};

static const OptionRow option[OPTIONS] = {
#define OPTION(id, name, kind, argument, low, high, initial, commands, help) \
    [OPTION_##id] = { name, OPTION_IS_##kind, argument, low, high, initial, commands, help },
#include "program_options.def"
};

static const OptionLetter letter[] = {
    { 'o', OPTION_OUTPUT },
    { 'p', OPTION_PROMPT },
    { 'w', OPTION_WEIGHTS },
};

/* Has the command one of these options?  The program itself has all. */
static bool has(int command, const OptionId *id, int n) {
    for (int i = 0; i < n; i++)
        if (command == COMMANDS || option_is_in(&option[id[i]], command)) return true;
    return false;
}
#define HAS(command, ...)                     \
    has(command, (OptionId[]){ __VA_ARGS__ }, \
        (int)(sizeof((OptionId[]){ __VA_ARGS__ }) / sizeof(OptionId)))

static void limits(Text *t, int command) {
    bool data = HAS(command, OPTION_DATA), lines = data || command == COMMAND_SCORE;
    if (HAS(command, OPTION_THREADS))
        text_add(t, "\nLimits\n  sequences up to the model's context; 1024 threads\n");
    if (HAS(command, OPTION_WEIGHTS, OPTION_INIT, OPTION_TOKENS))
        text_add(t, "  safetensors: header %d bytes, %d tensors, rank %d\n", SAFETENSORS_HEADER,
                 SAFETENSORS_TENSORS, SAFETENSORS_RANK);
    if (lines) text_add(t, "  JSON: depth %d, lines of %d MB\n", JSON_DEPTH, JSONL_LINE >> 20);
    if (data)
        text_add(t, "  data: %d files, folders %d deep\n", DATA_FILES_MOST, DATA_FOLDERS_DEEP);
    if (HAS(command, OPTION_THREADS))
        text_add(t,
                 "\nExit status\n  0 done, 1 the user's mistake, 2 usage, 3 a limit was hit, 4 "
                 "input or output failed,\n  5 internal error, %s128+n stopped by signal n\n",
                 command == COMMANDS || command == COMMAND_TRAIN ? "6 training diverged, " : "");
}

const OptionTable program_options = {
    .title = "",
    .command = command,
    .option = option,
    .commands = COMMANDS,
    .options = OPTIONS,
    .letter = letter,
    .letters = sizeof letter / sizeof *letter,
    .closing = "NO_COLOR in the environment turns colours off.\n",
    .limits = limits,
};
_Static_assert((int)COMMANDS <= (int)COMMANDS_MOST && (int)OPTIONS <= (int)OPTIONS_MOST,
               "options_parse has room");
