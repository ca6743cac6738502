/* SPDX-License-Identifier: MIT
** JSON Lines; see jsonl.h. */
#include "jsonl.h"

#include <stdlib.h>
#include <string.h>

enum { STEP = 1 << 16, VALUES = 1 << 20 };

int jsonl_open(Jsonl *l, const char *path, Error *e) {
    *l = (Jsonl){ .in.fd = -1 };
    size_t place = strlen(path) + 24;
    int status = input_open(&l->in, path, e);
    if (status) return status;
    l->place = malloc(place);
    l->buffer = malloc(l->room = STEP);
    if (l->place && l->buffer) return STATUS_OK;
    jsonl_close(l);
    return error_memory(e, path, place + STEP);
}

void jsonl_close(Jsonl *l) {
    if (l->buffer || l->place) input_close(&l->in);
    free(l->buffer);
    free(l->place);
    *l = (Jsonl){ .in.fd = -1 };
}

static int at_line(Jsonl *l) {
    return print_text(l->place, strlen(l->in.path) + 24, "%s:%lld", l->in.path, (long long)l->line);
}

/* Room for STEP more bytes behind those that are there. */
static int make_room(Jsonl *l, Error *e) {
    size_t held = l->end - l->start;
    memmove(l->buffer, l->buffer + l->start, held);
    l->start = 0;
    l->end = held;
    if (l->room - held >= STEP) return STATUS_OK;
    if (held >= JSONL_LINE)
        return error_set(e, STATUS_LIMIT, "%s: expected a line of at most %d bytes, found more",
                         l->place, JSONL_LINE);
    char *bigger = realloc(l->buffer, 2 * l->room);
    if (!bigger) return error_memory(e, l->place, 2 * l->room);
    l->buffer = bigger;
    l->room *= 2;
    return STATUS_OK;
}

/* More of the file; *got is 0 at its end. */
static int fill(Jsonl *l, size_t *got, Error *e) {
    uint64_t left = (uint64_t)l->in.before.st_size - l->at;
    *got = left < STEP ? (size_t)left : STEP;
    if (!*got) return input_unchanged(&l->in, e);
    int status = make_room(l, e);
    if (!status) status = input_read(&l->in, l->at, l->buffer + l->end, *got, e);
    if (status) return status;
    l->at += *got;
    l->end += *got;
    return STATUS_OK;
}

/* The next line without its end: *length bytes at l->buffer + l->start; *more as jsonl_next's. */
static int next_line(Jsonl *l, size_t *length, bool *more, Error *e) {
    size_t seen = 0, got = 1;
    l->line++;
    at_line(l);
    for (;;) {
        char *from = l->buffer + l->start,
             *end = memchr(from + seen, '\n', l->end - l->start - seen);
        if (end || !got) {
            *length = end ? (size_t)(end - from) : l->end - l->start;
            *more = end || *length;
            return STATUS_OK;
        }
        seen = l->end - l->start;
        int status = fill(l, &got, e);
        if (status) return status;
    }
}

static bool blank(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r", text[i]) || !text[i]) return false;
    return true;
}

int jsonl_next(Jsonl *l, Json *j, bool *more, Error *e) {
    json_free(j);
    for (;;) {
        size_t length;
        int status = next_line(l, &length, more, e);
        if (status || !*more) return status;
        const char *text = l->buffer + l->start;
        l->start += length + (l->start + length < l->end);
        if (!blank(text, length)) return json_parse(j, l->place, text, length, VALUES, e);
    }
}
