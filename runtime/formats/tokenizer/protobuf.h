/* SPDX-License-Identifier: MIT
** Messages of protocol buffers, field by field. */
#ifndef STRATA_PROTOBUF_H
#define STRATA_PROTOBUF_H

#include "json.h"

typedef struct Message {
    const char *at, *end;
} Message;

typedef struct Field {
    uint64_t number, value; /* of varints and fixed sizes */
    Message inside;         /* of what has a length */
    int wire;
} Field;

/* 1: a field, 0: the end, -1: there is none where one should be */
int message_next(Message *m, Field *f);

static inline size_t message_size(Message m) { return (size_t)(m.end - m.at); }

#endif
