/* SPDX-License-Identifier: MIT
** The format: records of length, its checksum, bytes, their checksum (masked CRC-32C,
** little endian); the bytes are Event messages of TensorFlow's event.proto.
*/
#include "event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SCALARS = 8, TAG = 64, RECORD = 64 + SCALARS * (TAG + 24), NAMES = 1000 };

/* == Bytes ================================================================ */

typedef struct Bytes {
    unsigned char at[RECORD];
    size_t length;
} Bytes;

static void add_bytes(Bytes *b, const void *bytes, size_t n) {
    memcpy(b->at + b->length, bytes, n);
    b->length += n;
}

static void add_little(Bytes *b, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        b->at[b->length++] = (unsigned char)(value >> 8 * i);
}

static void add_varint(Bytes *b, uint64_t value) {
    for (; value >= 128; value >>= 7)
        b->at[b->length++] = (unsigned char)(value | 128);
    b->at[b->length++] = (unsigned char)value;
}

/* CRC-32C (Castagnoli), reflected; a few records a step need no table. */
static uint32_t crc32c(const unsigned char *p, size_t n) {
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static uint32_t masked(const unsigned char *p, size_t n) {
    uint32_t crc = crc32c(p, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* == Messages ============================================================= */

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 }; /* wire types */

static void add_key(Bytes *b, int field, int type) { add_varint(b, (uint64_t)(field << 3 | type)); }

static void add_message(Bytes *b, int field, const void *bytes, size_t n) {
    add_key(b, field, LENGTH);
    add_varint(b, n);
    add_bytes(b, bytes, n);
}

/* An Event: wall_time = 1, step = 2 */
static void start_event(Bytes *b, int64_t step) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    b->length = 0;
    add_key(b, 1, FIXED64);
    add_little(b, bits, 8);
    add_key(b, 2, VARINT);
    add_varint(b, (uint64_t)step);
}

/* A Summary.Value: tag = 1, simple_value = 2 */
static void add_scalar(Bytes *summary, const EventScalar *s) {
    Bytes value = { .length = 0 };
    float x = (float)s->value;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    add_message(&value, 1, s->tag, strnlen(s->tag, TAG));
    add_key(&value, 2, FIXED32);
    add_little(&value, bits, 4);
    add_message(summary, 1, value.at, value.length);
}

static int write_record(EventFile *f, const Bytes *event, Error *e) {
    unsigned char record[RECORD + 16];
    Bytes head = { .length = 0 }, tail = { .length = 0 };
    add_little(&head, event->length, 8);
    add_little(&head, masked(head.at, 8), 4);
    add_little(&tail, masked(event->at, event->length), 4);
    memcpy(record, head.at, 12);
    memcpy(record + 12, event->at, event->length);
    memcpy(record + 12 + event->length, tail.at, 4);
    size_t done = 0, size = event->length + 16;
    while (done < size) {
        ssize_t n = write(f->fd, record + done, size - done);
        if (n < 0 && errno != EINTR) return error_errno(e, f->path, "write", errno);
        done += n > 0 ? (size_t)n : 0;
    }
    return STATUS_OK;
}

/* == Files ================================================================ */

/* A name that is not taken; readers look for "tfevents" and the time. */
static int create(EventFile *f, const char *folder, Error *e) {
    size_t size = strlen(folder) + 80;
    f->path = malloc(size);
    if (!f->path) return error_memory(e, folder, size);
    for (int i = 0; i < NAMES; i++) {
        snprintf(f->path, size, "%s/events.out.tfevents.%lld.strata.%d", folder,
                 (long long)time(NULL), i);
        f->fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC, 0666);
        if (f->fd >= 0) return STATUS_OK;
        if (errno != EEXIST) break;
    }
    return error_errno(e, f->path, "create", errno);
}

/* file_version = 3; session_log = 7 with status START = 1 */
static int write_start(EventFile *f, int64_t step, Error *e) {
    static const char version[] = "brain.Event:2";
    static const unsigned char start[] = { 1 << 3 | VARINT, 1 };
    Bytes b;
    start_event(&b, 0);
    add_message(&b, 3, version, sizeof version - 1);
    int status = write_record(f, &b, e);
    if (status || step == 0) return status;
    start_event(&b, step + 1);
    add_message(&b, 7, start, sizeof start);
    return write_record(f, &b, e);
}

int event_file_open(EventFile *f, const char *folder, int64_t step, Error *e) {
    *f = (EventFile){ .fd = -1 };
    if (!folder) return STATUS_OK;
    if (mkdir(folder, 0777) && errno != EEXIST)
        return error_errno(e, folder, "make a folder", errno);
    int status = create(f, folder, e);
    if (!status) status = write_start(f, step, e);
    if (status) event_file_close(f);
    return status;
}

int event_file_add(EventFile *f, int64_t step, const EventScalar *scalar, int count, Error *e) {
    if (f->fd < 0) return STATUS_OK;
    Bytes b, summary = { .length = 0 };
    for (int i = 0; i < count && i < SCALARS; i++)
        add_scalar(&summary, &scalar[i]);
    start_event(&b, step);
    add_message(&b, 5, summary.at, summary.length);
    return write_record(f, &b, e);
}

void event_file_close(EventFile *f) {
    if (f->fd >= 0) close(f->fd);
    free(f->path);
    *f = (EventFile){ .fd = -1 };
}
