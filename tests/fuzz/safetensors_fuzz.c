/* SPDX-License-Identifier: MIT
** Files of weights, and tokenizers in them.  What is accepted keeps the reader's promises: sizes
** add up, and no two tensors share a byte.  Where matrices are rounded already, what a model takes
** of them is what the file has: their codes, and scales that are finite.
*/
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "rounded_model.h"
#include "tokenizer.h"
#include "weights.h"
#include "weights_small.h"

const int fuzz_bytes = 6;
const char *const fuzz_words[] = { "-1",
                                   "0",
                                   "4294967296",
                                   "9223372036854775807",
                                   "18446744073709551615",
                                   "1e9",
                                   "[",
                                   "]",
                                   "{",
                                   "}",
                                   "\"",
                                   "\\u0000",
                                   "\\ud800",
                                   "null",
                                   ",",
                                   ":",
                                   "\"F64\"",
                                   "\"__metadata__\"",
                                   "\xff",
                                   "\xc3",
                                   "[[[[[[[[",
                                   "0.5",
                                   "\"I8\"",
                                   "\"U8\"",
                                   "\"F16\"",
                                   ".scale",
                                   ".least",
                                   "q4",
                                   "q8",
                                   NULL };

/* Half of the time the length is put right, so that the header's text is reached; the header ends
** with a newline, by which its end is found. */
void fuzz_repair(FuzzInput *f) {
    const unsigned char *end = f->n > 8 ? memchr(f->bytes + 8, '\n', f->n - 8) : NULL;
    if (!end || !fuzz_below(f, 2)) return;
    uint64_t n = (uint64_t)(end - f->bytes) - 7;
    for (int i = 0; i < 8; i++)
        f->bytes[i] = (unsigned char)(n >> 8 * i);
}

#define SMALL_METADATA(bits)                                                    \
    "{\"__metadata__\":{\"format\":\"strata small weights\",\"version\":\"1\"," \
    "\"weights\":\"" bits "\",\"group\":\"32\"},"

static const struct {
    const char *header;
    size_t data;
} valid[] = {
    { "{\"__metadata__\":{\"format\":\"pt\",\"k\":\"v\"},"
      "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
      "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[24,32]},"
      "\"c\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[32,40]},"
      "\"tokenizer.chars\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[40,56]}}\n",
      56 },
    { "{\"tokenizer.chars\":{\"dtype\":\"I32\",\"shape\":[5],\"data_offsets\":[0,20]}}\n", 20 },
    { "{\"x\":{\"dtype\":\"F16\",\"shape\":[1,1,1,1,1,1,1,8],\"data_offsets\":[0,16]},"
      "\"e\":{\"dtype\":\"U8\",\"shape\":[0,9],\"data_offsets\":[16,16]}}\n",
      16 },
    { SMALL_METADATA("q8") "\"a.weight\":{\"dtype\":\"I8\",\"shape\":[2,40],"
                           "\"data_offsets\":[54,134]},"
                           "\"a.weight.scale\":{\"dtype\":\"F16\",\"shape\":[2,2],"
                           "\"data_offsets\":[12,20]},"
                           "\"b.weight\":{\"dtype\":\"I8\",\"shape\":[2,3,34],"
                           "\"data_offsets\":[134,338]},"
                           "\"b.weight.scale\":{\"dtype\":\"F16\",\"shape\":[2,3,2],"
                           "\"data_offsets\":[20,44]},"
                           "\"embed.weight\":{\"dtype\":\"I8\",\"shape\":[2,33],"
                           "\"data_offsets\":[338,404]},"
                           "\"embed.weight.scale\":{\"dtype\":\"F16\",\"shape\":[2,2],"
                           "\"data_offsets\":[44,52]},"
                           "\"norm\":{\"dtype\":\"F32\",\"shape\":[3],"
                           "\"data_offsets\":[0,12]},"
                           "\"optimizer.x\":{\"dtype\":\"I8\",\"shape\":[2],"
                           "\"data_offsets\":[52,54]}}\n",
      404 },
    { SMALL_METADATA("q4") "\"a.weight\":{\"dtype\":\"U8\",\"shape\":[2,20],"
                           "\"data_offsets\":[84,124]},"
                           "\"a.weight.scale\":{\"dtype\":\"F16\",\"shape\":[2,2],"
                           "\"data_offsets\":[12,20]},"
                           "\"a.weight.least\":{\"dtype\":\"F16\",\"shape\":[2,2],"
                           "\"data_offsets\":[52,60]},"
                           "\"b.weight\":{\"dtype\":\"U8\",\"shape\":[2,3,17],"
                           "\"data_offsets\":[124,226]},"
                           "\"b.weight.scale\":{\"dtype\":\"F16\",\"shape\":[2,3,2],"
                           "\"data_offsets\":[20,44]},"
                           "\"b.weight.least\":{\"dtype\":\"F16\",\"shape\":[2,3,2],"
                           "\"data_offsets\":[60,84]},"
                           "\"embed.weight\":{\"dtype\":\"I8\",\"shape\":[2,33],"
                           "\"data_offsets\":[226,292]},"
                           "\"embed.weight.scale\":{\"dtype\":\"F16\",\"shape\":[2,2],"
                           "\"data_offsets\":[44,52]},"
                           "\"norm\":{\"dtype\":\"F32\",\"shape\":[3],"
                           "\"data_offsets\":[0,12]}}\n",
      292 },
    { "{ \"__metadata__\": {\"checksum\": \"xxh64:0123456789abcdef\",\"format\":\"strata "
      "checkpoint\","
      "\"version\":\"1\",\"spec\":\"m\",\"spec_hash\":\"1\",\"precision\":\"f32\",\"step\":"
      "\"3\"}}\n",
      0 },
};

