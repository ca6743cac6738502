/* SPDX-License-Identifier: MIT
** What recorded_calls.c writes of a program's files, one record after another. */
#ifndef TESTS_RECORD_H
#define TESTS_RECORD_H

#include <stdint.h>

typedef enum RecordKind {
    RECORD_FILE,        /* 'from', before the first flush of the folder, is there; then: is made */
    RECORD_WRITE,       /* 'size' bytes, which follow the record, at 'at' of 'file' */
    RECORD_LENGTH,      /* 'file' is made 'size' long */
    RECORD_SYNC,        /* 'file' */
    RECORD_SYNC_FOLDER, /* the folder */
    RECORD_RENAME,      /* 'from' to 'to' */
    RECORD_EXCHANGE,    /* 'from' and 'to' */
    RECORD_REMOVE       /* 'from' */
} RecordKind;

typedef struct Record {
    RecordKind kind;
    uint64_t file, at, size; /* 'file': an inode's number */
    char from[64], to[64];
} Record;

#endif
