/* SPDX-License-Identifier: MIT
** See small_file.h. */
#include "small_file.h"

#include <stdlib.h>
#include <string.h>

#include "f16.h"

const char *small_name(int bits) { return bits == 8 ? "q8" : "q4"; }

/* == The file ============================================================= */

static int small_file_wrong(const Safetensors *s, const char *expected, const char *found,
                            Error *e) {
    return error_set(e, STATUS_USER, "%s: expected %s, found %s", s->path, expected,
                     found ? found : "none");
}

int small_file_bits(const Safetensors *s, int *bits, Error *e) {
    const char *format = safetensors_metadata(s, "format"),
               *version = safetensors_metadata(s, "version"),
               *group = safetensors_metadata(s, "group"),
               *weights = safetensors_metadata(s, "weights");
    *bits = 0;
    if (!format || strcmp(format, SMALL_FORMAT)) return STATUS_OK;
    if (!version || strcmp(version, SMALL_VERSION))
        return small_file_wrong(s, "small weights of version " SMALL_VERSION, version, e);
    if (!group || strcmp(group, SMALL_GROUP))
        return small_file_wrong(s, "a group of " SMALL_GROUP, group, e);
    for (int b = 4; weights && b <= 8; b += 4)
        if (!strcmp(weights, small_name(b))) *bits = b;
    return *bits ? STATUS_OK : small_file_wrong(s, "weights q8 or q4", weights, e);
}

int small_file_refuse(const Safetensors *s, Error *e) {
    int bits, status = small_file_bits(s, &bits, e);
    if (status || !bits) return status;
    return error_set(e, STATUS_USER,
                     "%s: expected weights that are not rounded, found those that strata quantize "
                     "made, %s",
                     s->path, small_name(bits));
}

void small_file_metadata(int bits, Pair pair[SMALL_PAIRS]) {
    pair[0] = (Pair){ "format", SMALL_FORMAT };
    pair[1] = (Pair){ "version", SMALL_VERSION };
    pair[2] = (Pair){ "weights", small_name(bits) };
    pair[3] = (Pair){ "group", SMALL_GROUP };
}

/* == A matrix ============================================================= */

int small_code_bits(const Tensor *t) {
    return t->dtype == DTYPE_I8 ? 8 : t->dtype == DTYPE_U8 ? 4 : 0;
}

/* What belongs to codes under a name of theirs: F16, a number for each group. */
static int find_halves(const Safetensors *s, const SmallMatrix *m, const char *suffix,
                       const Tensor **found, Error *e) {
    const Tensor *code = m->code;
    Text name = { 0 };
    text_add(&name, "%s%s", code->name, suffix);
    int status = text_status(&name, e);
    const Tensor *t = status ? NULL : safetensors_find(s, name.at);
    bool fits = t && t->dtype == DTYPE_F16 && t->rank == code->rank
        && t->shape[t->rank - 1] == m->groups;
    for (int d = 0; fits && d < t->rank - 1; d++)
        fits = t->shape[d] == code->shape[d];
    char shape[TENSOR_TEXT] = "none";
    if (t) shape_print(shape, t->rank, t->shape);
    if (!status && !fits)
        status = error_set(e, STATUS_USER,
                           "%s:%s: expected F16 numbers, %lld for each row of %s, found %s%s%s",
                           s->path, name.at, (long long)m->groups, code->name,
                           t ? dtype_name(t->dtype) : "", t ? " " : "", shape);
    text_free(&name);
    *found = t;
    return status;
}

int small_matrix(const Safetensors *s, const Tensor *code, SmallMatrix *m, Error *e) {
    *m = (SmallMatrix){ .of = *code, .code = code, .bits = small_code_bits(code) };
    if (!m->bits || code->rank < 2 || !code->count)
        return error_set(e, STATUS_USER,
                         "%s:%s: expected codes, a matrix of I8 or U8, found %s of rank %d and "
                         "%lld numbers",
                         s->path, code->name, dtype_name(code->dtype), code->rank,
                         (long long)code->count);
    int64_t *last = &m->of.shape[code->rank - 1];
    m->rows = code->count / *last;
    m->steps = *last *= 8 / m->bits;
    m->of.count = m->rows * m->steps;
    m->groups = small_groups(m->steps);
    int status = find_halves(s, m, SMALL_SCALE, &m->scale, e);
    if (!status && m->bits == 4) status = find_halves(s, m, SMALL_LEAST, &m->least, e);
    return status;
}

const Tensor *small_codes_of(const Safetensors *s, const Tensor *t) {
    static const char *const suffix[] = { SMALL_SCALE, SMALL_LEAST };
    size_t n = strlen(t->name);
    for (int i = 0; i < 2; i++) {
        size_t end = strlen(suffix[i]);
        if (n <= end || strcmp(t->name + n - end, suffix[i])) continue;
        Text name = { 0 };
        text_bytes(&name, t->name, n - end);
        const Tensor *code = name.failed ? NULL : safetensors_find(s, name.at);
        text_free(&name);
        int bits = code ? small_code_bits(code) : 0;
        return bits == 4 || (bits && i == 0) ? code : NULL;
    }
    return NULL;
}

