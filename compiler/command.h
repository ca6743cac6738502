/* The commands of the strata program: each gets its arguments, returns an exit status. */
#ifndef STRATA_COMMAND_H
#define STRATA_COMMAND_H

typedef struct Command {
    const char *name, *arguments, *help;
    int (*run)(int argc, char **argv);      /* argv[0] is the command's name */
} Command;

int command_build(int argc, char **argv);
int command_check(int argc, char **argv);

#endif
