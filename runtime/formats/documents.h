/* SPDX-License-Identifier: MIT
** The documents of a file, in pieces, so that no file is loaded whole.  A text is one document.
** Its pieces end at whole characters and, if possible, before a line break after a letter, because
** tokenizers join nothing across it.  A JSON line is an object with a string member that is the
** document, in one piece; blank lines are skipped.  An element of a JSON array is such an object
** too, or the document itself.  Compressed files are expanded (stream.h).
*/
#ifndef STRATA_DOCUMENTS_H
#define STRATA_DOCUMENTS_H

#include "data_files.h"
#include "file_limits.h"
#include "jsonl.h"

enum {
    DOCUMENT_PIECE = 4 << 20 /* bytes of a text at once, at most */
};

typedef struct DocumentPiece {
    const char *text; /* until the next; NULL: there are no more */
    size_t length;
    bool begins;       /* a document */
    bool ends;         /* it */
    uint64_t before;   /* bytes of it in front */
    const char *place; /* of the document, for messages */
} DocumentPiece;

typedef struct DocumentReader {
    const DataFile *file;
    const char *field;
    bool utf8;   /* texts must be UTF-8 */
    Jsonl lines; /* of JSON lines; what follows is a text's */
    Json json;
    Stream in;
    uint64_t taken; /* bytes of the text that were given out */
    char *bytes;    /* read and not given out: from 'from', 'have' of them */
    size_t from, have, room;
} DocumentReader;

/* 'file' and 'field' outlive it. */
int documents_open(DocumentReader *r, const DataFile *file, const char *field, bool utf8, Error *e);
/* Messages say FILE:byte N of texts, FILE:LINE of JSON lines. */
int documents_next(DocumentReader *r, DocumentPiece *p, Error *e);
void documents_close(DocumentReader *r);

#endif
