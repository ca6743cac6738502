/* SPDX-License-Identifier: MIT
** The safetensors writer: equal lists give equal bytes.
** The data starts on a multiple of 64 bytes, and wider elements come first, so that a
** reader may map the file and use it in place.
*/
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "array.h"
#include "safetensors.h"
#include "safetensors_layout.h"

int tensors_add(TensorList *l, const char *prefix, const char *name, Dtype dtype, int rank,
                const int64_t *shape, const void *data, Error *e) {
    if (rank < 0 || rank > SAFETENSORS_RANK)
        return error_set(e, STATUS_INTERNAL, "%s%s: cannot write a tensor of rank %d", prefix, name,
                         rank);
    if (!ARRAY_ROOM(l->item, l->count, l->room, 64))
        return error_memory(e, name, 2 * (size_t)l->room * sizeof *l->item);
    size_t a = strlen(prefix), b = strlen(name);
    TensorOut *t = &l->item[l->count];
    *t = (TensorOut){ .name = malloc(a + b + 1), .dtype = dtype, .rank = rank, .data = data };
    if (!t->name) return error_memory(e, name, a + b + 1);
    memcpy(t->name, prefix, a);
    memcpy(t->name + a, name, b + 1);
    for (int d = 0; d < rank; d++)
        t->shape[d] = shape[d];
    l->count++;
    return STATUS_OK;
}

void tensors_free(TensorList *l) {
    for (int32_t i = 0; i < l->count; i++)
        free(l->item[i].name);
    free(l->item);
    *l = (TensorList){ 0 };
}

static uint64_t write_bytes_of(const TensorOut *t) {
    uint64_t n = (uint64_t)dtype_size(t->dtype);
    for (int d = 0; d < t->rank; d++)
        n *= (uint64_t)t->shape[d];
    return n;
}

/* Calls visit for every tensor in the order of the file: by element size, then as listed. */
typedef int (*Visit)(void *state, const TensorOut *t, Error *e);
static int in_order(const TensorList *l, Visit visit, void *state, Error *e) {
    for (int size = 8; size; size /= 2)
        for (int32_t i = 0; i < l->count; i++)
            if (dtype_size(l->item[i].dtype) == size) {
                int status = visit(state, &l->item[i], e);
                if (status) return status;
            }
    return STATUS_OK;
}

/* == The header =========================================================== */

typedef struct Header {
    Text text;
    uint64_t at;
    bool first;
} Header;

static void comma(Header *h) {
    if (!h->first) text_add(&h->text, ",");
    h->first = false;
}

static int describe_tensor(void *state, const TensorOut *t, Error *e) {
    (void)e;
    Header *h = state;
    uint64_t bytes = write_bytes_of(t);
    comma(h);
    text_json_string(&h->text, t->name);
    text_add(&h->text, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(t->dtype));
    for (int d = 0; d < t->rank; d++)
        text_add(&h->text, d ? ",%lld" : "%lld", (long long)t->shape[d]);
    text_add(&h->text, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)h->at,
             (unsigned long long)(h->at + bytes));
    h->at += bytes;
    return STATUS_OK;
}

static void describe_metadata(Header *h, const Pair *metadata, int32_t pairs, bool checksum) {
    bool none = !checksum;
    text_add(&h->text,
             checksum    ? CHECKSUM_PREFIX "0000000000000000\""
                 : pairs ? "{\"__metadata__\":{"
                         : "{");
    for (int32_t i = 0; i < pairs; i++) {
        if (i || !none) text_add(&h->text, ",");
        text_json_string(&h->text, metadata[i].key);
        text_add(&h->text, ":");
        text_json_string(&h->text, metadata[i].value);
    }
    if (checksum || pairs) text_add(&h->text, "}");
    h->first = !checksum && !pairs;
}

