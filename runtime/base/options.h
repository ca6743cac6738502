/*
** The command line of a standalone program, from one table (options.def).
*/
#ifndef STRATA_OPTIONS_H
#define STRATA_OPTIONS_H

#include "error.h"
#include "json.h"

typedef enum CommandId {
#define COMMAND(id, name, positional, summary) COMMAND_##id,
#include "options.def"
    COMMANDS
} CommandId;

enum {
#define COMMAND(id, name, positional, summary) IN_##id = 1 << COMMAND_##id,
#include "options.def"
};

typedef enum OptionId {
#define OPTION(id, name, kind, argument, low, high, initial, commands, help) OPTION_##id,
#include "options.def"
    OPTIONS
} OptionId;

typedef enum OptionKind {
    OPTION_IS_FLAG,
    OPTION_IS_COUNT,
    OPTION_IS_SEED,
    OPTION_IS_NUMBER,
    OPTION_IS_TEXT,
    OPTION_IS_FILE,
    OPTION_IS_FILES,
    OPTION_IS_CHOICE,
    OPTION_IS_COUNTS
} OptionKind;

typedef struct CommandRow {
    const char *name, *positional, *summary;
} CommandRow;

typedef struct OptionRow {
    const char *name;
    OptionKind kind;
    const char *argument;
    double low, high;
    const char *initial;
    uint32_t commands;
    const char *help;
} OptionRow;

extern const CommandRow command_table[COMMANDS];
extern const OptionRow option_table[OPTIONS];

typedef struct OptionValue {
    bool given; /* typed; the initial value does not count */
    int64_t count;
    uint64_t seed;
    double number;
    int choice;        /* index in the row's list */
    const char *text;  /* TEXT, FILE; NULL: none */
    const char **list; /* FILES */
    int64_t *counts;   /* COUNTS */
    int length;        /* of list or counts */
} OptionValue;

typedef struct Options {
    CommandId command;
    bool help, version;     /* asked for: nothing else counts */
    const char *positional; /* NULL: none */
    OptionValue value[OPTIONS];
} Options;

/* The arguments after argv[0].  help without a command: command is COMMANDS. */
int options_parse(Options *o, int argc, char **argv, Error *e);
void options_free(Options *o);

/* STATUS_USAGE unless the option was given. */
int options_require(const Options *o, OptionId id, Error *e);

/* What --help prints; COMMANDS: the program's. */
void options_help(Text *t, const char *program, CommandId command);

/* The completion script of bash, zsh or fish. */
int options_completion(Text *t, const char *program, const char *shell, Error *e);

/* The candidate nearest to 'word', or NULL if none is near. */
const char *nearest_name(const char *word, const char *const *candidate, int count);

#endif
