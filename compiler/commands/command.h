/* SPDX-License-Identifier: MIT
** The commands of the strata program.  Their options are in strata_options.def.  A command returns
** a status and describes a failure in the Error; only main.c prints errors and exits.
*/
#ifndef STRATA_COMMAND_H
#define STRATA_COMMAND_H

#include "allowance.h"
#include "error.h"
#include "passes.h"
#include "pipeline.h"
#include "strata_options.h"

#include <stdio.h>

int command_init(const Options *o, Error *e);
int command_import(const Options *o, Error *e);
int command_tokenizer(const Options *o, Error *e);
int command_run(const Options *o, Error *e);

/* These work in a process of their own (allowance.h). */
int command_build(const Options *o, Allowance *a, Error *e);
int command_check(const Options *o, Allowance *a, Error *e);
int command_inspect(const Options *o, Allowance *a, Error *e);
int command_tokens(const Options *o, Allowance *a, Error *e);
int command_compare(const Options *o, Allowance *a, Error *e);
int command_weights(const Options *o, Allowance *a, Error *e);
int command_quantize(const Options *o, Allowance *a, Error *e);
int command_export(const Options *o, Allowance *a, Error *e);
int command_doctor(const Options *o, Allowance *a, Error *e);

static inline const OptionValue *option_of(const Options *o, int option) {
    return &o->value[option];
}

/* Is a word the name of a spec, by its end? */
bool is_spec(const char *word);
/* The one spec of a command that takes one. */
int spec_of(const Options *o, const char **spec, Error *e);

/* A line with text that others wrote, escaped, between two pieces that are not. */
void show_line(FILE *f, const char *before, const char *text, const char *after);

/* The value of --memory. */
Keep keep_called(const char *name);
/* What --precision, --weights and --cache say; small weights are of programs that do not train. */
int operands_of(PassOptions *to, const char *command, const Options *o, Error *e);

/* pass_options.c: the value of --no-pass, passes with commas, and of --graph=after:PASS */
int no_pass_parse(const char *command, const char *value, unsigned *off, Error *e);
int after_pass_parse(const char *value, PassId *pass, Error *e);

#endif
