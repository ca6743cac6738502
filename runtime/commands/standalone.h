/* SPDX-License-Identifier: MIT
** The standalone program around one compiled model: what its commands share.  It knows none of
** them; commands.h lists them, program_main.c runs them.
*/
#ifndef STRATA_STANDALONE_H
#define STRATA_STANDALONE_H

#include "console.h"
#include "data.h"
#include "error.h"
#include "json.h"
#include "program_options.h"
#include "session.h"
#include "strata.h"
#include "tokenizer.h"

typedef struct Program {
    const strata_api *api;
    const strata_model *m;
    const strata_services *services; /* all of them may be missing */
    const char *path;                /* argv[0] */
    const char *file;                /* the same without its folders */
    Options options;
} Program;

static inline const OptionValue *option(const Program *p, OptionId id) {
    return &p->options.value[id];
}

/* A string of the descriptor. */
static inline const char *model_text(const Program *p, uint32_t at) {
    return strata_string(p->m, at);
}

/* What moves numbers between this rank and others; NULL: it is the only one. */
static inline const strata_reducer *program_reducer(const Program *p) {
    return p->services->reducer;
}

/* Opens a session for this command, with --threads. */
int program_session(const Program *p, Session *s, Error *e);

/* --weights of this command into s, and with 'tokenizer' (not NULL) what reads text for it; it
** stays empty where the model has none. */
int program_weights(const Program *p, Session *s, Tokenizer *tokenizer, Error *e);
/* The same, and in 'about' which step of a run they are, "" where they do not say so. */
enum { ABOUT_WEIGHTS = 512 };
int program_weights_about(const Program *p, Session *s, Tokenizer *tokenizer,
                          char about[ABOUT_WEIGHTS], Error *e);

/* "note: ..." on standard error; nothing for "". */
void program_note(const char *words);

/* What --data or --val names. */
DataWords program_words(const Program *p, OptionId id);
/* --data of this command as tokens, at least two of each source; to be freed with data_free.
** apart: each word is a source of its own. */
int program_data(const Program *p, const Tokenizer *tokenizer, bool apart, Data *d, Error *e);
/* An error unless the model has a tokenizer. */
int program_reads_text(const Program *p, Error *e);
/* An error if the model sees tokens it would have to predict. */
int program_causal(const Program *p, const char *command, Error *e);

/* Whether some products are OpenBLAS's; which one that is, and for which processor its kernels are:
** "OpenBLAS 0.3.21, SkylakeX", or "none". */
bool program_calls_blas(const Program *p);
const char *program_blas(const Program *p);
/* Who multiplies matrices, for people. */
const char *program_products(const Program *p);

/* An error if 'out' is a file that the command's options name to be read, or this program: what
** --data and --val lead to is looked at with them. */
int program_unread(const Program *p, const char *out, Error *e);
/* The same of all files of some data. */
int program_unread_data(const char *out, const DataFiles *f, Error *e);

#endif
