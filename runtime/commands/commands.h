/* SPDX-License-Identifier: MIT
** The commands of a standalone program. Each is a function of its own file; it returns a status and
** describes a failure in the Error, and prints results only.
*/
#ifndef STRATA_COMMANDS_H
#define STRATA_COMMANDS_H

#include "standalone.h"

int command_info(const Program *p, Error *e);
int command_train(const Program *p, Error *e);
int command_eval(const Program *p, Error *e);
int command_generate(const Program *p, Error *e);
int command_chat(const Program *p, Error *e);
int command_logits(const Program *p, Error *e);
int command_gradients(const Program *p, Error *e);
int command_bench(const Program *p, Error *e);
int command_probe(const Program *p, Error *e);
int command_score(const Program *p, Error *e);

#endif
