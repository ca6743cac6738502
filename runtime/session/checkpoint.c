/*
** Checkpoints; see checkpoint.h.
** The table of fields is the one place that knows how a Checkpoint is written, read back
** and compared.
*/
#include "checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weights.h"

#define FORMAT "strata checkpoint"

typedef enum Kind { TEXT, COUNT, HASH, REAL, FLAG } Kind;
typedef enum Compared { RECORDED, MUST_EQUAL, UNLESS_CONSTANT } Compared;

static const struct Field {
    const char *key;
    Kind kind;
    Compared compared;
    size_t at, size; /* in Checkpoint */
} fields[] = {
#define FIELD(name, kind, compared) \
    { #name, kind, compared, offsetof(Checkpoint, name), sizeof((Checkpoint *)0)->name }
    FIELD(spec, TEXT, MUST_EQUAL),        FIELD(spec_hash, HASH, MUST_EQUAL),
    FIELD(precision, TEXT, MUST_EQUAL),   FIELD(data_sha256, TEXT, MUST_EQUAL),
    FIELD(val_sha256, TEXT, MUST_EQUAL),  FIELD(val_share, REAL, MUST_EQUAL),
    FIELD(batch, COUNT, MUST_EQUAL),      FIELD(accumulate, COUNT, MUST_EQUAL),
    FIELD(context, COUNT, MUST_EQUAL),    FIELD(random, FLAG, MUST_EQUAL),
    FIELD(seed, HASH, MUST_EQUAL),        FIELD(data_seed, HASH, MUST_EQUAL),
    FIELD(lr, REAL, MUST_EQUAL),          FIELD(schedule, COUNT, MUST_EQUAL),
    FIELD(warmup, REAL, MUST_EQUAL),      FIELD(decay, REAL, MUST_EQUAL),
    FIELD(min_lr, REAL, MUST_EQUAL),      FIELD(steps, COUNT, UNLESS_CONSTANT),
    FIELD(eval_every, COUNT, RECORDED),   FIELD(step, COUNT, RECORDED),
    FIELD(position, COUNT, RECORDED),     FIELD(has_best, FLAG, RECORDED),
    FIELD(best_val_loss, REAL, RECORDED), FIELD(best_step, COUNT, RECORDED),
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof *fields, VALUE = 96 };

/* == Fields as text ======================================================= */

static void print_field(const struct Field *f, const Checkpoint *c, char out[VALUE]) {
    const char *at = (const char *)c + f->at;
    switch (f->kind) {
    case TEXT: print_text(out, VALUE, "%s", at); break;
    case COUNT: print_text(out, VALUE, "%lld", (long long)*(const int64_t *)at); break;
    case HASH: print_text(out, VALUE, "%llu", (unsigned long long)*(const uint64_t *)at); break;
    case REAL: print_double(out, *(const double *)at); break;
    case FLAG: print_text(out, VALUE, "%s", *(const bool *)at ? "true" : "false"); break;
    }
}

static bool parse_field(const struct Field *f, const char *text, Checkpoint *c) {
    char *at = (char *)c + f->at;
    switch (f->kind) {
    case TEXT:
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
        if (!text || !parse_field(&fields[i], text, c))
            return error_set(e, STATUS_USER, "%s: expected a checkpoint's metadata %s, found %s",
                             s->path, fields[i].key, text ? text : "none");
    }
    return STATUS_OK;
}

void checkpoint_defaults(Checkpoint *c, const strata_model *m) {
    *c = (Checkpoint){ .spec_hash = m->spec_hash,
                       .batch = m->batch,
                       .accumulate = 1,
                       .context = m->context,
                       .random = true,
                       .seed = m->seed,
                       .data_seed = m->seed,
                       .lr = m->lr,
                       .schedule = m->schedule,
                       .warmup = m->warmup,
                       .decay = m->decay,
                       .min_lr = m->min_lr };
    print_text(c->spec, sizeof c->spec, "%s", strata_string(m, m->name));
    print_text(c->precision, sizeof c->precision, "%s", strata_string(m, m->precision));
}

/* == Saving =============================================================== */

static int write_list(const char *path, const TensorList *l, const Checkpoint *c, Error *e) {
    char version[16], value[FIELDS][VALUE];
    Pair pair[FIELDS + 2] = { { "format", FORMAT }, { "version", version } };
    print_text(version, sizeof version, "%d", CHECKPOINT_VERSION);
    for (int i = 0; i < FIELDS; i++) {
        print_field(&fields[i], c, value[i]);
        pair[i + 2] = (Pair){ fields[i].key, value[i] };
    }
    return safetensors_write(path, l, pair, FIELDS + 2, SAFETENSORS_CHECKSUM | SAFETENSORS_PREVIOUS,
                             e);
}

int checkpoint_save(const char *path, const strata_model *m, const float *weights,
                    const float *train, const Tokenizer *tokenizer, const Checkpoint *c, Error *e) {
    TensorList l = { 0 };
    int status = weights_list(&l, m, "", weights, e);
    if (!status) status = weights_list_train(&l, m, "optimizer.m.", train, 1, e);
    if (!status) status = weights_list_train(&l, m, "optimizer.v.", train, 2, e);
    if (!status && tokenizer) status = tokenizer_save(tokenizer, &l, e);
    if (!status) status = write_list(path, &l, c, e);
    tensors_free(&l);
    return status;
}

/* == Opening ============================================================== */

typedef enum Found { USABLE, ABSENT, DAMAGED, REFUSED } Found;

/* Opens one generation.  REFUSED: undamaged, but not ours to fall back from. */
static Found open_one(CheckpointFile *f, const char *path, Error *e) {
    bool sum;
    struct stat there;
    if (lstat(path, &there)) {
        error_errno(e, path, "open", ENOENT);
        return ABSENT;
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
    } else if (!sum || !format || strcmp(format, FORMAT)) {
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

int checkpoint_match(const CheckpointFile *f, const Checkpoint *wanted, Error *e) {
    int differ = 0;
    for (int i = 0; i < FIELDS; i++) {
        char saved[VALUE], asked[VALUE];
        Compared how = fields[i].compared;
        if (how == RECORDED || (how == UNLESS_CONSTANT && !f->state.schedule && !wanted->schedule))
            continue;
        print_field(&fields[i], &f->state, saved);
        print_field(&fields[i], wanted, asked);
        if (!strcmp(saved, asked)) continue;
        if (!differ++)
            error_set(e, STATUS_USER, "%s: cannot resume: expected %s %s, found %s", f->file.path,
                      fields[i].key, asked, saved);
        else error_line(e, "expected %s %s, found %s", fields[i].key, asked, saved);
    }
    return differ ? STATUS_USER : STATUS_OK;
}

/* One moment of every parameter, from names PREFIX parameter. */
static int read_moment(const CheckpointFile *f, const strata_model *m, const char *prefix,
                       float *third, Error *e) {
    const strata_tensor *t = strata_tensors(m);
    Text name = { 0 };
    int status = STATUS_OK;
    for (int32_t k = 0; !status && k < m->tensors; k++, t++) {
        text_clear(&name);
        text_add(&name, "%s%s", prefix, strata_string(m, t->name));
        if ((status = text_status(&name, e))) break;
        const Tensor *g = safetensors_find(&f->file, name.at);
        if (!g || g->count != t->count)
            status = error_set(e, STATUS_USER, "%s:%s: expected %lld values, found %lld",
                               f->file.path, name.at, (long long)t->count,
                               (long long)(g ? g->count : 0));
        else status = safetensors_read_f32(&f->file, g, third + t->gradient, e);
    }
    text_free(&name);
    return status;
}

int checkpoint_read(const CheckpointFile *f, const strata_model *m, float *weights, float *train,
                    Error *e) {
    int status = weights_read(m, &f->file, weights, e);
    if (!status) status = read_moment(f, m, "optimizer.m.", train + m->gradients, e);
    if (!status) status = read_moment(f, m, "optimizer.v.", train + 2 * m->gradients, e);
    return status;
}
