/* SPDX-License-Identifier: MIT
** What a learner's program did, and the independent trainer that does the same.
*/
#ifndef TEST_LEARNER_RUN_H
#define TEST_LEARNER_RUN_H

#include "learners.h"
#include "trainer.h"

/* The steps of a log, which has a line about the run first and no evaluations. */
void learner_log(const Folder *f, const char *log, TrainerStep *step, int steps);
/* A trainer of the learner that starts from the weights in a file of the folder. */
Trainer *learner_trainer(const Folder *f, const Learner *l, const char *weights);

#endif
