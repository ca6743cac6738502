/* SPDX-License-Identifier: MIT
** strata weights merge: replaces W by W + alpha / rank B A, computed in double precision and
** rounded to float32 once.  The spec says alpha and which adapters there are; a file that lacks
** one of them, or has one of another shape, is refused.
*/
#include "weight_tools.h"

#include "build.h"

#include <string.h>

#define SUFFIX_A ".lora_a.weight"
#define SUFFIX_B ".lora_b.weight"
enum { SUFFIX = sizeof SUFFIX_A - 1 };

typedef struct Merge {
    const Safetensors *file;
    const Model *model;
    WeightOutput out;
    int merged;
} Merge;

static bool merge_ends_in(const char *name, const char *suffix) {
    size_t n = strlen(name);
    return n > SUFFIX && !strcmp(name + n - SUFFIX, suffix);
}

/* The adapter of "STEM.weight": STEM and the suffix; NULL: there is none in the model. */
static const Param *adapter_of(const Merge *m, const char *weight, const char *suffix) {
    char name[512];
    size_t n = strlen(weight);
    static const char end[] = ".weight";
    if (n < sizeof end || strcmp(weight + n - sizeof end + 1, end)) return NULL;
    if (snprintf(name, sizeof name, "%.*s%s", (int)(n - sizeof end + 1), weight, suffix)
        >= (int)sizeof name)
        return NULL;
    return graph_find_param(m->model->graph, name);
}

/* Of a parameter, as the model has it; STATUS_USER if the file has it otherwise or not. */
static int read_adapter(Merge *m, const Param *p, double **values, Error *e) {
    const char *name = p->node->attr->name;
    const Shape *s = &p->node->shape;
    const Tensor *t = safetensors_find(m->file, name);
    if (!t || t->rank != 2 || t->shape[0] != s->dim[0] || t->shape[1] != s->dim[1])
        return error_set(e, STATUS_USER, "%s: expected the adapter %s [%lld,%lld], found %s",
                         m->file->path, name, (long long)s->dim[0], (long long)s->dim[1],
                         t ? "another shape" : "none");
    *values = weight_output_room(&m->out, name, (size_t)t->count * sizeof(double), e);
    return *values ? safetensors_read_f64(m->file, t, *values, e) : e->status;
}

/* w[out, in] += scale b[out, rank] a[rank, in] */
static void add_product(int64_t out, int64_t in, int64_t rank, double scale, const double *a,
                        const double *b, double *w) {
    for (int64_t i = 0; i < out; i++)
        for (int64_t r = 0; r < rank; r++) {
            double by = scale * b[i * rank + r];
            for (int64_t k = 0; k < in; k++)
                w[i * in + k] += by * a[r * in + k];
        }
}

static int merge_tensor(Merge *m, const Tensor *t, const Param *a, const Param *b, Error *e) {
    int64_t rank = a->node->shape.dim[0], in = a->node->shape.dim[1], out = b->node->shape.dim[0];
    double *down = NULL, *up = NULL, *w = NULL;
    if (t->rank != 2 || t->shape[0] != out || t->shape[1] != in)
        return error_set(e, STATUS_USER, "%s: expected %s [%lld,%lld], found another shape",
                         m->file->path, t->name, (long long)out, (long long)in);
    int status = read_adapter(m, a, &down, e);
    if (!status) status = read_adapter(m, b, &up, e);
    if (status) return status;
    w = weight_output_room(&m->out, t->name, (size_t)t->count * sizeof *w, e);
    if (!w) return e->status;
    status = safetensors_read_f64(m->file, t, w, e);
    if (status) return status;
    add_product(out, in, rank, m->model->adapter_scale, down, up, w);
    float *to = (float *)w; /* narrowed in place: element i of 4 bytes, behind none that is read */
    for (int64_t i = 0; i < t->count; i++) {
        float x = (float)w[i];
        memcpy(to + i, &x, sizeof x);
    }
    m->merged++;
    return tensors_add(&m->out.list, "", t->name, DTYPE_F32, t->rank, t->shape, to, e);
}

static int merge_one(Merge *m, const Tensor *t, Error *e) {
    const Param *a = adapter_of(m, t->name, SUFFIX_A), *b = adapter_of(m, t->name, SUFFIX_B);
    if (a && b) return merge_tensor(m, t, a, b, e);
    if (merge_ends_in(t->name, SUFFIX_A) || merge_ends_in(t->name, SUFFIX_B)
        || !strncmp(t->name, "optimizer.", 10))
        return STATUS_OK;
    return weight_output_copy(&m->out, m->file, t, e);
}

/* What the file says of itself, which is now of a model without adapters. */
static int add_about(Merge *m, Error *e) {
    static const Pair first[] = { { "format", WEIGHTS_FORMAT } };
    bool ours = safetensors_metadata(m->file, "format") != NULL;
    return weight_output_about(&m->out, m->file, first, ours, e);
}

static int merge_all(Merge *m, const FilePlace *to, Error *e) {
    const Graph *g = m->model->graph;
    int adapters = 0, status = STATUS_OK;
    for (int i = 0; i < g->nparam; i++)
        adapters += merge_ends_in(g->param[i].node->attr->name, SUFFIX_A);
    for (int32_t i = 0; !status && i < m->file->count; i++)
        status = merge_one(m, &m->file->tensor[i], e);
    if (!status && m->merged != adapters)
        status = error_set(e, STATUS_USER,
                           "%s: expected the weights of all %d adapters of %s, found those of %d",
                           m->file->path, adapters, m->model->name, m->merged);
    if (!status) status = add_about(m, e);
    if (!status) status = weight_output_write(&m->out, to, e);
    if (!status) printf("%d adapters merged into %d tensors\n", m->merged, m->out.list.count);
    return status;
}

int weights_merge(const Options *o, const FilePlace *to, Allowance *a, Error *e) {
    const char *spec = o->word[1], *from = o->word[2];
    Safetensors file = { 0 };
    Model *model = build_load(spec, a, e);
    if (!model) return e->status;
    int status = model->adapter_scale > 0
        ? weight_file_open(&file, from, e)
        : error_set(e, STATUS_USER, "%s: expected a spec with lora, found one without adapters",
                    spec);
    if (!status) status = small_file_refuse(&file, e);
    if (!status) status = place_unread_all(to->path, model->read_file, model->nread_file, e);
    if (!status) status = weight_file_options(&file, model, o, spec, e);
    Merge m = { .file = &file, .model = model };
    if (!status) status = merge_all(&m, to, e);
    weight_output_free(&m.out);
    safetensors_close(&file);
    spec_free(model);
    return status;
}
