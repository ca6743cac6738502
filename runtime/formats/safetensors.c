/* SPDX-License-Identifier: MIT
** The safetensors reader: opening and checking.  The checks, in order:
**   S1  the file holds 8 bytes of length, and the header that they announce
**   S2  the header is at most SAFETENSORS_HEADER bytes and begins with '{'
**   S3  strict JSON (json.h): depth, no key twice, UTF-8, number of values
**   S4  __metadata__ maps strings to strings
**   S5  a tensor has dtype, shape and data_offsets, each once, and nothing else
**   S6  dtype is known; rank <= 8; dimensions are integers >= 0
**   S7  product of dimensions times element size does not overflow and is the range's length
**   S8  ranges cover the data exactly: no overlap, no hole, nothing after the end
**   S9  at most SAFETENSORS_TENSORS tensors
*/
#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "safetensors_layout.h"
#include "token_file.h"

/* 14 values describe a tensor of rank 8; what is left over is for metadata. */
#define HEADER_VALUES 2000000u

static const struct {
    const char *name;
    int size;
} dtypes[DTYPES] = {
    [DTYPE_BOOL] = { "BOOL", 1 },       [DTYPE_U8] = { "U8", 1 },
    [DTYPE_I8] = { "I8", 1 },           [DTYPE_F8_E4M3] = { "F8_E4M3", 1 },
    [DTYPE_F8_E5M2] = { "F8_E5M2", 1 }, [DTYPE_U16] = { "U16", 2 },
    [DTYPE_I16] = { "I16", 2 },         [DTYPE_F16] = { "F16", 2 },
    [DTYPE_BF16] = { "BF16", 2 },       [DTYPE_U32] = { "U32", 4 },
    [DTYPE_I32] = { "I32", 4 },         [DTYPE_F32] = { "F32", 4 },
    [DTYPE_U64] = { "U64", 8 },         [DTYPE_I64] = { "I64", 8 },
    [DTYPE_F64] = { "F64", 8 },
};

const char *dtype_name(Dtype d) { return dtypes[d].name; }
int dtype_size(Dtype d) { return dtypes[d].size; }

static int safetensors_wrong(const Safetensors *s, const char *tensor, const char *what,
                             const char *found, Error *e) {
    return error_set(e, STATUS_USER, "%s:%s: expected %s, found %s", s->path, tensor, what, found);
}

static const char *safetensors_describe(const JsonNode *n) {
    switch (n->type) {
    case JSON_NULL: return "null";
    case JSON_FALSE: return "false";
    case JSON_TRUE: return "true";
    case JSON_ARRAY: return "a list";
    case JSON_OBJECT: return "an object";
    default: return n->text;
    }
}

/* == A tensor's fields ==================================================== */

static int read_dtype(const Safetensors *s, Tensor *t, const JsonNode *n, Error *e) {
    for (int d = 0; n->type == JSON_STRING && d < DTYPES; d++)
        if (!strcmp(n->text, dtypes[d].name)) {
            t->dtype = (Dtype)d;
            return STATUS_OK;
        }
    return safetensors_wrong(s, t->name, "a known dtype", safetensors_describe(n), e);
}

static int read_shape(const Safetensors *s, Tensor *t, const JsonNode *n, Error *e) {
    if (n->type != JSON_ARRAY)
        return safetensors_wrong(s, t->name, "a list as shape", safetensors_describe(n), e);
    if (n->count > SAFETENSORS_RANK)
        return error_set(e, STATUS_LIMIT, "%s:%s: expected a rank of at most %d, found %u", s->path,
                         t->name, SAFETENSORS_RANK, n->count);
    t->count = 1;
    for (const JsonNode *d = json_first(&s->header, n); d; d = json_next(&s->header, d)) {
        int64_t *dim = &t->shape[t->rank++];
        if (!json_int64(d, dim) || *dim < 0)
            return safetensors_wrong(s, t->name, "a dimension", safetensors_describe(d), e);
        if (__builtin_mul_overflow(t->count, *dim, &t->count))
            return safetensors_wrong(s, t->name, "a size that can be counted",
                                     "more than 2^63 elements", e);
    }
    return STATUS_OK;
}

/* 'at' and 'bytes' relative to the data for now. */
static int read_range(const Safetensors *s, Tensor *t, const JsonNode *n, Error *e) {
    int64_t begin = 0, end = 0;
    const JsonNode *a = n->type == JSON_ARRAY && n->count == 2 ? json_first(&s->header, n) : NULL;
    if (!a || !json_int64(a, &begin) || !json_int64(json_next(&s->header, a), &end) || begin < 0
        || end < begin)
        return safetensors_wrong(s, t->name, "data_offsets [begin, end]",
                                 a ? "numbers that are no range" : safetensors_describe(n), e);
    t->at = (uint64_t)begin;
    t->bytes = (uint64_t)(end - begin);
    return STATUS_OK;
}

