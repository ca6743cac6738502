/* SPDX-License-Identifier: MIT
** strata quantize: a file of weights whose matrices are rounded (small_file.h) to the bits that a
** program built with --weights makes of them when it loads them.  The spec's graph says which
** matrices these are.  Tensors are read, rounded and written a few rows at a time; a matrix is
** rounded a second time for its scales, which lie elsewhere in the file than its codes.
*/
#include "build.h"
#include "command.h"
#include "console.h"
#include "probe_graph.h"
#include "passes.h"
#include "weight_tools.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* == What is written ====================================================== */

typedef enum Part { AS_IT_IS, CODES, SCALE, LEAST } Part;

/* Of which tensor a tensor of the new file is what. */
typedef struct Written {
    const Tensor *from;
    Part part;
    int bits;
} Written;

typedef struct Quantize {
    const char *path, *spec, *to;
    int bits; /* 8 or 4 */
    bool overwrite;
    Safetensors file;
    Model *model;
    int *number; /* by tensor: which parameter of the model it is */
    TensorList list;
    Written *written; /* by number in the list */
    int rounded, kept;
} Quantize;

static int quantize_add(Quantize *q, const Tensor *t, Part part, int bits, Error *e) {
    static const char *const suffix[] = { "", "", SMALL_SCALE, SMALL_LEAST };
    int64_t shape[SAFETENSORS_RANK];
    memcpy(shape, t->shape, sizeof shape);
    Dtype type = part == AS_IT_IS ? t->dtype
        : part != CODES           ? DTYPE_F16
        : bits == 8               ? DTYPE_I8
                                  : DTYPE_U8;
    if (part == CODES) shape[t->rank - 1] = shape[t->rank - 1] * bits / 8;
    else if (part != AS_IT_IS) shape[t->rank - 1] = small_groups(shape[t->rank - 1]);
    q->written[q->list.count] = (Written){ t, part, bits };
    Text name = { 0 };
    text_add(&name, "%s%s", t->name, suffix[part]);
    int status = text_status(&name, e);
    if (!status && part > CODES && safetensors_find(&q->file, name.at))
        status = error_set(e, STATUS_USER,
                           "%s: expected a name for what belongs to %s, found '%s' taken", q->path,
                           t->name, name.at);
    if (!status) status = tensors_add(&q->list, "", name.at, type, t->rank, shape, NULL, e);
    text_free(&name);
    return status;
}

/* Two codes of 4 bits are a byte. */
static bool is_stored_rounded(const Tensor *t, int bits) {
    return bits == 8 || (bits == 4 && t->shape[t->rank - 1] % 2 == 0);
}

static int add_tensor(Quantize *q, const Tensor *t, int bits, Error *e) {
    if (!strncmp(t->name, "optimizer.", 10)) return STATUS_OK;
    bool rounded = is_stored_rounded(t, bits);
    q->rounded += rounded, q->kept += !rounded;
    if (!rounded) return quantize_add(q, t, AS_IT_IS, 0, e);
    int status = quantize_add(q, t, CODES, bits, e);
    if (!status) status = quantize_add(q, t, SCALE, bits, e);
    return status || bits == 8 ? status : quantize_add(q, t, LEAST, bits, e);
}

static int list_tensors(Quantize *q, Error *e) {
    size_t count = (size_t)q->file.count;
    q->number = malloc((count + 1) * sizeof *q->number);
    q->written = malloc((3 * count + 1) * sizeof *q->written);
    if (!q->number || !q->written) return error_memory(e, q->path, count * sizeof *q->written);
    int status = weight_file_match(&q->file, q->model, q->spec, q->number, e);
    if (status) return status;
    ProbeGraph probe = probe_graph(q->model);
    int *bits = small_bits(q->model->graph, probe.graph, q->bits == 8 ? SMALL_Q8 : SMALL_Q4);
    for (int32_t i = 0; !status && i < q->file.count; i++)
        status = add_tensor(q, &q->file.tensor[i], q->number[i] < 0 ? 0 : bits[q->number[i]], e);
    free(bits);
    graph_free(probe.graph);
    return status;
}

/* == Tensors, one after another =========================================== */

static int put_as_it_is(const Quantize *q, const Tensor *t, TensorSink *to, Error *e) {
    enum { PIECE = 1 << 16 };
    char piece[PIECE];
    int status = STATUS_OK;
    for (uint64_t at = 0, n; !status && at < t->bytes; at += n) {
        n = t->bytes - at < PIECE ? t->bytes - at : PIECE;
        status = input_read(&q->file.in, t->at + at, piece, n, e);
        if (!status) status = tensor_put(to, piece, n, e);
    }
    return status;
}

/* A row's codes, scales or smallest values. */
static int put_row(const Written *w, const SmallGroup *g, int64_t steps, uint8_t *room,
                   TensorSink *to, Error *e) {
    uint16_t *half = (uint16_t *)(void *)room;
    if (w->part == CODES) {
        small_pack(g, steps, w->bits, room);
        return tensor_put(to, room, (size_t)(steps * w->bits / 8), e);
    }
    for (int64_t i = 0; i < small_groups(steps); i++)
        half[i] = w->part == SCALE ? g[i].scale : g[i].least;
    return tensor_put(to, half, (size_t)small_groups(steps) * sizeof *half, e);
}

