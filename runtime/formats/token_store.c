/* SPDX-License-Identifier: MIT
** See token_store.h. */
#include "token_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 14 }; /* bytes read at once */

static const char temporary[] = "";

void token_store_begin(TokenStore *s, int width) {
    *s = (TokenStore){ .width = width, .in.fd = -1 };
}

void token_store_file(TokenStore *s, const char *path, const struct stat *before) {
    *s = (TokenStore){ .in = { .fd = -1, .path = path, .before = *before } };
}

void token_store_free(TokenStore *s) {
    free(s->memory);
    if (s->in.path && s->in.fd >= 0) input_close(&s->in);
    *s = (TokenStore){ .in.fd = -1 };
}

/* == Adding =============================================================== */

/* A file that no folder has, or whose name is taken away at once. */
static int open_temporary(TokenStore *s, Error *e) {
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder) folder = "/var/tmp";
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
        size_t room = strlen(folder) + 32;
        char *path = malloc(room);
        if (!path) return error_memory(e, folder, room);
        print_text(path, room, "%s/strata-tokens-XXXXXX", folder);
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0) unlink(path);
        free(path);
    }
    if (fd < 0) return error_errno(e, folder, "make a temporary file for tokens in it", errno);
    s->in = (Input){ .fd = fd, .path = temporary };
    return STATUS_OK;
}

static int write_out(TokenStore *s, const void *bytes, size_t n, Error *e) {
    const char *p = bytes;
    while (n) {
        ssize_t put = write(s->in.fd, p, n < (1u << 30) ? n : (1u << 30));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            return error_errno(e, "temporary file of tokens", "write ($TMPDIR says where)", errno);
        p += put;
        n -= (size_t)put;
    }
    return STATUS_OK;
}

static int store_grow(TokenStore *s, size_t need, Error *e) {
    size_t room = s->room ? s->room : 4096;
    while (room < need)
        room *= 2;
    void *bigger = realloc(s->memory, room);
    if (!bigger) return error_memory(e, "tokens", room);
    s->memory = bigger;
    s->room = room;
    return STATUS_OK;
}

static int leave_memory(TokenStore *s, size_t bytes, Error *e) {
    int status = open_temporary(s, e);
    if (!status && bytes) status = write_out(s, s->memory, bytes, e);
    free(s->memory);
    s->memory = NULL;
    s->room = 0;
    return status;
}

int token_store_add(TokenStore *s, const void *ids, int64_t count, Error *e) {
    size_t have = (size_t)s->count * (size_t)s->width, more = (size_t)count * (size_t)s->width;
    int status = STATUS_OK;
    if (!s->in.path && have + more > TOKEN_STORE_MEMORY) status = leave_memory(s, have, e);
    if (!status && s->in.path) {
        status = write_out(s, ids, more, e);
    } else if (!status) {
        if (have + more > s->room) status = store_grow(s, have + more, e);
        if (!status) memcpy((char *)s->memory + have, ids, more);
    }
    if (!status) s->count += count;
    return status;
}

/* == Reading ============================================================== */

bool token_store_is_open(const TokenStore *s) {
    return s->in.path && s->in.path != temporary && s->in.fd >= 0;
}

void token_store_rest(TokenStore *s) {
    if (token_store_is_open(s)) input_close(&s->in);
}

/* As it was when it was looked at first, or refused. */
static int open_again(TokenStore *s, Error *e) {
    struct stat before = s->in.before;
    int status = input_open(&s->in, s->in.path, e);
    if (status) return status;
    s->in.before = before;
    status = input_unchanged(&s->in, e);
    if (status) input_close(&s->in);
    return status;
}

static void store_widen(const unsigned char *from, int width, int64_t n, int32_t *out) {
    for (int64_t i = 0; i < n; i++, from += width) {
        uint32_t id = from[0];
        for (int k = 1; k < width; k++)
            id |= (uint32_t)from[k] << 8 * k;
        out[i] = (int32_t)id;
    }
}

static int store_check(const TokenStore *s, int64_t first, int64_t n, int64_t vocab,
                       const int32_t *ids, Error *e) {
    for (int64_t i = 0; i < n; i++)
        if ((uint32_t)ids[i] >= vocab)
            return error_set(
                e, STATUS_USER, "%s:byte %llu: expected an id below the vocabulary, %lld, found %u",
                s->in.path && *s->in.path ? s->in.path : "tokens",
                (unsigned long long)(s->at + (uint64_t)(first + i) * (uint64_t)s->width),
                (long long)vocab, (uint32_t)ids[i]);
    return STATUS_OK;
}

static int store_read_file(TokenStore *s, int64_t first, int64_t n, int32_t *out, Error *e) {
    unsigned char bytes[PIECE];
    for (int64_t done = 0, now; done < n; done += now) {
        now = n - done < PIECE / s->width ? n - done : PIECE / s->width;
        uint64_t at = s->at + (uint64_t)(first + done) * (uint64_t)s->width;
        int status = input_read(&s->in, at, bytes, (size_t)now * (size_t)s->width, e);
        if (status) return status;
        store_widen(bytes, s->width, now, out + done);
    }
    return STATUS_OK;
}

int token_store_read(TokenStore *s, int64_t first, int64_t n, int64_t vocab, int32_t *out,
                     Error *e) {
    int status = STATUS_OK;
    if (s->memory) {
        store_widen((unsigned char *)s->memory + first * s->width, s->width, n, out);
    } else {
        if (s->in.fd < 0) status = open_again(s, e);
        if (!status) status = store_read_file(s, first, n, out, e);
        if (!status && token_store_is_open(s)) status = input_unchanged(&s->in, e);
    }
    return status ? status : store_check(s, first, n, vocab, out, e);
}
