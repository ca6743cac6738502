/* SPDX-License-Identifier: MIT
** Checkpoints; see checkpoint.h, and checkpoint.def for what is in one.
*/
#include "checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "small_file.h"
#include "tokenizer_identity.h"
#include "weights.h"

typedef enum FieldKind { COUNT, HASH, REAL, FLAG, STRING } FieldKind;
typedef enum Compared { RECORDED, PROGRESS, MUST_EQUAL } Compared;

#define KIND_OF(member) \
    _Generic(member, int64_t: COUNT, uint64_t: HASH, double: REAL, bool: FLAG, char *: STRING)

static const struct Field {
    const char *key;
    FieldKind kind;
    Compared compared;
    size_t at, size; /* in Checkpoint */
    bool later;
} fields[] = {
#define ROW(name, compared, later)      \
    { #name,                            \
      KIND_OF(((Checkpoint *)0)->name), \
      compared,                         \
      offsetof(Checkpoint, name),       \
      sizeof((Checkpoint *)0)->name,    \
      later },
#define FIELD(type, name, compared, start) ROW(name, compared, false)
#define TEXT(name, size, compared, start) ROW(name, compared, false)
#define LATER(type, name, compared, start) ROW(name, compared, true)
#define LATER_TEXT(name, size, compared, start) ROW(name, compared, true)
#include "checkpoint.def"
};
enum { FIELDS = sizeof fields / sizeof *fields, VALUE = 96 };

/* == Fields as text ======================================================= */

static void print_field(const struct Field *f, const Checkpoint *c, char out[VALUE]) {
    const char *at = (const char *)c + f->at;
    switch (f->kind) {
    case STRING: print_text(out, VALUE, "%s", at); break;
    case COUNT: print_text(out, VALUE, "%lld", (long long)*(const int64_t *)at); break;
    case HASH: print_text(out, VALUE, "%llu", (unsigned long long)*(const uint64_t *)at); break;
    case REAL: print_double(out, *(const double *)at); break;
    case FLAG: print_text(out, VALUE, "%s", *(const bool *)at ? "true" : "false"); break;
    }
}

static bool parse_field(const struct Field *f, const char *text, Checkpoint *c) {
    char *at = (char *)c + f->at;
    switch (f->kind) {
    case STRING:
        if (strlen(text) >= f->size) return false;
        memcpy(at, text, strlen(text) + 1);
        return true;
    case COUNT: return parse_int64(text, 0, INT64_MAX, (int64_t *)at);
    case HASH: return parse_uint64(text, (uint64_t *)at);
    case REAL: return parse_double(text, -__builtin_inf(), __builtin_inf(), (double *)at);
    case FLAG: *(bool *)at = !strcmp(text, "true"); return *(bool *)at || !strcmp(text, "false");
    }
    return false;
}

static int read_fields(const Safetensors *s, Checkpoint *c, Error *e) {
    *c = (Checkpoint){ 0 };
    for (int i = 0; i < FIELDS; i++) {
        const char *text = safetensors_metadata(s, fields[i].key);
        if (!text && fields[i].later) continue;
        if (!text || !parse_field(&fields[i], text, c))
            return error_set(e, STATUS_USER, "%s: expected a checkpoint's metadata %s, found %s",
                             s->path, fields[i].key, text ? text : "none");
    }
    c->words = safetensors_metadata(s, "words");
    c->options = safetensors_metadata(s, "options");
    return STATUS_OK;
}

void checkpoint_defaults(Checkpoint *c, const strata_model *m) {
    *c = (Checkpoint){ 0 };
#define FIELD(type, name, compared, start) c->name = start;
#define TEXT(name, size, compared, start) print_text(c->name, size, "%s", start);
#include "checkpoint.def"
    const char *options = strata_string(m, m->options);
    c->options = m->options && strcmp(options, "{}") != 0 ? options : NULL;
}

void checkpoint_progress(Checkpoint *c, const Checkpoint *saved) {
    for (int i = 0; i < FIELDS; i++)
        if (fields[i].compared == PROGRESS)
            memcpy((char *)c + fields[i].at, (const char *)saved + fields[i].at, fields[i].size);
}

static uint64_t hash_weights(const strata_model *m, const float *weights) {
    const strata_tensor *t = strata_tensors(m);
    Xxh64 x;
    xxh64_start(&x, 0);
    for (int32_t i = 0; i < m->tensors; i++, t++)
        xxh64_add(&x, weights + t->weight,
                  (size_t)t->count * (t->type == STRATA_BF16 ? sizeof(uint16_t) : sizeof(float)));
    return xxh64_end(&x);
}

