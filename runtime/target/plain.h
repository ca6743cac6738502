/* SPDX-License-Identifier: MIT
** PLAIN functions run on every processor of a target, whatever the model is compiled for: they find
** out what this one has, and say what it lacks.  codegen/llvm/module.c reads the mark.  What they
** call and is for the model's processor is marked noinline.
*/
#ifndef STRATA_PLAIN_H
#define STRATA_PLAIN_H

#define PLAIN __attribute__((annotate("strata.plain"), noinline))

#endif
