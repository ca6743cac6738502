/* SPDX-License-Identifier: MIT
** The folder of temporary files of a command, in TMPDIR or /tmp: strata-work-HOST-XXXXXX, this
** user's alone, and locked while a process works in it (temporary.h).  Whoever makes one removes
** those that killed commands of this host left, and says so; of another host's, whose locks may not
** be seen here, it only says where they are.
*/
#ifndef STRATA_WORK_FOLDER_H
#define STRATA_WORK_FOLDER_H

#include "allowance.h"

enum { WORK_FOLDER_PATH = 320, WORK_FILE_PATH = WORK_FOLDER_PATH + 128 };

typedef struct WorkFolder {
    char path[WORK_FOLDER_PATH];
    int lock;
} WorkFolder;

/* It is gone when the process ends, unless that is killed together with who waits for it. */
int work_folder_open(WorkFolder *w, Allowance *a, Error *e);
void work_folder_close(WorkFolder *w, Allowance *a);

#endif