void checkpoint_run(Checkpoint *c, const strata_model *m, const float *weights) {
    uint64_t first = hash_weights(m, weights);
    char value[VALUE], sum[65];
    Sha256 s;
    sha256_start(&s);
    for (int i = 0; i < FIELDS; i++) {
        if (fields[i].compared != MUST_EQUAL) continue;
        print_field(&fields[i], c, value);
        sha256_add(&s, value, strlen(value) + 1);
    }
    print_text(value, sizeof value, "%llu", (unsigned long long)first);
    sha256_add(&s, value, strlen(value) + 1);
    sha256_text(&s, sum);
    print_text(c->run, sizeof c->run, "%.16s", sum);
}

bool checkpoint_done(const Checkpoint *c) {
    return c->minutes > 0 ? c->elapsed >= 60 * c->minutes : c->step >= c->steps;
}

/* == Saving =============================================================== */

static int write_list(const char *path, const TensorList *l, const Tokenizer *t,
                      const Checkpoint *c, bool whole, int flags, Error *e) {
    char version[16], value[FIELDS][VALUE];
    Pair pair[FIELDS + 6] = { { "format", whole ? CHECKPOINT_FORMAT : WEIGHTS_FORMAT },
                              { "version", version } };
    int pairs = FIELDS + 2;
    print_text(version, sizeof version, "%d", CHECKPOINT_VERSION);
    for (int i = 0; i < FIELDS; i++) {
        print_field(&fields[i], c, value[i]);
        pair[i + 2] = (Pair){ fields[i].key, value[i] };
    }
    if (whole && c->words) pair[pairs++] = (Pair){ "words", c->words };
    if (c->options) pair[pairs++] = (Pair){ "options", c->options };
    if (t) pairs += tokenizer_metadata(t, pair + pairs);
    return safetensors_write(path, l, pair, pairs, SAFETENSORS_CHECKSUM | flags, e);
}

int checkpoint_save(const char *path, const strata_model *m, const float *weights,
                    const float *train, const Tokenizer *tokenizer, const Checkpoint *c, Error *e) {
    TensorList l = { 0 };
    int status = weights_list(&l, m, "", weights, e);
    if (!status) status = weights_list_train(&l, m, "optimizer.m.", train, 1, e);
    if (!status) status = weights_list_train(&l, m, "optimizer.v.", train, 2, e);
    if (!status && tokenizer) status = tokenizer_save(tokenizer, &l, e);
    if (!status) status = write_list(path, &l, tokenizer, c, true, SAFETENSORS_PREVIOUS, e);
    tensors_free(&l);
    return status;
}

int checkpoint_save_weights(const char *path, const strata_model *m, const float *weights,
                            const Tokenizer *tokenizer, const Checkpoint *c, bool keep, Error *e) {
    TensorList l = { 0 };
    int status = weights_list(&l, m, "", weights, e), flags = keep ? SAFETENSORS_PREVIOUS : 0;
    if (!status && tokenizer) status = tokenizer_save(tokenizer, &l, e);
    if (!status) status = write_list(path, &l, tokenizer, c, false, flags, e);
    tensors_free(&l);
    return status;
}

/* == Opening ============================================================== */

bool checkpoint_about(const Safetensors *s, Checkpoint *c) {
    const char *format = safetensors_metadata(s, "format");
    Error ignored = { 0 };
    return format
        && (!strcmp(format, CHECKPOINT_FORMAT) || !strcmp(format, WEIGHTS_FORMAT)
            || !strcmp(format, SMALL_FORMAT))
        && !read_fields(s, c, &ignored);
}

typedef enum Found { USABLE, ABSENT, DAMAGED, REFUSED } Found;

/* Opens one generation.  REFUSED: not damaged as far as we see, and nothing to fall back from. */
static Found open_one(CheckpointFile *f, const char *path, Error *e) {
    bool sum;
    struct stat there;
    if (lstat(path, &there)) {
        bool absent = errno == ENOENT || errno == ENOTDIR;
        error_errno(e, path, "open", errno);
        return absent ? ABSENT : REFUSED;
    }
    int status = safetensors_open(&f->file, path, e);
    if (status) return DAMAGED;
    const char *format = safetensors_metadata(&f->file, "format"),
               *version = safetensors_metadata(&f->file, "version");
    int64_t number;
    Found found = USABLE;
    status = safetensors_verify(&f->file, &sum, e);
    if (status) {
        found = DAMAGED;
    } else if (small_file_refuse(&f->file, e)) {
        found = REFUSED;
    } else if (format && !strcmp(format, WEIGHTS_FORMAT)) {
        error_set(e, STATUS_USER,
                  "%s: expected a checkpoint, found weights without the optimizer's state, which "
                  "--init begins with and --resume cannot go on from",
                  path);
        found = REFUSED;
    } else if (!sum || !format || strcmp(format, CHECKPOINT_FORMAT)) {
        error_set(e, STATUS_USER,
                  "%s: expected a checkpoint, found a file without a checkpoint's metadata", path);
        found = DAMAGED;
    } else if (!version || !parse_int64(version, CHECKPOINT_VERSION, CHECKPOINT_VERSION, &number)) {
        error_set(e, STATUS_USER, "%s: expected a checkpoint of version %d, found version %s", path,
                  CHECKPOINT_VERSION, version ? version : "none");
        found = REFUSED;
    } else if (read_fields(&f->file, &f->state, e)) {
        found = REFUSED;
    }
    if (found != USABLE) safetensors_close(&f->file);
    return found;
}

