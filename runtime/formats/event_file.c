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

enum { NAMES = 1000 };

/* == Bytes ================================================================ */

static void add_little(Text *b, uint64_t value, int bytes) {
    char at[8];
    for (int i = 0; i < bytes; i++)
        at[i] = (char)(value >> 8 * i);
    text_bytes(b, at, (size_t)bytes);
}

static void add_varint(Text *b, uint64_t value) {
    for (; value >= 128; value >>= 7)
        add_little(b, value | 128, 1);
    add_little(b, value, 1);
}

/* CRC-32C (Castagnoli), reflected; a few records a step need no table. */
static uint32_t crc32c(const char *p, size_t n) {
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned char)p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static uint32_t masked(const char *p, size_t n) {
    uint32_t crc = crc32c(p, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* == Messages ============================================================= */

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 }; /* wire types */

static void add_key(Text *b, int field, int type) { add_varint(b, (uint64_t)(field << 3 | type)); }

static void event_file_add_number(Text *b, int field, uint64_t value) {
    add_key(b, field, VARINT);
    add_varint(b, value);
}

/* Bytes, a string or a message. */
static void add_bytes(Text *b, int field, const char *bytes, size_t n) {
    add_key(b, field, LENGTH);
    add_varint(b, n);
    text_bytes(b, bytes, n);
}

static void add_message(Text *b, int field, const Text *message) {
    if (message->failed) b->failed = true;
    else add_bytes(b, field, message->at, message->length);
}

/* An Event: wall_time = 1, step = 2 */
static void start_event(Text *b, int64_t step) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    text_clear(b);
    add_key(b, 1, FIXED64);
    add_little(b, bits, 8);
    event_file_add_number(b, 2, (uint64_t)step);
}

/* A Summary.Value: its field 1 is the tag, 2 the number. */
static void add_scalar(EventFile *f, const EventScalar *s) {
    float x = (float)s->value;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    text_clear(&f->value);
    add_bytes(&f->value, 1, s->tag, strlen(s->tag));
    add_key(&f->value, 2, FIXED32);
    add_little(&f->value, bits, 4);
    add_message(&f->summary, 1, &f->value);
}

/* A Summary.Value: its field 1 is the tag, 8 the tensor, 9 the metadata.  In the metadata, field 1
** is the plugin, whose field 1 is its name, and 4 the class of data, TENSOR.  In the tensor, field
** 1 is the type, STRING, and 8 the text; without a shape its rank is 0. */
static void event_file_add_text(EventFile *f, const char *tag, const char *text, size_t length) {
    enum { TENSOR = 2, STRING = 7 };
    Text plugin = { 0 }, metadata = { 0 }, tensor = { 0 };
    add_bytes(&plugin, 1, "text", 4);
    add_message(&metadata, 1, &plugin);
    event_file_add_number(&metadata, 4, TENSOR);
    event_file_add_number(&tensor, 1, STRING);
    add_bytes(&tensor, 8, text, length);
    text_clear(&f->value);
    add_bytes(&f->value, 1, tag, strlen(tag));
    add_message(&f->value, 8, &tensor);
    add_message(&f->value, 9, &metadata);
    add_message(&f->summary, 1, &f->value);
    text_free(&plugin), text_free(&metadata), text_free(&tensor);
}

static int event_file_write_all(EventFile *f, const Text *t, Error *e) {
    for (size_t done = 0; done < t->length;) {
        ssize_t n = write(f->fd, t->at + done, t->length - done);
        if (n < 0 && errno != EINTR) return error_errno(e, f->path, "write", errno);
        done += n > 0 ? (size_t)n : 0;
    }
    return STATUS_OK;
}

/* f->event */
static int write_record(EventFile *f, Error *e) {
    const Text *event = &f->event;
    int status = text_status(event, e);
    if (status) return status;
    text_clear(&f->record);
    add_little(&f->record, event->length, 8);
    add_little(&f->record, f->record.at ? masked(f->record.at, 8) : 0, 4);
    text_bytes(&f->record, event->at, event->length);
    add_little(&f->record, masked(event->at, event->length), 4);
    status = text_status(&f->record, e);
    return status ? status : event_file_write_all(f, &f->record, e);
}

/* f->summary: summary = 5 of an Event */
static int write_summary(EventFile *f, int64_t step, Error *e) {
    start_event(&f->event, step);
    add_message(&f->event, 5, &f->summary);
    return write_record(f, e);
}

/* == Files ================================================================ */

/* A name that is not taken; readers look for "tfevents" and the time. */
static int create(EventFile *f, const char *folder, Error *e) {
    size_t size = strlen(folder) + 80;
    struct stat is;
    if (!stat(folder, &is) && !S_ISDIR(is.st_mode))
        return error_set(e, STATUS_USER, "%s: expected a folder, found a file that is none",
                         folder);
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

/* Field 3 of an event is the version of the file, 7 the log of the session: it starts. */
static int write_start(EventFile *f, int64_t step, Error *e) {
    static const char version[] = "brain.Event:2";
    static const char start[] = { 1 << 3 | VARINT, 1 };
    start_event(&f->event, 0);
    add_bytes(&f->event, 3, version, sizeof version - 1);
    int status = write_record(f, e);
    if (status || step == 0) return status;
    start_event(&f->event, step + 1);
    add_bytes(&f->event, 7, start, sizeof start);
    return write_record(f, e);
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
    text_clear(&f->summary);
    for (int i = 0; i < count; i++)
        add_scalar(f, &scalar[i]);
    return write_summary(f, step, e);
}

int event_file_text(EventFile *f, int64_t step, const char *tag, const char *text, Error *e) {
    if (f->fd < 0) return STATUS_OK;
    text_clear(&f->summary);
    event_file_add_text(f, tag, text, strlen(text));
    return write_summary(f, step, e);
}

void event_file_close(EventFile *f) {
    if (f->fd >= 0) close(f->fd);
    free(f->path);
    text_free(&f->value), text_free(&f->summary), text_free(&f->event), text_free(&f->record);
    *f = (EventFile){ .fd = -1 };
}
