/* SPDX-License-Identifier: MIT
** Everything that is asked of one spec: whether what the compiler makes of it is what the float64
** interpreter says, and the same numbers whatever the build, the workers and the batch.
**   the interpreter   logits, losses and gradients; of --precision bf16: of rounded operands
**   differences       the interpreter's gradients are those of finite differences
**   another build     in turn other passes, memory, level: the interpreter again; other chunks: the
**                     same bits
**   workers, batch    one or two workers, alone or beside others: the same bits
**   decoding          token by token as in the full pass, as generated; alone as beside others
**   resuming          steps of AdamW from a copy of weights and moments: the same bits
*/
#ifndef TESTS_SPEC_TRIAL_H
#define TESTS_SPEC_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

/* Ends of a trial, as statuses of a process (apart); others are signals. */
enum { TRIAL_AGREES, TRIAL_DIFFERS, TRIAL_SHAKY, TRIAL_REFUSED };

typedef struct SpecTrial {
    const char *path;
    uint64_t seed; /* of values and of which builds */
    bool bf16;
} SpecTrial;

/* Says on stderr what differs, or why the spec is refused. */
int spec_trial(const SpecTrial *t);

#endif