/* == Reading ============================================================== */

/* Of a number that rounding does not make, at index i of a tensor. */
static int odd_number(const Safetensors *s, const Tensor *t, int64_t i, const char *expected,
                      double found, Error *e) {
    char where[TENSOR_TEXT], number[32];
    return error_set(e, STATUS_USER, "%s:%s%s: expected %s, found %s", s->path, t->name,
                     tensor_place(where, t, i), expected, print_double(number, found));
}

static int check_halves(const Safetensors *s, const SmallMatrix *m, int64_t at, SmallGroup g,
                        Error *e) {
    const int infinite = 0x7c00, negative = 0x8000;
    if (g.scale >= infinite)
        return odd_number(s, m->scale, at,
                          g.scale >= negative ? "a scale of 0 or more" : "a finite scale",
                          (double)f16_value(g.scale), e);
    if (m->least && (g.least & infinite) == infinite)
        return odd_number(s, m->least, at, "a finite value", (double)f16_value(g.least), e);
    return STATUS_OK;
}

/* Codes of a row out of the bytes that are stored. */
static int unpack(const Safetensors *s, const SmallMatrix *m, int64_t row, const uint8_t *from,
                  SmallGroup *g, Error *e) {
    for (int64_t i = 0; i < m->groups; i++)
        memset(g[i].code, m->bits == 8 ? CODE_OF_ZERO : 0, GROUP);
    for (int64_t k = 0; k < m->steps; k++) {
        uint8_t *to = &g[k / GROUP].code[k % GROUP];
        if (m->bits == 4) *to = k % 2 ? from[k / 2] >> 4 : from[k / 2] & 15;
        else if (from[k] == 128)
            return odd_number(s, m->code, row * m->steps + k, "a code from -127 to 127", -128, e);
        else *to = (uint8_t)(from[k] + CODE_OF_ZERO);
    }
    return STATUS_OK;
}

/* 'rows' rows of a tensor of a matrix. */
static int read_rows(const Safetensors *s, const Tensor *t, int64_t row, int64_t rows, void *to,
                     Error *e) {
    uint64_t bytes = (uint64_t)(t->shape[t->rank - 1] * dtype_size(t->dtype));
    return input_read(&s->in, t->at + (uint64_t)row * bytes, to, (size_t)((uint64_t)rows * bytes),
                      e);
}

int small_matrix_rows(const Safetensors *s, const SmallMatrix *m, int64_t row, int64_t rows,
                      SmallGroup *g, Error *e) {
    int64_t groups = rows * m->groups, width = m->code->shape[m->code->rank - 1];
    size_t bytes = (size_t)groups * 2 * sizeof(uint16_t) + (size_t)(rows * width);
    uint16_t *scale = malloc(bytes), *least = scale ? scale + groups : NULL;
    uint8_t *code = (uint8_t *)(least ? least + groups : NULL);
    if (!scale) return error_memory(e, m->of.name, bytes);
    int status = read_rows(s, m->scale, row, rows, scale, e);
    if (!status && m->least) status = read_rows(s, m->least, row, rows, least, e);
    if (!status) status = read_rows(s, m->code, row, rows, code, e);
    for (int64_t i = 0; !status && i < groups; i++) {
        g[i].scale = scale[i], g[i].least = m->least ? least[i] : 0;
        status = check_halves(s, m, row * m->groups + i, g[i], e);
    }
    for (int64_t r = 0; !status && r < rows; r++)
        status = unpack(s, m, row + r, code + r * width, g + r * m->groups, e);
    free(scale);
    return status;
}

/* == Rounding ============================================================= */

int small_round_row(const char *file, const char *name, int64_t row, int bits, const float *x,
                    int64_t steps, SmallGroup *g, Error *e) {
    bool fits = true;
    for (int64_t k = 0; k < steps; k += GROUP)
        fits &= small_round(x + k, steps - k < GROUP ? steps - k : GROUP, bits, &g[k / GROUP]);
    return fits ? STATUS_OK
                : error_set(e, STATUS_USER,
                            "%s:%s: expected weights below 65504 in groups of %d, found larger "
                            "ones, or NaN, in row %lld",
                            file, name, GROUP, (long long)row);
}

void small_values(const SmallGroup *g, int bits, int64_t n, double *x) {
    double scale = (double)f16_value(g->scale), least = (double)f16_value(g->least);
    for (int64_t i = 0; i < n; i++)
        x[i] = bits == 8 ? scale * (g->code[i] - CODE_OF_ZERO) : scale * g->code[i] + least;
}

void small_pack(const SmallGroup *g, int64_t steps, int bits, uint8_t *to) {
    for (int64_t k = 0; k < steps; k += bits == 8 ? 1 : 2) {
        const uint8_t *code = &g[k / GROUP].code[k % GROUP];
        *to++ = (uint8_t)(bits == 8 ? *code - CODE_OF_ZERO : *code | code[1] << 4);
    }
}
