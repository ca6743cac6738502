/* SPDX-License-Identifier: MIT
** What the parts of strata export share. */
#ifndef STRATA_EXPORT_H
#define STRATA_EXPORT_H

#include "command.h"
#include "files.h"
#include "spec.h"
#include "tensor_plan.h"

typedef struct Export {
    const char *spec, *weights, *out;
    Model *model;
    Safetensors file;        /* the weights */
    CheckpointFolder folder; /* its tensors that are the model's, as a checkpoint's */
    bool check, overwrite;
    Allowance *allowance;
} Export;

/* export_weights.c: opens them and compares options, names and shapes with the model's. */
int export_weights(Export *x, const Options *o, Error *e);
/* export_place.c: what is written must be none of the files that are read, nor hold one. */
int export_unread(const Export *x, Error *e);

/* export_folder.c: a folder that appears whole. Files are written into 'temp'; 'commit' gives it
** its name. */
typedef struct ExportFolder {
    char *temp, *path;
    int lock;     /* of the temporary folder */
    int replaced; /* the same of what it takes the place of */
    bool replaces;
    Allowance *allowance;
} ExportFolder;
int export_folder_open(ExportFolder *f, const char *path, bool overwrite, Allowance *a, Error *e);
/* The path of a file in it, to be freed; NULL: no memory (an error is set). */
char *export_folder_file(const ExportFolder *f, const char *name, Error *e);
int export_folder_text(const ExportFolder *f, const char *name, const Text *t, Error *e);
int export_folder_commit(ExportFolder *f, Error *e);
void export_folder_close(ExportFolder *f); /* removes what did not get its name */

/* export_tokenizer.c: the path of the tokenizer's file, to be freed; NULL: there is none, or an
** error. */
char *export_tokenizer(const Export *x, Error *e);
/* By the ending of a file's name; -1: it is no tokenizer's. */
enum { EXPORT_JSON, EXPORT_MODEL, EXPORT_TIKTOKEN, EXPORT_TOKENIZERS };
int export_tokenizer_form(const char *file);
/* Says what 'reader' ("transformers") does not get: 'file' is what export_tokenizer gave. */
void export_tokenizer_tell(const Export *x, const char *file, const char *reader);

/* export_check.c: what a folder has, read back, is the weights bit for bit, and, where 'known', the
** importer makes the spec's graph of it. */
int export_check(const Export *x, const ExportFolder *f, bool known, Error *e);

/* export_hf.c: a folder for transformers */
int export_hf(Export *x, Error *e);
/* export_gguf.c: a file for llama.cpp */
int export_gguf(Export *x, const char *type, Error *e);

#endif
