/* SPDX-License-Identifier: MIT
** See protobuf.h; and the field that the object of text_facts.h is in. */
#include "protobuf.h"

#include "text_facts.h"
#include "text_object_model.h"

static bool varint(Message *m, uint64_t *out) {
    *out = 0;
    for (int shift = 0; shift < 64 && m->at < m->end; shift += 7) {
        unsigned char c = (unsigned char)*m->at++;
        *out |= (uint64_t)(c & 127) << shift;
        if (c < 128) return true;
    }
    return false;
}

int message_next(Message *m, Field *f) {
    uint64_t key, size;
    if (m->at == m->end) return 0;
    if (!varint(m, &key)) return -1;
    *f = (Field){ .number = key >> 3, .wire = (int)(key & 7) };
    if (!f->number) return -1;
    if (f->wire == 0) return varint(m, &f->value) ? 1 : -1;
    if (f->wire == 2) {
        if (!varint(m, &size) || size > (uint64_t)(m->end - m->at)) return -1;
        f->inside = (Message){ m->at, m->at + size };
        m->at += size;
        return 1;
    }
    size_t bytes = f->wire == 5 ? 4 : f->wire == 1 ? 8 : 0;
    if (!bytes || (size_t)(m->end - m->at) < bytes) return -1;
    for (size_t i = 0; i < bytes; i++)
        f->value |= (uint64_t)(unsigned char)m->at[i] << 8 * i;
    m->at += bytes;
    return 1;
}

/* == The object =========================================================== */

bool text_model_span(const char *bytes, size_t length, size_t *from, size_t *to) {
    Message m = { bytes, bytes + length };
    Field x;
    for (const char *at = bytes; message_next(&m, &x) > 0; at = m.at) {
        if (x.number != TEXT_FIELD || x.wire != 2) continue;
        *from = (size_t)(at - bytes);
        *to = (size_t)(m.at - bytes);
        return true;
    }
    return false;
}

bool text_model_object(const char *bytes, size_t length, const char **text, size_t *size) {
    Message m = { bytes, bytes + length };
    Field x;
    while (message_next(&m, &x) > 0) {
        if (x.number != TEXT_FIELD || x.wire != 2) continue;
        *text = x.inside.at;
        *size = message_size(x.inside);
        return true;
    }
    return false;
}

static void put_varint(Text *out, uint64_t value) {
    do {
        char c = (char)((value & 127) | (value > 127 ? 128 : 0));
        text_bytes(out, &c, 1);
        value >>= 7;
    } while (value);
}

void text_model_put(Text *out, const Text *object) {
    put_varint(out, (uint64_t)TEXT_FIELD << 3 | 2);
    put_varint(out, object->length);
    text_bytes(out, object->at, object->length);
}
