/* SPDX-License-Identifier: MIT
** Runs a standalone program in a process and a folder of its own, for tests.
*/
#ifndef PROGRAM_RUN_H
#define PROGRAM_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "abi.h"

typedef struct Ran {
    int status; /* exit status; 128 + n: ended by signal n */
    char out[1 << 16], err[1 << 13];
    size_t out_length;
} Ran;

typedef struct Folder {
    char path[128];
} Folder;

void folder_open(Folder *f);  /* a new one under the system's folder for such */
void folder_close(Folder *f); /* with all that is in it */
void folder_write(const Folder *f, const char *name, const void *bytes, size_t length);
/* NUL-terminated, to be freed */
char *folder_read(const Folder *f, const char *name, size_t *length);
bool folder_same(const Folder *f, const char *a, const char *b); /* equal contents */
bool folder_has(const Folder *f, const char *name);
/* A shell's words, in printf's, run in the folder, with the build's programs, into its files out
** and err; they must succeed. */
__attribute__((format(printf, 2, 3))) void folder_shell(const Folder *f, const char *format, ...);

/* Runs "model WORDS" in the folder; words are separated by blanks, '\1' stands for a blank
** in a word.  Standard input is 'input', or empty. */
void program_run(Ran *r, const strata_api *api, const Folder *f, const char *input,
                 const char *words);

/* The same in the background; output goes to the files stdout and stderr of the folder. */
pid_t program_start(const strata_api *api, const Folder *f, const char *input, const char *words);
int program_wait(pid_t pid); /* the status, as in Ran */

/* The same of any function, whose result is the exit status; and what it printed, when it ends. */
pid_t program_fork(const Folder *f, const char *input, int (*body)(void *user), void *user);
void program_collect(Ran *r, const Folder *f, pid_t pid);

#endif
