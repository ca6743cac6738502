/* SPDX-License-Identifier: MIT
** Logits of stored weights; see stored_logits.h.
*/
#include "stored_logits.h"

#include <stdlib.h>
#include <string.h>

#include "safetensors.h"

typedef struct Weights {
    Safetensors file;
    int count;
    const Node **param; /* [graph.nparam] */
    double **value;
    Error *e;
} Weights;

/* A parameter's tensors, one behind another; zeros for what is not there, and the error says so. */
static const double *param_value(void *user, const Node *param) {
    Weights *w = user;
    char name[256];
    for (int i = 0; i < w->count; i++)
        if (w->param[i] == param) return w->value[i];
    Shape shape = param_tensor_shape(param);
    int64_t each = shape_count(&shape), tensors = param_tensors(param);
    double *value = calloc((size_t)(each * tensors), sizeof *value);
    if (!value) abort();
    for (int64_t k = 0; k < tensors && !w->e->status; k++) {
        param_tensor_name(param, k, name, sizeof name);
        const Tensor *t = safetensors_find(&w->file, name);
        if (!t || t->count != each)
            error_set(w->e, STATUS_USER, "%s: expected a tensor '%s' of %lld numbers, found none",
                      w->file.path, name, (long long)each);
        else safetensors_read_f64(&w->file, t, value + k * each, w->e);
    }
    w->param[w->count] = param;
    return w->value[w->count++] = value;
}

double *stored_logits(const Model *m, const char *weights, int64_t batch, int64_t time,
                      const int32_t *tokens, int64_t *count, Error *e) {
    size_t most = (size_t)m->graph->nparam + 1;
    Weights w = { .e = e };
    *e = (Error){ 0 };
    if (safetensors_open(&w.file, weights, e)) return NULL;
    w.param = calloc(most, sizeof *w.param);
    w.value = calloc(most, sizeof *w.value);
    if (!w.param || !w.value) abort();
    const EvalInput in = {
        .batch = batch, .time = time, .tokens = tokens, .param = param_value, .user = &w, .seed = 1
    };
    Eval *ev = eval_new(m->graph, &in);
    const Node *logits = graph_find(m->graph, "logits");
    const double *found = eval_value(ev, logits);
    *count = batch * time * logits->shape.dim[logits->shape.rank - 1];
    double *out = e->status ? NULL : malloc((size_t)*count * sizeof *out);
    if (out) memcpy(out, found, (size_t)*count * sizeof *out);
    eval_free(ev);
    for (int i = 0; i < w.count; i++)
        free(w.value[i]);
    free(w.value);
    free(w.param);
    safetensors_close(&w.file);
    return out;
}
