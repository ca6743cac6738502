/* SPDX-License-Identifier: MIT
** Programs that something fails in (preload/): a command in a folder of its own, with copies of
** some files, what it came to, and what it left behind.
*/
#ifndef TESTS_FAULT_RUN_H
#define TESTS_FAULT_RUN_H

#include <stdint.h>

#include "preload/preload.h"
#include "program_run.h"

enum { FAULT_FILES = 8, FAULT_SETTINGS = 3, FAULT_SAID = 1 << 13 };

/* What is run: words, with spaces between, in a folder with these files of 'from'. */
typedef struct FaultCommand {
    const char *program, *words, *file[FAULT_FILES];
    const Folder *from;
    const char *library;                 /* to be preloaded; NULL: none */
    const char *setting[FAULT_SETTINGS]; /* of the environment: "NAME=VALUE" */
} FaultCommand;

typedef struct FaultOutcome {
    Folder work, temp; /* the program's, and what it has for temporary files */
    Folder cache;      /* its own: empty, unless a setting names another */
    pid_t process;
    int status, out, err;
    FaultCount *count;
    char said[FAULT_SAID]; /* on standard error */
} FaultOutcome;

/* Starts it, number 'at' of what the library counts failing (0: none), by 'more', a further
** setting or NULL. */
void fault_start(FaultOutcome *o, const FaultCommand *c, uint64_t at, const char *more);
void fault_finish(FaultOutcome *o); /* waits */
void fault_forget(FaultOutcome *o);
/* A run in which nothing of the kind happens; it must end with status 0. */
void fault_run_whole(FaultOutcome *o, const FaultCommand *c);

/* Writes m.lua, the mixer that it may require as "mine", and four tokens; builds m. */
void fault_inputs(Folder *f, const char *spec);
/* An error's line, then at most the line of the spec. */
bool fault_says_one_line(const char *said);

int folder_entries(const Folder *f);
bool folders_share(const Folder *a, const Folder *b, const char *name); /* equal contents */
bool folders_same(const Folder *a, const Folder *b);

#endif
