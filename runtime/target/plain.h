/* SPDX-License-Identifier: MIT
** PLAIN functions run on every processor of a target, whatever the model is compiled for: they
** find out what the processor has and report what it lacks. codegen/llvm/module.c reads the mark.
** Functions that they call and that are compiled for the model's processor are marked noinline.
*/
#ifndef STRATA_PLAIN_H
#define STRATA_PLAIN_H

#define PLAIN __attribute__((annotate("strata.plain"), noinline))

#endif
