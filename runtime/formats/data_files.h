/* SPDX-License-Identifier: MIT
** The files that --data, --val and the words of strata tokens name: what is looked at before a
** token is made of them.
**   A word is a file, or a folder: all files below it, in the order of their names (bytes are
**   compared), folders among files; names that begin with a dot are left out, links to folders too.
**   WORD:WEIGHT, a positive number, has a weight, unless a file or folder has that whole name.
** A file is a token file if it begins with the number of one (token_file.h), JSON lines if its
** name ends in .jsonl or .ndjson, an array of texts if its name ends in .json and it begins with
** '[', JSON lines too if it ends in .json and its first line is a whole object, else text.  What is
** compressed is what it stands for; what is no text is refused (text_kind.h).
*/
#ifndef STRATA_DATA_FILES_H
#define STRATA_DATA_FILES_H

#include <sys/stat.h>

#include "error.h"
#include "stream.h"
#include "token_file.h"
#include "tokenizer.h"

enum { DATA_FILES_MOST = 100000, DATA_FOLDERS_DEEP = 64 };

/* The numbers are part of what data is known by. */
typedef enum DataKind { DATA_TEXT, DATA_JSONL, DATA_TOKENS, DATA_ARRAY } DataKind;

typedef struct DataFile {
    char *path;
    DataKind kind;
    StreamForm form;    /* how it is compressed */
    TokenHeader tokens; /* of a token file */
    struct stat before; /* what it was */
} DataFile;

typedef struct DataWord {
    char *name;    /* without its weight */
    double weight; /* 0: none was given */
    int first, files;
} DataWord;

/* As they were asked for; outlives what is made of it. */
typedef struct DataWords {
    const char *option; /* that names them, for messages */
    const char *const *word;
    int words;
    const char *field; /* of a JSON line: its text */
} DataWords;

typedef struct DataFiles {
    const char *option, *field;
    DataWord *word;
    int words;
    DataFile *file;
    int files, room;
    char sha256[65]; /* what it is, to be known again: see data_files_identify */
    char joined[65]; /* of plain text without weights, that of all bytes alone; else "" */
} DataFiles;

/* Looks at every file. After an error there is nothing to free. */
int data_files_open(DataFiles *f, const DataWords *words, Error *e);
void data_files_free(DataFiles *f);

/* Texts among them, so that a tokenizer is needed? */
bool data_files_text(const DataFiles *f);
/* JSON lines or arrays among them, of which a field is read? */
bool data_files_fields(const DataFiles *f);
/* An error if a field was asked for, another than is read anyway, of data without one. */
int data_field_used(const char *field, const char *option, bool fields, Error *e);
/* An error if a word has a weight: 'why' ends the message. */
int data_files_unweighted(const DataFiles *f, Error *e);

/*
** data_identity.c.  What tells this data from other data, in hexadecimal: the SHA-256 of the files'
** bytes one after another, where they have at most DATA_WHOLE bytes together; else of each one's
** size and of pieces spread over it.  If they are more than plain text, that of this and of their
** kinds, sizes, weights and the field; if they are several texts, of this and of where each ends:
** 'joined' is what they were known by before their ends counted.
*/
enum { DATA_WHOLE = 256 << 20 };
int data_files_identify(DataFiles *f, Error *e);
/* The same of one file that is no data: of its bytes alone. */
int file_identify(const char *path, char sha256[65], Error *e);

/* Opens what is still as it was. */
int data_file_open(const DataFile *f, struct Input *in, Error *e);

/* A tokenizer of the texts: tokenizer_learn of all documents. */
int data_files_learn(const DataFiles *f, Tokenizer *t, const TokenizerKind *kind, int64_t vocab,
                     Error *e);

#endif