size_t fuzz_seed(size_t k, unsigned char *to) {
    if (k >= sizeof valid / sizeof *valid) return 0;
    size_t n = strlen(valid[k].header), all = 8 + n + valid[k].data;
    memset(to, 0, all);
    to[0] = (unsigned char)n, to[1] = (unsigned char)(n >> 8);
    memcpy(to + 8, valid[k].header, n);
    for (size_t i = 8 + n; i < all; i++)
        to[i] = (unsigned char)(i % 3 ? 0 : i % 60); /* halves and floats are finite */
    return all;
}

/* S8 said once more, differently. */
static void check_promises(size_t n, const Safetensors *s) {
    uint64_t sum = 0;
    for (int32_t i = 0; i < s->count; i++) {
        const Tensor *t = &s->tensor[i];
        sum += t->bytes;
        if (t->at < s->data || t->at + t->bytes > n)
            fuzz_broken("a tensor lies outside of the data");
        if (t->bytes != (uint64_t)t->count * (uint64_t)dtype_size(t->dtype))
            fuzz_broken("a size is wrong");
        if (safetensors_find(s, t->name) != t) fuzz_broken("a tensor is not found by its name");
        for (int32_t k = 0; k < i; k++) {
            const Tensor *u = &s->tensor[k];
            if (t->bytes && u->bytes && t->at < u->at + u->bytes && u->at < t->at + t->bytes)
                fuzz_broken("tensors overlap");
        }
    }
    if (sum != n - s->data) fuzz_broken("the data is not covered");
}

/* A matrix of a model, from where it lies packed, is what the file has. */
static void check_rounded(const Safetensors *s, const strata_tensor *t, const Tensor *codes,
                          const uint8_t *at) {
    static SmallGroup g[FUZZ_ROOM / sizeof(uint16_t)];
    Error e;
    SmallMatrix m;
    if (small_matrix(s, codes, &m, &e)) fuzz_broken("a model takes what is no matrix");
    if (small_matrix_rows(s, &m, 0, m.rows, g, &e)) fuzz_broken("a model takes what is no number");
    int64_t columns = t->shape[t->rank - 2], panel = small_panel(m.steps, m.bits);
    for (int64_t r = 0; r < m.rows; r++) {
        int64_t column = r % columns;
        const uint8_t *in = at + r / columns * small_bytes(columns, m.steps, m.bits)
            + column / PANEL_COLUMNS * panel;
        for (int64_t i = 0; i < m.groups; i++) {
            SmallGroup taken = small_get(in, m.steps, column % PANEL_COLUMNS, i, m.bits);
            const SmallGroup *right = &g[r * m.groups + i];
            if (memcmp(&taken, right, sizeof taken)) fuzz_broken("a group has changed");
            if (right->scale >= 0x7c00) fuzz_broken("a scale is not finite or negative");
        }
    }
}

static void read_weights(const Safetensors *s, int bits) {
    static float w[ROUNDED_ROOM];
    Error e = { 0 };
    const strata_model *m = rounded_model(bits);
    const strata_tensor *t = strata_tensors(m);
    int file_bits;
    if (weights_read(m, s, w, &e)) {
        if (!e.text[0]) fuzz_broken("an error of weights says nothing");
        return;
    }
    if (small_file_bits(s, &file_bits, &e)) fuzz_broken("weights of an unknown kind are read");
    if (file_bits && file_bits != bits) fuzz_broken("weights of other bits are read");
    for (int k = 0; k < m->tensors; k++, t++) {
        const Tensor *from = safetensors_find(s, strata_string(m, t->name));
        if (small_code_bits(from)) check_rounded(s, t, from, (const uint8_t *)(w + t->weight));
    }
}

static void read_all(size_t n, const Safetensors *s) {
    static double out[FUZZ_ROOM];
    Error e;
    Tokenizer t;
    bool found;
    check_promises(n, s);
    for (int32_t i = 0; i < s->count; i++) {
        if (s->tensor[i].bytes > FUZZ_ROOM) fuzz_broken("a tensor is larger than the file");
        safetensors_read_f32(s, &s->tensor[i], (float *)out, &e);
        safetensors_read_f64(s, &s->tensor[i], out, &e);
        safetensors_read_i32(s, &s->tensor[i], (int32_t *)out, &e);
    }
    safetensors_verify(s, &found, &e);
    for (int bits = 0; bits <= 8; bits += 4)
        read_weights(s, bits);
    if (!tokenizer_load(&t, &tokenizer_chars, 1000, s, &e)) tokenizer_free(&t);
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    Safetensors s;
    Error e = { 0 };
    int status = safetensors_open(&s, fuzz_file(bytes, n), &e);
    if (status && (!e.text[0] || e.status != status || strlen(e.text) >= sizeof e.text))
        fuzz_broken("an error says nothing");
    if (status) return 0;
    read_all(n, &s);
    safetensors_close(&s);
    return 1;
}