static int put_rounded(const Quantize *q, const Written *w, TensorSink *to, Error *e) {
    const Tensor *t = w->from;
    int64_t steps = t->shape[t->rank - 1];
    size_t groups = (size_t)small_groups(steps), bytes = groups * (sizeof(SmallGroup) + 5 * GROUP);
    SmallGroup *g = malloc(bytes);
    if (!g) return error_memory(e, t->name, bytes);
    float *x = (float *)(void *)(g + groups);
    uint8_t *room = (uint8_t *)(x + groups * GROUP);
    int status = STATUS_OK;
    for (int64_t row = 0; !status && row < t->count / steps; row++) {
        status = safetensors_read_some_f32(&q->file, t, row * steps, steps, x, e);
        if (!status) status = small_round_row(q->path, t->name, row, w->bits, x, steps, g, e);
        if (!status) status = put_row(w, g, steps, room, to, e);
    }
    free(g);
    return status;
}

static int put_tensor(void *user, int32_t index, TensorSink *to, Error *e) {
    const Quantize *q = user;
    const Written *w = &q->written[index];
    return w->part == AS_IT_IS ? put_as_it_is(q, w->from, to, e) : put_rounded(q, w, to, e);
}

/* == The metadata ========================================================= */

/* 'spec' and 'spec_hash' are those of the run, if a run made the weights. */
static int quantize_write_file(Quantize *q, Error *e) {
    Pair first[SMALL_PAIRS + 2];
    WeightOutput about = { 0 };
    char hash[24];
    int pairs = SMALL_PAIRS;
    small_file_metadata(q->bits, first);
    print_text(hash, sizeof hash, "%" PRIu64, q->model->hash);
    if (!safetensors_metadata(&q->file, "spec_hash")) {
        first[pairs++] = (Pair){ "spec", q->model->name };
        first[pairs++] = (Pair){ "spec_hash", hash };
    }
    int status = weight_output_about(&about, &q->file, first, pairs, e);
    if (!status)
        status = safetensors_write_from(q->to, &q->list, put_tensor, q, about.metadata, about.pairs,
                                        SAFETENSORS_CHECKSUM, e);
    weight_output_free(&about);
    return status;
}

/* == The command ========================================================== */

/* Beside weights that strata import wrote lies their spec: W.lua for W.safetensors. */
static char *spec_beside(const char *weights) {
    static const char end[] = ".safetensors";
    size_t n = strlen(weights), cut = sizeof end - 1;
    char *spec = malloc(n + sizeof ".lua");
    if (!spec) return NULL;
    if (n > cut && !strcmp(weights + n - cut, end)) n -= cut;
    memcpy(spec, weights, n);
    strcpy(spec + n, ".lua");
    return spec;
}

static int quantize_take(Quantize *q, const Options *o, char **beside, Error *e) {
    const char *spec = option_of(o, STRATA_OPTION_QUANTIZE_SPEC)->text;
    struct stat there;
    if (o->words != 1)
        return error_set(e, STATUS_USAGE,
                         "strata quantize: expected a file of weights, found %d words", o->words);
    q->path = o->word[0];
    if (is_spec(q->path))
        return error_set(e, STATUS_USAGE,
                         "strata quantize: expected a file of weights, found the spec '%s'; strata "
                         "quantize W.safetensors --spec %s -o FILE",
                         q->path, q->path);
    q->to = option_of(o, STRATA_OPTION_SMALL_WEIGHTS)->text;
    q->overwrite = option_of(o, STRATA_OPTION_OVERWRITE)->given;
    q->bits = option_of(o, STRATA_OPTION_SMALL_TYPE)->choice ? 4 : 8;
    if (!q->to) return error_set(e, STATUS_USAGE, "strata quantize: expected -o FILE, found none");
    if (!spec && !(*beside = spec_beside(q->path))) return error_memory(e, q->path, 0);
    q->spec = spec ? spec : *beside;
    if (spec || !stat(q->spec, &there)) return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "strata quantize: expected --spec SPEC, which says what are matrices of "
                     "products, or %s, found neither",
                     q->spec);
}

static FilePlace quantize_place_of(const Quantize *q) {
    return (FilePlace){ .path = q->to, .overwrite = q->overwrite };
}

static int quantize_check_output(const Quantize *q, Error *e) {
    const FilePlace place = quantize_place_of(q);
    int status = place_unread(q->to, q->path, e);
    if (!status) status = place_unread(q->to, q->spec, e);
    return status ? status : place_check(&place, e);
}

static int quantize(Quantize *q, const Options *o, Allowance *a, Error *e) {
    struct stat out;
    int status = weight_file_open(&q->file, q->path, e);
    if (!status) status = small_file_refuse(&q->file, e);
    if (!status) status = quantize_check_output(q, e);
    if (status) return status;
    q->model = build_load(q->spec, a, e);
    if (!q->model) return e->status;
    status = place_unread_all(q->to, q->model->read_file, q->model->nread_file, e);
    if (!status) status = weight_file_options(&q->file, q->model, o, q->spec, e);
    if (!status) status = list_tensors(q, e);
    if (!status) status = quantize_write_file(q, e);
    if (status || stat(q->to, &out)) return status;
    char from[32], to[32];
    printf("%d matrices rounded to %s, %d tensors as they are; %s, of %s\n", q->rounded,
           small_name(q->bits), q->kept, human_bytes(to, (double)out.st_size),
           human_bytes(from, (double)q->file.in.before.st_size));
    return STATUS_OK;
}

int command_quantize(const Options *o, Allowance *a, Error *e) {
    Quantize q = { 0 };
    char *beside = NULL;
    int status = quantize_take(&q, o, &beside, e);
    if (!status) status = quantize(&q, o, a, e);
    tensors_free(&q.list);
    free(q.written), free(q.number), free(beside);
    safetensors_close(&q.file);
    spec_free(q.model);
    return status;
}