/* The file's first bytes: length, JSON, blanks up to a multiple of 64. */
static int make_header(Header *h, const TensorList *l, const Pair *metadata, int32_t pairs,
                       bool checksum, Error *e) {
    *h = (Header){ 0 };
    text_bytes(&h->text, "\0\0\0\0\0\0\0\0", 8);
    describe_metadata(h, metadata, pairs, checksum);
    in_order(l, describe_tensor, h, e);
    text_add(&h->text, "}");
    while (h->text.length % 64 && !h->text.failed)
        text_bytes(&h->text, " ", 1);
    int status = text_status(&h->text, e);
    if (status) return status;
    if (h->text.length - 8 > SAFETENSORS_HEADER)
        return error_set(e, STATUS_LIMIT, "expected a header of at most %d bytes, found %zu",
                         SAFETENSORS_HEADER, h->text.length - 8);
    uint64_t n = h->text.length - 8;
    for (int i = 0; i < 8; i++)
        h->text.at[i] = (char)(n >> 8 * i);
    return STATUS_OK;
}

/* == The file ============================================================= */

struct TensorSink {
    Output *out;
    Xxh64 sum;
    const TensorList *list;
    TensorProducer *produce;
    void *user;
    uint64_t left; /* bytes of the tensor under way */
};

/* In pieces, so that what was just written is still in the cache when it is summed up. */
static int write_put(TensorSink *k, const void *bytes, uint64_t n, Error *e) {
    const char *p = bytes;
    enum { PIECE = 1 << 18 };
    while (n) {
        size_t piece = n < PIECE ? (size_t)n : PIECE;
        xxh64_add(&k->sum, p, piece);
        int status = output_write(k->out, p, piece, e);
        if (status) return status;
        p += piece;
        n -= piece;
    }
    return STATUS_OK;
}

int tensor_put(TensorSink *k, const void *bytes, size_t n, Error *e) {
    if (n > k->left)
        return error_set(e, STATUS_INTERNAL, "%s: more bytes than its tensor has", k->out->path);
    k->left -= n;
    return write_put(k, bytes, n, e);
}

static int put_tensor(void *state, const TensorOut *t, Error *e) {
    TensorSink *k = state;
    if (t->data || !k->produce) return write_put(k, t->data, write_bytes_of(t), e);
    k->left = write_bytes_of(t);
    int status = k->produce(k->user, (int32_t)(t - k->list->item), k, e);
    if (status || !k->left) return status;
    return error_set(e, STATUS_INTERNAL, "%s: fewer bytes than '%s' has", k->out->path, t->name);
}

int safetensors_fill(Output *to, const TensorList *l, const TensorsFrom *from, const Pair *metadata,
                     int32_t pairs, int flags, Error *e) {
    Header h;
    TensorSink k = { .out = to, .list = l };
    bool checksum = flags & SAFETENSORS_CHECKSUM;
    if (from) k.produce = from->produce, k.user = from->user;
    int status = make_header(&h, l, metadata, pairs, checksum, e);
    xxh64_start(&k.sum, 0);
    if (!status) status = write_put(&k, h.text.at, h.text.length, e);
    if (!status) status = in_order(l, put_tensor, &k, e);
    if (!status && checksum) {
        char digits[CHECKSUM_DIGITS + 1];
        print_text(digits, sizeof digits, "%016llx", (unsigned long long)xxh64_end(&k.sum));
        status = output_patch(to, CHECKSUM_AT, digits, CHECKSUM_DIGITS, e);
    }
    text_free(&h.text);
    return status;
}

int safetensors_write_from(const char *path, const TensorList *l, TensorProducer *produce,
                           void *user, const Pair *metadata, int32_t pairs, int flags, Error *e) {
    Output out;
    const TensorsFrom from = { produce, user };
    int status = output_open(&out, path, e);
    if (status) return status;
    status = safetensors_fill(&out, l, &from, metadata, pairs, flags, e);
    if (status) return output_discard(&out), status;
    return output_commit(&out, flags & SAFETENSORS_PREVIOUS, e);
}

int safetensors_write(const char *path, const TensorList *l, const Pair *metadata, int32_t pairs,
                      int flags, Error *e) {
    return safetensors_write_from(path, l, NULL, NULL, metadata, pairs, flags, e);
}
