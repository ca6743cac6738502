/* SPDX-License-Identifier: MIT
** JSON Lines; see jsonl.h. */
#include "jsonl.h"

#include <stdlib.h>
#include <string.h>

enum { STEP = 1 << 16, PLACE = 32 };

bool jsonl_is_array(StreamForm form, const char *path, const unsigned char *head, size_t n) {
    size_t length = stream_name(form, path);
    if (length < 6 || strncmp(path + length - 5, ".json", 5) != 0) return false;
    while (n && strchr(" \t\r\n", *head) && *head)
        head++, n--;
    return n && *head == '[';
}

int jsonl_open(Jsonl *l, const char *path, Error *e) {
    Stream in;
    const unsigned char *head;
    size_t n;
    *l = (Jsonl){ 0 };
    int status = stream_open(&in, path, e);
    if (status) return status;
    status = stream_head(&in, &head, &n, e);
    if (!status) return jsonl_start(l, &in, jsonl_is_array(in.form, path, head, n), e);
    stream_close(&in);
    return status;
}

int jsonl_start(Jsonl *l, const Stream *in, bool array, Error *e) {
    const char *path = in->in.path;
    size_t place = strlen(path) + PLACE;
    *l = (Jsonl){ .in = *in, .array = array };
    l->place = malloc(place);
    l->buffer = malloc(l->room = STEP);
    if (l->place && l->buffer) return STATUS_OK;
    int status = error_memory(e, path, place + STEP);
    jsonl_close(l);
    return status;
}

void jsonl_close(Jsonl *l) {
    stream_close(&l->in);
    free(l->buffer);
    free(l->place);
    *l = (Jsonl){ 0 };
}

static int at_line(Jsonl *l) {
    const char *path = l->in.in.path;
    return print_text(l->place, strlen(path) + PLACE, "%s:%s%lld", path, l->array ? "element " : "",
                      (long long)l->line);
}

/* Room for STEP more bytes behind those that are there. */
static int jsonl_make_room(Jsonl *l, Error *e) {
    size_t held = l->end - l->start;
    memmove(l->buffer, l->buffer + l->start, held);
    l->start = 0;
    l->end = held;
    if (held >= JSONL_LINE)
        return error_set(e, STATUS_LIMIT, "%s: expected %s of at most %d bytes, found more",
                         l->place, l->array ? "an element" : "a line", JSONL_LINE);
    if (l->room - held >= STEP) return STATUS_OK;
    char *bigger = realloc(l->buffer, 2 * l->room);
    if (!bigger) return error_memory(e, l->place, 2 * l->room);
    l->buffer = bigger;
    l->room *= 2;
    return STATUS_OK;
}

/* More of the file; *got is 0 at its end. */
static int jsonl_fill(Jsonl *l, size_t *got, Error *e) {
    int status = jsonl_make_room(l, e);
    size_t most = JSONL_LINE - (l->end - l->start);
    if (!status)
        status = stream_read(&l->in, l->buffer + l->end, most < STEP ? most : STEP, got, e);
    if (status) return status;
    l->end += *got;
    return STATUS_OK;
}

/* The next line without its end: *length bytes at l->buffer + l->start; *more as jsonl_next's. */
static int jsonl_next_line(Jsonl *l, size_t *length, bool *more, Error *e) {
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
        int status = jsonl_fill(l, &got, e);
        if (status) return status;
    }
}

static bool blank(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r", text[i]) || !text[i]) return false;
    return true;
}

/* == Lines ================================================================ */

/* Parses it; a value that the line's end cuts goes on in the next one. */
static int parse_line(const Jsonl *l, Json *j, const char *text, size_t length, Error *e) {
    static const char cut[] = ", found the end";
    int status = json_parse(j, l->place, text, length, JSONL_VALUES, e);
    size_t n = status == STATUS_USER && e ? strlen(e->text) : 0;
    bool ends = n >= sizeof cut && !strcmp(e->text + n - (sizeof cut - 1), cut);
    if (!ends || l->start == l->end) return status;
    *e = (Error){ 0 };
    return error_set(e, STATUS_USER,
                     "%s: expected a whole value on the line, found one that goes on in the next; "
                     "one of several lines is read within [ ] in a .json file",
                     l->place);
}

static int value_of_line(Jsonl *l, Json *j, bool *more, Error *e) {
    for (;;) {
        size_t length;
        int status = jsonl_next_line(l, &length, more, e);
        if (status || !*more) return status;
        const char *text = l->buffer + l->start;
        l->start += length + (l->start + length < l->end);
        if (!blank(text, length)) return parse_line(l, j, text, length, e);
    }
}

/* == Elements ============================================================= */

/* The next character that is no blank, which stays; 0: the file's end. */
static int peek(Jsonl *l, char *next, Error *e) {
    size_t got = 1;
    int status = STATUS_OK;
    for (*next = 0; !status && got;) {
        while (l->start < l->end && strchr(" \t\r\n", l->buffer[l->start]))
            l->start++;
        if (l->start < l->end) {
            *next = l->buffer[l->start];
            return STATUS_OK;
        }
        status = jsonl_fill(l, &got, e);
    }
    return status;
}

static int unexpected(const Jsonl *l, const char *expected, char found, Error *e) {
    return error_set(e, STATUS_USER,
                     found ? "%s: expected %s, found '%c'" : "%s: expected %s, found the end",
                     l->place, expected, found);
}

/* Bytes up to the ',' or ']' behind an element, which is not looked into further. */
static int element_length(Jsonl *l, size_t *length, Error *e) {
    bool quoted = false, escaped = false;
    int64_t depth = 0;
    size_t got = 1;
    for (*length = 0; got;) {
        for (; l->start + *length < l->end; ++*length) {
            char c = l->buffer[l->start + *length];
            if (escaped) escaped = false;
            else if (quoted) escaped = c == '\\', quoted = c != '"';
            else if (c == '"') quoted = true;
            else if (c == '[' || c == '{') depth++;
            else if (!depth && (c == ',' || c == ']')) return STATUS_OK;
            else if ((c == ']' || c == '}') && !depth--)
                return ++*length, STATUS_OK; /* one too many */
        }
        int status = jsonl_fill(l, &got, e);
        if (status) return status;
    }
    return unexpected(l, "',' or ']' behind the element", 0, e);
}

/* At the array's beginning, or at what is behind an element; *more: another element follows. */
static int step_on(Jsonl *l, bool *more, Error *e) {
    char next;
    bool first = !l->line;
    int status = peek(l, &next, e);
    if (status) return status;
    if (first && next != '[') return unexpected(l, "'['", next, e);
    l->start++;
    *more = next != ']';
    if (!first) return STATUS_OK;
    status = peek(l, &next, e);
    *more = next != ']';
    l->start += next == ']';
    return status;
}

static int value_of_array(Jsonl *l, Json *j, bool *more, Error *e) {
    char next;
    size_t length;
    int status = STATUS_OK;
    *more = false;
    at_line(l);
    if (!l->closed) status = step_on(l, more, e);
    l->closed |= !*more;
    l->line++;
    at_line(l);
    if (!status && *more) {
        status = element_length(l, &length, e);
        if (!status)
            status = json_parse(j, l->place, l->buffer + l->start, length, JSONL_VALUES, e);
        if (!status) l->start += length;
        return status;
    }
    if (!status) status = peek(l, &next, e);
    return !status && next ? unexpected(l, "the end behind the array", next, e) : status;
}

int jsonl_next(Jsonl *l, Json *j, bool *more, Error *e) {
    json_free(j);
    return l->array ? value_of_array(l, j, more, e) : value_of_line(l, j, more, e);
}
