/* SPDX-License-Identifier: MIT
** Records what the compiler is doing, where another process can read it: if a limit ends the
** compiler, the other process reports it.
*/
#ifndef STRATA_STEP_H
#define STRATA_STEP_H

#include <stdint.h>

typedef struct StepNote {
    char what[64];      /* "pass memory of training" */
    int64_t operations; /* of the graph that it works on; 0: of none */
} StepNote;

/* 'note' may be NULL: nobody asked. */
__attribute__((format(printf, 3, 4))) void step_note(StepNote *note, int64_t operations,
                                                     const char *format, ...);

#endif