static int read_tensor(Safetensors *s, Tensor *t, const JsonNode *n, Error *e) {
    static const char *const key[] = { "dtype", "shape", "data_offsets" };
    static int (*const read[])(const Safetensors *, Tensor *, const JsonNode *,
                               Error *) = { read_dtype, read_shape, read_range };
    *t = (Tensor){ .name = n->key };
    if (n->type != JSON_OBJECT)
        return safetensors_wrong(s, n->key, "an object with dtype, shape and data_offsets",
                                 safetensors_describe(n), e);
    for (int i = 0; i < 3; i++) {
        const JsonNode *field = json_member(&s->header, n, key[i]);
        if (!field) return safetensors_wrong(s, n->key, key[i], "none", e);
        int status = read[i](s, t, field, e);
        if (status) return status;
    }
    if (n->count != 3)
        return safetensors_wrong(s, n->key, "dtype, shape and data_offsets only", "another field",
                                 e);
    int64_t bytes;
    if (__builtin_mul_overflow(t->count, (int64_t)dtypes[t->dtype].size, &bytes))
        return safetensors_wrong(s, t->name, "a size that can be counted", "more than 2^63 bytes",
                                 e);
    if ((uint64_t)bytes != t->bytes)
        return error_set(e, STATUS_USER,
                         "%s:%s: expected %lld bytes for its shape and dtype, found %llu", s->path,
                         t->name, (long long)bytes, (unsigned long long)t->bytes);
    return STATUS_OK;
}

static int check_metadata(const Safetensors *s, const JsonNode *n, Error *e) {
    if (n->type != JSON_OBJECT)
        return safetensors_wrong(s, n->key, "an object", safetensors_describe(n), e);
    for (const JsonNode *c = json_first(&s->header, n); c; c = json_next(&s->header, c))
        if (c->type != JSON_STRING)
            return safetensors_wrong(s, n->key, "strings only", safetensors_describe(c), e);
    return STATUS_OK;
}

/* == The whole ============================================================ */

