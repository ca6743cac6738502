/* SPDX-License-Identifier: MIT
** Command lines from tables: the compiler has one table, the programs that it builds have another.
** Parsing, messages, --help and completions read the table, which contains everything that differs
** between the two.
*/
#ifndef STRATA_OPTIONS_H
#define STRATA_OPTIONS_H

#include "error.h"
#include "json.h"

typedef enum OptionKind {
    OPTION_IS_FLAG,   /* no value */
    OPTION_IS_COUNT,  /* an integer, low … high */
    OPTION_IS_SIZE,   /* bytes, as 8G, 500M or 64K: a count */
    OPTION_IS_SEED,   /* an integer of 64 bits */
    OPTION_IS_NUMBER, /* low … high */
    OPTION_IS_TEXT,
    OPTION_IS_WORD, /* a text that is not empty */
    OPTION_IS_FILE,
    OPTION_IS_FILES,  /* all words up to the next option */
    OPTION_IS_PAIR,   /* NAME=VALUE, as often as it is typed: a list */
    OPTION_IS_CHOICE, /* one of those that the argument lists */
    OPTION_IS_COUNTS  /* integers with commas, low … high */
} OptionKind;

/* The words behind a command that are no options. */
typedef enum CommandWords {
    NO_WORDS,
    ONE_WORD,  /* one, which must be there */
    ANY_WORDS, /* the command looks at their number itself */
    ALL_WORDS, /* and options are read before the first only */
    NOT_YET    /* a command that this version does not have */
} CommandWords;

typedef struct CommandRow {
    const char *name, *arguments; /* "": none; those with bars are the choices */
    CommandWords words;
    const char *summary, *more; /* more: another sentence for --help, or "" */
} CommandRow;

typedef struct OptionRow {
    const char *name; /* "steps" is --steps; one letter, "o", is -o, and a choice joins it: -O2 */
    OptionKind kind;
    const char *argument; /* "=a|b": it may be left out, and is joined with = */
    double low, high;
    const char *initial; /* as if typed; "": none */
    uint32_t commands;   /* bit n: command n has it */
    const char *help;
} OptionRow;

enum {
    OPTIONS_MOST = 80,
    COMMANDS_MOST = 32,
    OPTION_PAIR = 4096 /* bytes of a PAIR */,
    OPTION_PAIRS = 256
};

enum { OPTION_OTHERS = 3 };

/* An option that says nothing where others are not, or where another has a value. */
typedef struct OptionNeed {
    int option;
    uint32_t commands;        /* bit n: it is so in command n */
    int other[OPTION_OTHERS]; /* one of these is given; -1: no more */
    const char *idle;         /* instead: the value of the one other with which it says nothing */
} OptionNeed;

/* -w stands for --weights. */
typedef struct OptionLetter {
    char letter;
    int option;
} OptionLetter;

typedef struct OptionTable {
    const char *title; /* in front of messages; "": nothing */
    const CommandRow *command;
    const OptionRow *option;
    int commands, options;
    const OptionNeed *need;
    int needs;
    const OptionLetter *letter; /* short names of some options */
    int letters;
    const char *closing; /* of the program's --help */
    /* what --help of a command, or of the program (table->commands), ends with */
    void (*limits)(Text *t, int command);
} OptionTable;

typedef struct OptionValue {
    int given; /* its place among the words, from 1; 0: not typed, the initial value stands */
    int64_t count;
    uint64_t seed;
    double number;
    int choice;        /* index in the row's list */
    const char *text;  /* TEXT, WORD, FILE, CHOICE; NULL: none */
    const char **list; /* FILES, PAIR */
    int64_t *counts;   /* COUNTS */
    int length;        /* of list or counts */
} OptionValue;

typedef struct Options {
    const OptionTable *table;
    int command;        /* table->commands: none */
    bool help, version; /* asked for: nothing else counts */
    char **argv;        /* all words behind the command */
    int argc;
    char **word; /* those that are no options */
    int words;
    OptionValue value[OPTIONS_MOST];
} Options;

/* The arguments after argv[0]; they outlive the options.  options_free is due either way. */
int options_parse(Options *o, const OptionTable *table, int argc, char **argv, Error *e);
void options_free(Options *o);

/* STATUS_USAGE unless the option was given. */
int options_require(const Options *o, int option, Error *e);

/* STATUS_USAGE where an option was given without one of the others that it needs. */
int options_need(const Options *o, Error *e);
/* Adds a line for each option that was given and says nothing beside the value of another. */
void options_idle(const Options *o, Text *t);

/* An option's value, one that is no list of words; false where 'text' is none of the row's. */
bool option_read(OptionValue *v, const OptionRow *r, const char *text);

/* "--steps" or "-o". */
const char *option_name(char to[32], const OptionRow *r);
/* "strata build": where a mistake is. */
const char *option_place(char to[64], const OptionTable *t, int command);
/* The list of a choice or the name of a value, without the mark that it may be left out. */
const char *option_argument(const OptionRow *r);
bool option_is_optional(const OptionRow *r);
bool option_is_joined(const OptionRow *r); /* "-O2" */
/* 'w' where -w stands for the option; 0: it has no short name. */
char option_letter(const OptionTable *table, int option);
static inline bool option_is_in(const OptionRow *r, int command) {
    return r->commands >> command & 1;
}

/* options_unknown.c: errors about words that the table does not have, at 'in' ("strata build"),
** with what may have been meant. */
int option_unknown(const Options *o, const char *word, const char *in, Error *e);
int command_unknown(const OptionTable *t, const char *word, Error *e);
int word_unexpected(const Options *o, const char *word, const char *in, Error *e);

/* What --help prints; table->commands: the program's. */
void options_help(Text *t, const OptionTable *table, const char *program, int command);

/* The completion script of bash, zsh or fish: it asks the program. */
int options_completion(Text *t, const OptionTable *table, const char *program, const char *shell,
                       Error *e);
/* The answer, if the words are "PROGRAM __complete ..".  inner: the table of the programs whose
** words a command with ALL_WORDS takes behind its first one, or NULL. */
bool options_complete(Text *t, const OptionTable *table, const OptionTable *inner, int argc,
                      char **argv);

#endif
