/* SPDX-License-Identifier: MIT
** Two small models, a text that they can learn, and a folder in which their programs are built.
*/
#ifndef TEST_LEARNERS_H
#define TEST_LEARNERS_H

#include "program_run.h"

/* An odd number of windows and a tail: every other pass over the text splits a batch of two. */
enum { CONTEXT = 16, VOCAB = 256, WINDOWS = 79, TEXT = WINDOWS * CONTEXT + 1 + 7 };

typedef struct Learner {
    const char *name, *lua;
} Learner;

extern const Learner details;     /* says everything of the recipe */
extern const Learner depth_reads; /* has the optimizer's defaults */

/* A new folder, in it the file "text" of TEXT bytes. */
void learners_open(Folder *f, char text[TEXT + 1]);
void learner_build(const Folder *f, const Learner *l); /* NAME.lua and the program NAME */
/* NAME.lua, and the model as a library in this process, of which it stays a part; options: of
** strata build. */
void learner_load(const Folder *f, const Learner *l, const char *options, strata_api *api);

#endif
