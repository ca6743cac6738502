/* SPDX-License-Identifier: MIT
** Parameters between memory and files; see weights.h.
*/
#include "weights.h"

#include <stdlib.h>
#include <string.h>

#include "bf16.h"
#include "random.h"
#include "trained_options.h"
#include "weights_small.h"

enum { LISTED = 8, TOLD = 200 }; /* names told of each kind of mistake; bytes of them in a note */

void weights_init(const strata_model *m, uint64_t seed, float *weights) {
    enum { PIECE = 1024 };
    const strata_tensor *t = strata_tensors(m);
    for (int32_t k = 0; k < m->tensors; k++, t++) {
        uint16_t *bf16 = (uint16_t *)(weights + t->weight);
        float piece[PIECE];
        if (t->type == STRATA_F32) weights_initial(m, t, seed, 0, t->count, weights + t->weight);
        if (weights_small_bits(t)) weights_small_init(m, t, seed, weights + t->weight);
        for (int64_t at = 0; t->type == STRATA_BF16 && at < t->count; at += PIECE) {
            int64_t count = t->count - at < PIECE ? t->count - at : PIECE;
            weights_initial(m, t, seed, at, count, piece);
            for (int64_t i = 0; i < count; i++)
                bf16[at + i] = bf16_of(piece[i]);
        }
    }
}

/* == Reading ============================================================== */

/* The three kinds of mistake, told after all tensors were looked at. */
typedef struct Mistakes {
    Text missing, shape, unknown;
    int missings, shapes, unknowns;
} Mistakes;

static bool is_float(Dtype d) {
    return d == DTYPE_F64 || d == DTYPE_F32 || d == DTYPE_F16 || d == DTYPE_BF16;
}

static bool weights_fits(const strata_tensor *t, const Tensor *f) {
    if (f->rank != t->rank || !is_float(f->dtype)) return false;
    for (int d = 0; d < t->rank; d++)
        if (f->shape[d] != t->shape[d]) return false;
    return true;
}

static void add_mismatch(Mistakes *w, const char *name, const strata_tensor *t, const Tensor *f) {
    char expected[TENSOR_TEXT], found[TENSOR_TEXT];
    if (w->shapes++ >= LISTED) return;
    text_add(&w->shape, " %s: expected %s, found %s %s;", name,
             shape_print(expected, t->rank, t->shape), dtype_name(f->dtype),
             shape_print(found, f->rank, f->shape));
}

static void weights_add_name(Text *x, int *count, const char *name) {
    if ((*count)++ < LISTED) text_add(x, " %s", name);
}

static void weights_tell(Error *e, const char *kind, const Text *names, int count) {
    if (!count || !names->at) return;
    if (count > LISTED) error_line(e, "%s:%.240s … and %d more", kind, names->at, count - LISTED);
    else error_line(e, "%s:%.260s", kind, names->at);
}

/* But for another error before. */
static int end_mistakes(const strata_model *m, const Safetensors *s, Mistakes *w, bool taken,
                        int status, Error *e) {
    if (!status && (w->missings || w->shapes || w->unknowns)) {
        status = error_set(e, STATUS_USER,
                           "%s: expected the %d parameters of %s, found %d missing, %d of another "
                           "shape or type, %d unknown",
                           s->path, (int)m->tensors, strata_string(m, m->name), w->missings,
                           w->shapes, w->unknowns);
        weights_tell(e, "missing", &w->missing, w->missings);
        weights_tell(e, "shape", &w->shape, w->shapes);
        if (w->shapes && taken)
            error_line(e,
                       "strata weights strip FILE --match NAME,... -o OTHER leaves them out, to "
                       "begin with their initial values");
        weights_tell(e, "unknown", &w->unknown, w->unknowns);
    }
    text_free(&w->missing);
    text_free(&w->shape);
    text_free(&w->unknown);
    return status;
}

static bool allowed_beside(const char *name) {
    return !strncmp(name, "optimizer.", 10) || !strncmp(name, "tokenizer.", 10);
}

static void take_name(NameList *l, const char *name) {
    text_add(&l->text, l->count++ ? ", " : "");
    text_json_string(&l->text, name);
    if (l->told + 1 == l->count && (l->text.length <= TOLD || !l->told))
        l->few = l->text.length, l->told = l->count;
}

/* All names and shapes, before a value is read.  taken: what is missing or unknown goes there, and
** is no mistake; NULL: it is. */
static int check_names(const strata_model *m, const Safetensors *s, WeightsTaken *taken, Error *e) {
    Mistakes w = { 0 };
    bool small, *seen = calloc((size_t)s->count + 1, sizeof *seen);
    if (!seen) return error_memory(e, s->path, (size_t)s->count + 1);
    int status = weights_small_expect(m, s, &small, e);
    const strata_tensor *t = strata_tensors(m);
    for (int32_t k = 0; !status && k < m->tensors; k++, t++) {
        const char *name = strata_string(m, t->name);
        const Tensor *f = safetensors_find(s, name);
        if (f) seen[f - s->tensor] = true;
        if (!f && taken) take_name(&taken->fresh, name);
        else if (!f) weights_add_name(&w.missing, &w.missings, name);
        else if (small && small_code_bits(f)) status = weights_small_fits(t, s, f, e);
        else if (!weights_fits(t, f)) add_mismatch(&w, name, t, f);
    }
    for (int32_t i = 0; !status && i < s->count; i++) {
        const Tensor *f = &s->tensor[i];
        if (seen[i] || allowed_beside(f->name) || (small && small_codes_of(s, f))) continue;
        if (taken) take_name(&taken->left, f->name);
        else weights_add_name(&w.unknown, &w.unknowns, f->name);
    }
    free(seen);
    return end_mistakes(m, s, &w, taken != NULL, status, e);
}

