/* SPDX-License-Identifier: MIT
** A call's message in its context, text and numbers without a C library, and the status that goes
** with it. */
#ifndef STRATA_TEXT_H
#define STRATA_TEXT_H

#include "frame.h"

typedef struct TextBuffer {
    char *at, *end;
} TextBuffer;

static inline void put(TextBuffer *t, const char *s) {
    while (*s && t->at < t->end)
        *t->at++ = *s++;
    *t->at = 0;
}

static inline void put_number(TextBuffer *t, int64_t v) {
    char digits[24];
    int n = 0;
    uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
    do
        digits[n++] = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0) digits[n++] = '-';
    char text[25];
    for (int i = 0; i < n; i++)
        text[i] = digits[n - 1 - i];
    text[n] = 0;
    put(t, text);
}

static inline TextBuffer message(Context *c) {
    return (TextBuffer){ c->message, c->message + sizeof c->message - 1 };
}

static inline int32_t fail(Context *c, int32_t status, const char *what, int64_t found,
                           const char *expected, int64_t limit) {
    TextBuffer t = message(c);
    put(&t, what);
    put_number(&t, found);
    put(&t, expected);
    put_number(&t, limit);
    return status;
}

/* Whether it is a control block that init prepared; its message is this call's from now on. */
static inline bool begin_call(Context *c) {
    if (!is_prepared(c)) return false;
    c->message[0] = 0;
    return true;
}

/* What a function of training answers in a build without: whatever it is called with. */
static inline int32_t lacks_training(Context *c) {
    if (begin_call(c)) {
        TextBuffer t = message(c);
        put(&t, "the model was built with --inference: it has nothing to train with");
    }
    return STRATA_ERROR_MISSING;
}

/* Members that have no meaning yet, of 'bytes' together. */
static inline int32_t check_reserved(Context *c, const char *what, const int64_t *p, size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof *p; i++) {
        if (!p[i]) continue;
        TextBuffer t = message(c);
        put(&t, "a reserved member of "), put(&t, what), put(&t, " is "), put_number(&t, p[i]),
            put(&t, ", expected 0");
        return STRATA_ERROR_ARGUMENT;
    }
    return STRATA_OK;
}

static inline int32_t check_pointer(Context *c, const char *what, const void *p) {
    if (p) return STRATA_OK;
    TextBuffer t = message(c);
    put(&t, what), put(&t, " is a null pointer");
    return STRATA_ERROR_ARGUMENT;
}

static inline int32_t check_finite(Context *c, const char *what, double x) {
    if (x - x == 0) return STRATA_OK; /* NaN and infinities are not */
    TextBuffer t = message(c);
    put(&t, what), put(&t, " is not finite");
    return STRATA_ERROR_ARGUMENT;
}

static inline int32_t check_region(Context *c, const char *what, const void *p) {
    int64_t off = (int64_t)((uintptr_t)p % STRATA_ALIGN);
    if (!p || !off) return check_pointer(c, what, p);
    TextBuffer t = message(c);
    put(&t, what), put(&t, " must be aligned; the address is off by "), put_number(&t, off),
        put(&t, " of "), put_number(&t, STRATA_ALIGN);
    return STRATA_ERROR_ARGUMENT;
}

#endif
