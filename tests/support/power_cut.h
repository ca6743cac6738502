/* SPDX-License-Identifier: MIT
** What a power cut may leave of a folder, from a record of what a program did to it (record.h):
** at any moment, of what was not flushed any part may be lost.  Of a file's writes each by itself
** may be, or its second half, so that zeros are where the file is longer; of creating, renaming,
** exchanging and removing names each by itself, but the others stay in order.  Flushing a file
** says nothing of its name, flushing the folder nothing of contents.
*/
#ifndef TESTS_POWER_CUT_H
#define TESTS_POWER_CUT_H

#include "numeric.h"
#include "program_run.h"

typedef struct PowerRecord PowerRecord;

/* 'before': what was in the folder when the record began. */
PowerRecord *power_record_open(const Folder *before, const char *path);
void power_record_close(PowerRecord *p);
/* As if the program flushed no file, only the folder. */
void power_forget_flushes(PowerRecord *p);
/* A cut is before a moment of the first to the last, or after all. */
int power_first(const PowerRecord *p);
int power_last(const PowerRecord *p);
int power_saves(const PowerRecord *p, int moment); /* flushes of the folder from the first on */

/* The folder after a cut, written into 'to'; what was not flushed stays where 'keep' says so: 0:
** nothing, 1: all, 2: at random.  A number that is the same for equal folders. */
uint64_t power_cut(const PowerRecord *p, int moment, int keep, Random *r, const Folder *to);

#endif