/* Every parameter that the file has. */
static int read_values(const strata_model *m, const Safetensors *s, float *weights, Error *e) {
    const strata_tensor *t = strata_tensors(m);
    int status = STATUS_OK;
    for (int32_t k = 0; !status && k < m->tensors; k++, t++) {
        const Tensor *from = safetensors_find(s, strata_string(m, t->name));
        float *w = weights + t->weight;
        if (!from) continue;
        status = weights_small_bits(t) ? weights_small_read(t, s, from, w, e)
            : t->type == STRATA_BF16   ? safetensors_read_bf16(s, from, (uint16_t *)w, e)
                                       : safetensors_read_f32(s, from, w, e);
    }
    return status;
}

int weights_read(const strata_model *m, const Safetensors *s, float *weights, Error *e) {
    int status = check_names(m, s, NULL, e);
    return status ? status : read_values(m, s, weights, e);
}

int weights_take(const strata_model *m, const Safetensors *s, uint64_t seed, float *weights,
                 WeightsTaken *t, Error *e) {
    *t = (WeightsTaken){ 0 };
    int status = check_names(m, s, t, e);
    t->taken = m->tensors - t->fresh.count;
    if (!status && !t->taken)
        status = error_set(e, STATUS_USER,
                           "%s: expected some of the %d parameters of %s, found none of them",
                           s->path, (int)m->tensors, strata_string(m, m->name));
    if (!status) status = text_status(&t->fresh.text, e);
    if (!status) status = text_status(&t->left.text, e);
    if (!status && t->fresh.count) weights_init(m, seed, weights);
    return status ? status : read_values(m, s, weights, e);
}

void weights_taken_free(WeightsTaken *t) {
    text_free(&t->fresh.text);
    text_free(&t->left.text);
    *t = (WeightsTaken){ 0 };
}

int weights_options(const strata_model *m, const Safetensors *s, const char *changed, Error *e) {
    const ReadingModel own = { strata_string(m, m->options), m->function, changed, NULL, false };
    return trained_options_check(s, &own, e);
}

int weights_load(const strata_model *m, const char *path, float *weights, Error *e) {
    return weights_load_changed(m, path, NULL, weights, e);
}

int weights_load_changed(const strata_model *m, const char *path, const char *changed,
                         float *weights, Error *e) {
    Safetensors s;
    int status = safetensors_open(&s, path, e);
    if (status) return status;
    status = safetensors_verify(&s, NULL, e);
    if (!status) status = weights_options(m, &s, changed, e);
    if (!status) status = weights_read(m, &s, weights, e);
    safetensors_close(&s);
    return status;
}

/* == Writing ============================================================== */

int weights_list(TensorList *l, const strata_model *m, const char *prefix, const float *weights,
                 Error *e) {
    const strata_tensor *t = strata_tensors(m);
    int status = STATUS_OK;
    if (m->small)
        return error_set(e, STATUS_USER,
                         "%s: expected weights that are written as they are, found small ones (%s)",
                         strata_string(m, m->name), weights_small_name(m));
    for (int32_t k = 0; !status && k < m->tensors; k++, t++)
        status = tensors_add(l, prefix, strata_string(m, t->name),
                             t->type == STRATA_BF16 ? DTYPE_BF16 : DTYPE_F32, t->rank, t->shape,
                             weights + t->weight, e);
    return status;
}

int64_t weights_train_at(const strata_model *m, int32_t tensor, int part) {
    const strata_tensor *t = &strata_tensors(m)[tensor];
    int64_t second = m->tuning_table ? strata_tunings(m)[tensor].second : t->gradient;
    if (t->decay < 0 || tensor >= m->tensors - m->frozen || (part == 2 && second < 0)) return -1;
    return part * m->gradients + (part == 2 ? second : t->gradient);
}

int weights_list_train(TensorList *l, const strata_model *m, const char *prefix, const float *train,
                       int part, Error *e) {
    const strata_tensor *t = strata_tensors(m);
    int status = STATUS_OK;
    for (int32_t k = 0; !status && k < m->tensors; k++, t++) {
        int64_t at = weights_train_at(m, k, part);
        if (at >= 0)
            status = tensors_add(l, prefix, strata_string(m, t->name), DTYPE_F32, t->rank, t->shape,
                                 train + at, e);
    }
    return status;
}

const strata_tensor *weights_at_gradient(const strata_model *m, int64_t i, int64_t *index) {
    const strata_tensor *t = strata_tensors(m);
    for (int32_t k = 0; k < m->tensors - m->frozen; k++, t++)
        if (i >= t->gradient && i - t->gradient < t->count) {
            *index = i - t->gradient;
            return t;
        }
    return NULL;
}