int checkpoint_open(CheckpointFile *f, const char *path, Error *e) {
    Error first = { 0 }, second = { 0 };
    *f = (CheckpointFile){ .file.in.fd = -1 };
    Found newest = open_one(f, path, &first);
    if (newest == USABLE) return STATUS_OK;
    if (newest == REFUSED) return error_set(e, first.status, "%s", first.text);
    char *before = malloc(strlen(path) + 6);
    if (!before) return error_memory(e, path, strlen(path) + 6);
    memcpy(before, path, strlen(path));
    strcpy(before + strlen(path), ".prev");
    Found previous = open_one(f, before, &second);
    int status = STATUS_OK;
    if (previous == USABLE) {
        f->previous = true;
        print_text(f->note, sizeof f->note, "%s", first.text);
    } else if (newest == ABSENT && previous != ABSENT) {
        status = error_set(e, second.status, "%s", second.text);
    } else {
        status = error_set(e, first.status, "%s", first.text);
        if (previous != ABSENT) error_line(e, "%s", second.text);
    }
    free(before);
    return status;
}

void checkpoint_close(CheckpointFile *f) { safetensors_close(&f->file); }

/* == Comparing and reading ================================================ */

/* What the difference means. */
static const char *meaning(const struct Field *f) {
    return !strcmp(f->key, "data_sha256") ? "; the data has changed since the run was begun"
        : !strcmp(f->key, "val_sha256")   ? "; what it is evaluated on has changed"
        : !strcmp(f->key, "spec_hash")    ? "; the spec, its library or strata has changed"
                                          : "";
}

int checkpoint_match(const CheckpointFile *f, const Checkpoint *wanted, Error *e) {
    int differ = 0;
    for (int i = 0; i < FIELDS; i++) {
        char saved[VALUE], asked[VALUE];
        Compared how = fields[i].compared;
        if (how != MUST_EQUAL) continue;
        print_field(&fields[i], &f->state, saved);
        print_field(&fields[i], wanted, asked);
        if (!strcmp(saved, asked)) continue;
        const char *key = fields[i].key, *why = meaning(&fields[i]);
        if (!differ++)
            error_set(e, STATUS_USER, "%s: cannot resume: expected %s %s, found %s%s", f->file.path,
                      key, asked, saved, why);
        else error_line(e, "expected %s %s, found %s%s", key, asked, saved, why);
    }
    return differ ? STATUS_USER : STATUS_OK;
}

/* The first or second moment (part 1, 2) of every parameter that has it, from names PREFIX
** parameter. */
static int read_moment(const CheckpointFile *f, const strata_model *m, const char *prefix, int part,
                       float *train, Error *e) {
    const strata_tensor *t = strata_tensors(m);
    Text name = { 0 };
    int status = STATUS_OK;
    for (int32_t k = 0; !status && k < m->tensors; k++, t++) {
        int64_t at = weights_train_at(m, k, part);
        if (at < 0) continue;
        text_clear(&name);
        text_add(&name, "%s%s", prefix, strata_string(m, t->name));
        if ((status = text_status(&name, e))) break;
        const Tensor *g = safetensors_find(&f->file, name.at);
        if (!g || g->count != t->count)
            status = error_set(e, STATUS_USER, "%s:%s: expected %lld values, found %lld",
                               f->file.path, name.at, (long long)t->count,
                               (long long)(g ? g->count : 0));
        else status = safetensors_read_f32(&f->file, g, train + at, e);
    }
    text_free(&name);
    return status;
}

int checkpoint_read(const CheckpointFile *f, const strata_model *m, float *weights, float *train,
                    Error *e) {
    int status = weights_read(m, &f->file, weights, e);
    if (!status) status = read_moment(f, m, "optimizer.m.", 1, train, e);
    if (!status) status = read_moment(f, m, "optimizer.v.", 2, train, e);
    return status;
}
