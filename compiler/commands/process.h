/* SPDX-License-Identifier: MIT
** Child processes that end when the command is stopped.  While a child runs, SIGINT, SIGTERM and
** SIGHUP are blocked; they end the child and are reported to the caller, who cleans up.
*/
#ifndef STRATA_PROCESS_H
#define STRATA_PROCESS_H

#include "error.h"
#include "json.h"

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

/* Holds the signals back; 'before' is for process_release and for the children. */
void process_hold(sigset_t *before);
void process_release(const sigset_t *before);

/* What is done now and then while a child runs. */
typedef struct ProcessTick {
    void (*call)(void *user);
    void *user;
} ProcessTick;

/* Waits; the child's wait status, and in *stop the signal that asked to stop, or 0.  tick is called
** about twice a second; NULL: nothing is. */
int process_wait(pid_t child, const ProcessTick *tick, int *stop);
int process_stopped(int stop, Error *e); /* 128 + stop */
/* Processor seconds of all children that ended, with theirs. */
double process_children_seconds(void);

/* What a child has to say on standard error goes to a file without a name, because an
** error's first line is ours; process_said adds its lines to the Error. */
int process_listen(void); /* a descriptor; -1: none */
void process_said(int words, Error *e);
/* Does it say, as the C library, C++'s, LLVM, ld or we do, that there was no memory? */
bool process_lacked_memory(const char *text);
/* The first line of it that is no note, in 'said', without "error: ". */
const char *process_error(int words, char *said, size_t size);

/* What an errno says of a process that could not be started. */
int process_unstarted(int number, Error *e);

/* Runs a program found in PATH, whose temporary files go to a folder; STATUS_IO if it cannot run or
** fails, 128+n if stopped. */
int process_run(char *const *argv, const char *temporary, const sigset_t *mask, Error *e);

/* Runs a program that we built and adds what it writes to 'output'.  If it fails, its exit
** status and first line of error become ours, with 'name' in front; 128+n if stopped.  What
** it notes on standard error goes to 'notes'; NULL: nowhere. */
int process_read(char *const *argv, const char *name, const sigset_t *mask, const ProcessTick *tick,
                 FILE *notes, Text *output, Error *e);

#endif
