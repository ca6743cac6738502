/*
** Data: files to bytes to tokens to windows; see data.h.
*/
#include "data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "hash.h"
#include "random.h"
#include "utf8.h"

/* == Files ================================================================ */

/* Sizes only: what the machine cannot hold is refused before a byte is read. */
static int measure(DataText *x, Input *in, Error *e) {
    uint64_t total = 0, most = memory_physical() / 2;
    for (int i = 0; i < x->files; i++) {
        uint64_t size = (uint64_t)in[i].before.st_size;
        if (!size)
            return error_set(e, STATUS_USER, "%s: expected text, found an empty file", x->file[i]);
        if (size > most || (total += size) > most)
            return error_set(
                e, STATUS_LIMIT,
                "%s: expected at most %llu bytes of data (half of the memory), found more",
                x->file[i], (unsigned long long)most);
        x->end[i] = (size_t)total;
    }
    x->length = (size_t)total;
    return STATUS_OK;
}

static int check_utf8(const char *file, const char *text, size_t length, Error *e) {
    for (size_t i = 0; i < length;) {
        int32_t point;
        int n = utf8_next(text + i, length - i, &point);
        if (!n)
            return error_set(e, STATUS_USER, "%s:byte %zu: expected UTF-8, found byte 0x%02x", file,
                             i, (unsigned char)text[i]);
        i += (size_t)n;
    }
    return STATUS_OK;
}

static int read_all(DataText *x, Input *in, bool utf8, Error *e) {
    int status = measure(x, in, e);
    if (status) return status;
    x->bytes = malloc(x->length);
    if (!x->bytes) return error_memory(e, x->file[0], x->length);
    Sha256 sha;
    sha256_start(&sha);
    for (int i = 0; !status && i < x->files; i++) {
        size_t from = i ? x->end[i - 1] : 0, size = x->end[i] - from;
        status = input_read(&in[i], 0, x->bytes + from, size, e);
        if (!status) status = input_unchanged(&in[i], e);
        if (!status && utf8) status = check_utf8(x->file[i], x->bytes + from, size, e);
        if (!status) sha256_add(&sha, x->bytes + from, size);
    }
    if (!status) sha256_text(&sha, x->sha256);
    return status;
}

int data_text(DataText *x, const char *const *file, int files, bool utf8, Error *e) {
    *x = (DataText){ .file = file, .files = files };
    if (files < 1) return error_set(e, STATUS_USAGE, "--data: expected a file");
    Input *in = malloc((size_t)files * sizeof *in);
    x->end = calloc((size_t)files, sizeof *x->end);
    int status = in && x->end ? STATUS_OK : error_memory(e, file[0], (size_t)files * sizeof *in),
        opened = 0;
    while (!status && opened < files)
        if (!(status = input_open(&in[opened], file[opened], e))) opened++;
    if (!status) status = read_all(x, in, utf8, e);
    while (opened)
        input_close(&in[--opened]);
    free(in);
    if (status) data_text_free(x);
    return status;
}

void data_text_free(DataText *x) {
    free(x->bytes);
    free(x->end);
    *x = (DataText){ 0 };
}

/* == Tokens =============================================================== */

static int32_t token_at(const Data *d, int64_t i) {
    if (d->width == 1) return ((const uint8_t *)d->token)[i];
    if (d->width == 2) return ((const uint16_t *)d->token)[i];
    return ((const int32_t *)d->token)[i];
}

static int encode(Data *d, const DataText *x, const Tokenizer *t, Error *e) {
    const TokenizerKind *kind = t->kind;
    TokenIds ids = { .width = t->ids <= 256 ? 1
                         : t->ids <= 65536  ? 2
                                            : 4,
                     .grows = true,
                     .template = true,
                     .room = kind->room ? kind->room(x->bytes, x->length) : (int64_t)x->length };
    size_t bytes = (size_t)ids.room * (size_t)ids.width;
    ids.at = d->memory = malloc(bytes + 1);
    if (!ids.at) return error_memory(e, x->file[0], bytes);
    int status = token_ids_encode(&ids, t, x->file[0], x->bytes, x->length, e);
    d->memory = ids.at;
    d->width = ids.width;
    d->count = ids.count;
    d->bytes = (int64_t)(x->length - ids.first);
    return status;
}

int data_tokens(Data *d, DataText *x, const Tokenizer *t, Error *e) {
    *d = (Data){ .width = 1 };
    memcpy(d->sha256, x->sha256, sizeof d->sha256);
    int status = STATUS_OK;
    if (t->kind->text_is_ids) {
        d->memory = x->bytes;
        d->count = (int64_t)x->length;
        d->bytes = d->count - 1;
        x->bytes = NULL;
        x->length = 0;
    } else {
        status = encode(d, x, t, e);
    }
    d->token = d->memory;
    if (status) data_free(d);
    return status;
}

void data_free(Data *d) {
    free(d->memory);
    *d = (Data){ .width = 1 };
}

int data_split(const Data *d, double share, Data *train, Data *val, Error *e) {
    if (!(share >= 0 && share < 1)) {
        char number[32];
        return error_set(e, STATUS_USER,
                         "--val-share: expected a share from 0 to less than 1, found %s",
                         print_double(number, share));
    }
    int64_t last = (int64_t)floor(share * (double)d->count), first = d->count - last;
    *train = *val = *d;
    train->memory = val->memory = NULL;
    train->count = first;
    val->count = last;
    val->token = (const char *)d->token + first * d->width;
    if (last) train->bytes = 0;
    val->bytes = 0;
    return STATUS_OK;
}

int data_enough(const Data *d, const char *what, int64_t length, Error *e) {
    if (d->count > length) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "%s: expected at least %lld tokens (a window and its last target), found %lld",
                     what, (long long)length + 1, (long long)d->count);
}

/* == Windows ============================================================== */

int64_t data_start(const Data *d, const DataOrder *o, int64_t step, int64_t row) {
    if (o->random)
        return (int64_t)random_below(o->seed, (uint64_t)step, (uint32_t)row,
                                     (uint64_t)(d->count - o->context));
    int64_t windows = (d->count - 1) / o->context;
    /* (step * rows + row) mod windows, without the product's overflow */
    int64_t start =
        (int64_t)((unsigned __int128)(uint64_t)step * (uint64_t)o->rows % (uint64_t)windows);
    return (start + row % windows) % windows * o->context;
}

static void copy_window(const Data *d, int64_t start, int64_t n, int32_t *tokens,
                        int32_t *targets) {
    for (int64_t i = 0; i < n; i++) {
        tokens[i] = token_at(d, start + i);
        targets[i] = token_at(d, start + i + 1);
    }
}

void data_rows(const Data *d, const DataOrder *o, int64_t step, int64_t first, int64_t count,
               int32_t *tokens, int32_t *targets) {
    for (int64_t r = 0; r < count; r++)
        copy_window(d, data_start(d, o, step, first + r), o->context, tokens + r * o->context,
                    targets + r * o->context);
}

int64_t data_windows(const Data *d, int64_t length) {
    return d->count < 2 ? 0 : (d->count - 2) / length + 1;
}

int64_t data_window(const Data *d, int64_t length, int64_t i, int32_t *tokens, int32_t *targets) {
    int64_t start = i * length, left = d->count - 1 - start, n = left < length ? left : length;
    copy_window(d, start, n, tokens, targets);
    return n;
}
