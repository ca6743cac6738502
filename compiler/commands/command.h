/*
** The commands of the strata program and their options, one table: parsing,
** --help and the completion scripts all read it.  A command returns a status and
** describes a failure in the Error; main.c alone prints errors and exits.
*/
#ifndef STRATA_COMMAND_H
#define STRATA_COMMAND_H

#include "error.h"
#include "keep.h"

/* "--name VALUE" or "--name=VALUE"; "-O" takes its value joined.  An argument with
** bars lists the values there are; "=a|b": it may follow, joined; NULL: none. */
typedef struct Flag {
    const char *name, *argument, *help;
} Flag;

typedef struct Command {
    const char *name, *arguments, *help, *more; /* more: a sentence for --help */
    const Flag *flags;                          /* up to one without a name; NULL: none */
    /* argv[0] is the command's name; NULL: not in this version */
    int (*run)(int argc, char **argv, Error *e);
} Command;

extern const Command commands[];
extern const int ncommands;

extern const Flag build_flags[], inspect_flags[], compare_flags[];

int command_build(int argc, char **argv, Error *e);
int command_check(int argc, char **argv, Error *e);
int command_init(int argc, char **argv, Error *e);
int command_doctor(int argc, char **argv, Error *e);
int command_run(int argc, char **argv, Error *e);
int command_inspect(int argc, char **argv, Error *e);
int command_compare(int argc, char **argv, Error *e);
int command_completion(int argc, char **argv, Error *e);

/* One option at argv[*i], which it moves on over a separate value.  *value is NULL for
** a flag without one. */
int flag_parse(const Command *c, int argc, char **argv, int *i, const Flag **flag,
               const char **value, Error *e);

/* The value of --memory. */
Keep keep_called(const char *name);

/* What spec_load or codegen_compile said: already escaped, "error: " in front. */
int error_taken(Error *e, int status, const char *message);

#endif
