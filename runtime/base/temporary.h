/* SPDX-License-Identifier: MIT
** Whose a temporary file or folder is, and what killed commands left.
** Who writes one holds a lock on it (flock), which ends with the last process that has it open: so
** what nobody holds was left by processes that are dead, whoever has their numbers now.  Nothing
** is touched that is another user's, or a link, or that another process holds.
*/
#ifndef STRATA_TEMPORARY_H
#define STRATA_TEMPORARY_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

typedef enum TemporaryState {
    TEMPORARY_NONE,     /* nothing has the name */
    TEMPORARY_LEFT,     /* nobody holds it: *fd does now */
    TEMPORARY_HELD,     /* a process writes it */
    TEMPORARY_FOREIGN,  /* another user's */
    TEMPORARY_OTHER,    /* of another kind: a link, a pipe; a folder for a file */
    TEMPORARY_UNLOCKED, /* its file system has no locks: *fd has it open */
    TEMPORARY_UNKNOWN   /* it cannot be looked at: errno */
} TemporaryState;

/* 0: held now, to the end of the descriptor and its copies; EWOULDBLOCK: another process holds it;
** ENOLCK: its file system has no locks; or what failed. */
int temporary_lock(int fd);

/* Is what 'fd' has open what bears the name?  errno is 0 if it is, is not, or is gone. */
bool temporary_is(int folder, const char *name, int fd);

/* 'kind': S_IFREG, S_IFDIR, or 0 for either.  *fd is -1 where it is not open. */
TemporaryState temporary_look(int folder, const char *name, mode_t kind, int *fd);

/* Was it made so lately, with nothing in it, that its maker may not have locked it yet? */
bool temporary_is_fresh(int fd);

/* One line about something at a path: "note: PATH" and what of it. */
void temporary_note(FILE *to, const char *path, const char *what);

/* Calls 'found' for what killed commands left of this user's under names that 'is' takes, with a
** descriptor that holds it while it is called. */
typedef struct TemporarySearch {
    mode_t kind;
    bool (*is)(const char *name, const void *user);
    void (*found)(const char *name, int fd, void *user);
    void *user;
} TemporarySearch;
void temporary_search(int folder, const TemporarySearch *s);

/* Names in one line what is left in a folder beside outputs (NAME.strata-tmp, NAME.strata-old), but
** for 'but'; 'before' is what paths in it begin with: "", "models/". */
void temporary_tell(int folder, const char *before, const char *but, FILE *to);

#endif
