/* SPDX-License-Identifier: MIT
** The front end: turns a spec, a Lua program, into a graph.  Every mistake that a user can make is
** reported here, with the spec's line; no later part of the compiler can fail on an accepted spec.
*/
#ifndef STRATA_SPEC_H
#define STRATA_SPEC_H

#include "error.h"
#include "graph.h"
#include "json.h"
#include "settings.h"

#include <stdio.h>

/* The values that a command line gives to options of specs: "NAME=VALUE", n times. */
typedef struct SpecChoices {
    const char *const *word;
    int n;
    bool
        *used; /* [n]: true of those that a spec declares; NULL: one that it does not is an error */
} SpecChoices;

/* The limits of a spec, where 0 means the default, and its inputs. */
typedef struct SpecLimits {
    size_t memory;        /* bytes of Lua's heap: 64 MB */
    int64_t instructions; /* of Lua's machine, the library's included: 50 million */
    size_t file;          /* bytes of one source file: 4 MB */
    int64_t layers;       /* 10 000 */
    size_t graph;         /* bytes of nodes built, about: 1 GB */
    double seconds;       /* of processor time: 600, for operations are no instructions */
    SpecChoices chosen;
    FILE *console; /* where 'print' of specs writes; NULL: nowhere */
} SpecLimits;

extern const SpecLimits spec_limits; /* the defaults */

/* Compiling takes more memory than the graph, which may take one part in this many. */
enum { SPEC_GRAPH_SHARE = 8 };

/* One depth read: the number of sources of the sublayer at 'site'. */
typedef struct DepthRead {
    const char *site;
    int64_t sources;
    Node *result; /* what the mixer returned; NULL: the model does not depend on it */
} DepthRead;

/* What a spec declares with option { }, all as text.  wanted: "an integer of at least 1". */
typedef struct SpecOption {
    const char *name, *value, *initial; /* as -D takes them; NULL: none */
    const char *json;                   /* the value; "null": none */
    const char *wanted, *help;          /* help "": none is given */
    Loc at;
    bool chosen; /* on the command line */
} SpecOption;

/* A file whose bytes the model's program carries; bytes NULL: none. */
typedef struct CarriedFile {
    char *bytes;
    size_t size;
    char sha256[65]; /* in hexadecimal */
} CarriedFile;

typedef struct Model {
    /* outputs "logits", "nll", "cross_entropy", "loss", and statistics of buffers */
    Graph *graph;
    Graph *rules; /* outputs "grad.<buffer>": its new value; NULL: no buffer has a rule */
    const char *name, *file;
    const char *tokenizer; /* "bytes", "chars", or a file's name in the spec's folder; NULL: none */
    CarriedFile tokenizer_file;
    const char *mixer; /* the name of its file, without ".lua" */
    int64_t vocab, context, dim, layers, sublayers, parameters;
    Settings train;
    double adapter_scale; /* of lora { }: alpha / rank; 0: there are no adapters */
    /* SHA-256 of every file read, the library and the compiler's version: in hexadecimal, and its
    ** first 64 bits */
    char key[65];
    uint64_t hash;
    DepthRead *read; /* in order of execution, the final read last */
    int nread;
    /* what mixers were given: the embedding, then each sublayer's output; NULL as above */
    Node **source;
    int nsource;
    const char **note; /* to print: what is legal but perhaps not meant */
    int nnote;
    SpecOption *option; /* in the order of their names in each option { } */
    int noption;
    const char *options; /* their values, JSON: {"width": 64, "mixer": "haares"} */
    const char *acausal; /* site of a sublayer that sees the future; NULL: none */
    const char *ahead;   /* site of a route that chooses among later tokens; NULL: none */
    /* files that were read, as they are shown in messages: the spec first */
    const char **read_file;
    int nread_file;
} Model;

/* Runs the spec at 'path'.  NULL on failure: a mistake, a limit, or a file that could not be read.
** The text is "FILE:LINE: expected ..., found ..." and, where it is known, the source line on a
** second line. */
Model *spec_load(const char *path, const SpecLimits *limits, Error *e);
/* The same with layers that work on all tokens, with which routes are compared. */
Model *spec_load_dense(const char *path, const SpecLimits *limits, Error *e);

/* The same for a text that will be the file at 'path'.  tokenizer: where the tokenizer's file that
** it names is until then; NULL: beside 'path'. */
Model *spec_load_text(const char *path, const char *text, size_t size, const char *tokenizer,
                      const SpecLimits *limits, Error *e);

/* Evaluates a part of a spec from the command line: the text of one expression that makes an object
** of 'kind', "mixer" or "route", in the folder of the spec at 'path'.  Errors name 'option'. */
typedef struct SpecValue {
    const char *option, *text, *kind, *path;
} SpecValue;
int spec_check_value(const SpecValue *v, Error *e);

/* The same in two steps: first the library's part, which is most of the work, before there is a
** spec; then one spec, whatever the result of the first step.  NULL if there is no memory, which
** spec_read will report. */
typedef struct Front Front;
Front *spec_open(const SpecLimits *limits, bool dense);
Model *spec_read(Front *f, const char *path, Error *e);
void spec_free(Model *m);

/* A model's options for people, one per line: how to type it, its values, its purpose. */
void spec_options_text(const Model *m, Text *t);
/* Reports words that none of n specs uses, in an error that names what the specs declare. */
int spec_options_unused(const SpecChoices *c, const Model *const *m, int n, Error *e);

/* A file of the embedded library, by the name that lines of it have: "library/norms/rmsnorm.lua";
** NULL: there is none. */
const char *spec_library_text(const char *chunk, size_t *size);

void spec_ops_markdown(FILE *f);    /* specs/library/ops.md */
void spec_ops_annotations(FILE *f); /* the first part of spec_annotations */
/* A Lua file for editors (LuaCATS, "---@meta"): all that a spec can call, with types;
** 0, or 1 if it could not be listed. */
int spec_annotations(FILE *f);
int spec_luacheck(FILE *f); /* a .luacheckrc; returns the same */
/* Every name a spec can reach and its type, one per line, sorted; 0, or 1 if it
** could not be listed. */
int spec_reachable(FILE *f);

#endif