static int safetensors_by_place(const void *a, const void *b) {
    const Tensor *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int safetensors_by_name(const void *a, const void *b) {
    return strcmp(((const Tensor *)a)->name, ((const Tensor *)b)->name);
}

/* S8.  Leaves the tensors sorted by name, 'at' counted from the file's start. */
static int check_cover(Safetensors *s, uint64_t size, Error *e) {
    uint64_t at = 0, data = size - s->data;
    if (s->count) qsort(s->tensor, (size_t)s->count, sizeof *s->tensor, safetensors_by_place);
    for (int32_t i = 0; i < s->count; i++) {
        const Tensor *t = &s->tensor[i];
        if (t->at != at)
            return error_set(e, STATUS_USER,
                             "%s:%s: expected data from byte %llu, found %s from %llu", s->path,
                             t->name, (unsigned long long)at, t->at < at ? "an overlap" : "a hole",
                             (unsigned long long)t->at);
        if (t->bytes > data - at)
            return error_set(
                e, STATUS_USER,
                "%s:%s: expected data inside the file's %llu bytes, found %llu from byte %llu",
                s->path, t->name, (unsigned long long)data, (unsigned long long)t->bytes,
                (unsigned long long)at);
        at += t->bytes;
    }
    if (at != data)
        return error_set(e, STATUS_USER, "%s: expected %llu bytes of tensor data, found %llu",
                         s->path, (unsigned long long)at, (unsigned long long)data);
    if (s->count) qsort(s->tensor, (size_t)s->count, sizeof *s->tensor, safetensors_by_name);
    for (int32_t i = 0; i < s->count; i++)
        s->tensor[i].at += s->data;
    return STATUS_OK;
}

/* Eight bytes that are text, and so the length of no header. */
static bool safetensors_is_text(const unsigned char length[8]) {
    for (int i = 0; i < 8; i++)
        if ((length[i] < ' ' && (!length[i] || !strchr("\t\r\n", length[i]))) || length[i] > '~')
            return false;
    return true;
}

static int read_header(Safetensors *s, uint64_t *size, Error *e) {
    unsigned char length[8];
    *size = (uint64_t)s->in.before.st_size;
    if (*size < 8)
        return error_set(e, STATUS_USER, "%s: expected a safetensors file, found %llu bytes",
                         s->path, (unsigned long long)*size);
    int status = input_read(&s->in, 0, length, sizeof length, e);
    if (status) return status;
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | length[i];
    if (safetensors_is_text(length))
        return error_set(e, STATUS_USER,
                         "%s: expected a safetensors file, found one that begins with '%.8s'",
                         s->path, (const char *)length);
    if (n > *size - 8 && token_file_begins(length, sizeof length))
        return error_set(e, STATUS_USER,
                         "%s: expected a safetensors file, found a token file, which --data reads",
                         s->path);
    if (n > *size - 8)
        return error_set(
            e, STATUS_USER,
            "%s: expected a safetensors header inside the file, found a length of %llu", s->path,
            (unsigned long long)n);
    if (n > SAFETENSORS_HEADER)
        return error_set(e, STATUS_LIMIT, "%s: expected a header of at most %d bytes, found %llu",
                         s->path, SAFETENSORS_HEADER, (unsigned long long)n);
    char *text = malloc(n + 1);
    if (!text) return error_memory(e, s->path, n + 1);
    status = input_read(&s->in, 8, text, n, e);
    if (!status && (!n || text[0] != '{'))
        status = error_set(e, STATUS_USER, "%s: expected a header that begins with '{'", s->path);
    if (!status) status = json_parse(&s->header, s->path, text, n, HEADER_VALUES, e);
    free(text);
    s->data = 8 + n;
    return status;
}

static int read_tensors(Safetensors *s, Error *e) {
    const JsonNode *root = s->header.node;
    uint32_t metadata = json_member(&s->header, root, "__metadata__") ? 1 : 0,
             tensors = root->count - metadata;
    if (tensors > SAFETENSORS_TENSORS)
        return error_set(e, STATUS_LIMIT, "%s: expected at most %d tensors, found %u", s->path,
                         SAFETENSORS_TENSORS, tensors);
    s->tensor = malloc((tensors + 1) * sizeof *s->tensor);
    if (!s->tensor) return error_memory(e, s->path, tensors * sizeof *s->tensor);
    for (const JsonNode *n = json_first(&s->header, root); n; n = json_next(&s->header, n)) {
        int status = !strcmp(n->key, "__metadata__") ? check_metadata(s, n, e)
                                                     : read_tensor(s, &s->tensor[s->count++], n, e);
        if (status) return status;
    }
    return STATUS_OK;
}

int safetensors_open(Safetensors *s, const char *path, Error *e) {
    uint64_t size = 0;
    *s = (Safetensors){ .in.fd = -1, .path = strdup(path) };
    int status = s->path ? input_open(&s->in, s->path, e) : error_memory(e, path, strlen(path));
    if (!status) status = read_header(s, &size, e);
    if (!status) status = read_tensors(s, e);
    if (!status) status = check_cover(s, size, e);
    if (status) safetensors_close(s);
    return status;
}

void safetensors_close(Safetensors *s) {
    if (!s->path) return;
    input_close(&s->in);
    json_free(&s->header);
    free(s->tensor);
    free(s->path);
    *s = (Safetensors){ .in.fd = -1 };
}

const Tensor *safetensors_find(const Safetensors *s, const char *name) {
    Tensor key = { .name = name };
    return s->count
        ? bsearch(&key, s->tensor, (size_t)s->count, sizeof *s->tensor, safetensors_by_name)
        : NULL;
}

const char *safetensors_metadata(const Safetensors *s, const char *key) {
    const JsonNode *m = json_member(&s->header, s->header.node, "__metadata__");
    const JsonNode *n = m ? json_member(&s->header, m, key) : NULL;
    return n ? n->text : NULL;
}

/* == The checksum ========================================================= */

/* The digits are in a fixed place, and blanks that no other writer leaves tell that it was
** ours: a file rewritten elsewhere, metadata and all, has no checksum. */
static int stored_checksum(const Safetensors *s, char start[CHECKSUM_END], uint64_t *sum,
                           bool *found, Error *e) {
    *found = false;
    if (s->data < CHECKSUM_END) return STATUS_OK;
    int status = input_read(&s->in, 0, start, CHECKSUM_END, e);
    if (status || memcmp(start + 8, CHECKSUM_PREFIX, CHECKSUM_AT - 8)) return status;
    *found = true;
    *sum = 0;
    for (int i = 0; i < CHECKSUM_DIGITS; i++) {
        const char *digits = "0123456789abcdef", *d = memchr(digits, start[CHECKSUM_AT + i], 16);
        if (!d)
            return safetensors_wrong(s, "checksum", "16 hexadecimal digits", "something else", e);
        *sum = *sum << 4 | (uint64_t)(d - digits);
    }
    memset(start + CHECKSUM_AT, '0', CHECKSUM_DIGITS);
    return STATUS_OK;
}

int safetensors_verify(const Safetensors *s, bool *found, Error *e) {
    char start[CHECKSUM_END];
    uint64_t stored = 0, at = CHECKSUM_END, size = (uint64_t)s->in.before.st_size;
    bool has;
    int status = stored_checksum(s, start, &stored, &has, e);
    if (found) *found = has;
    if (status || !has) return status;
    enum { PIECE = 1 << 18 };
    char *piece = malloc(PIECE);
    if (!piece) return error_memory(e, s->path, PIECE);
    Xxh64 sum;
    xxh64_start(&sum, 0);
    xxh64_add(&sum, start, sizeof start);
    while (!status && at < size) {
        size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;
        status = input_read(&s->in, at, piece, n, e);
        if (!status) xxh64_add(&sum, piece, n);
        at += n;
    }
    free(piece);
    if (!status && xxh64_end(&sum) != stored)
        status = error_set(
            e, STATUS_USER, "%s: the file is damaged: expected checksum %016llx, found %016llx",
            s->path, (unsigned long long)stored, (unsigned long long)xxh64_end(&sum));
    return status;
}
