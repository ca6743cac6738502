/* SPDX-License-Identifier: MIT
** Files of which one field after another becomes what no program writes.  A reader takes what comes
** of it, or one line tells its user what to mend.  A test tries one change in so many;
**   SWEEP_EVERY=1 SWEEP_OF=llama build/tests/import_fields_test
** tries all, of what has this name, and tells how many they were.
*/
#ifndef TESTS_SWEEP_H
#define TESTS_SWEEP_H

#include "error.h"

typedef struct Sweep {
    const char *name; /* of what is changed */
    uint64_t every, number, tried, accepted, refused, bad;
} Sweep;

/* 'every': a test's own.  False: SWEEP_OF names another. */
bool sweep_open(Sweep *s, const char *name, uint64_t every);
/* Is the next change one of those that are tried?  It counts. */
bool sweep_due(Sweep *s);
/* One line of a user's mistake, or of a limit, which begins with 'file' and says "expected ...,
** found ...". */
bool sweep_line(const Error *e, const char *file);
/* A change was tried: 'status' is the reader's; 'clear': its line is what it should be. */
void sweep_tried(Sweep *s, int status, bool clear);
/* Tells of a line that is not: what was changed, and into what. */
void sweep_tell(const Sweep *s, const char *field, const char *value, const Error *e);
/* Fails where a line was not clear, or nothing was accepted or nothing refused. */
void sweep_end(const Sweep *s);

#endif
