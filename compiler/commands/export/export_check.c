/* SPDX-License-Identifier: MIT
** Checks an exported folder by reading it back.  If an importer knows the architecture, the folder
** is imported: the spec must have the graph of the exported one, and the tensors must have the
** bits of the weights.  If the folder has code of its own, its tensors must be the weights by
** name.
*/
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "fatal.h"
#include "importer.h"

/* == The graph ============================================================ */

/* Its text without initial values, which no file has. */
static char *graph_text(const Model *m) {
    static const char *const outputs[] = { "logits", NULL };
    char *text = NULL;
    size_t size = 0;
    Graph *g = graph_extract(m->graph, outputs);
    FILE *f = checked_file(&text, &size);
    graph_print(g, f, false);
    checked_written(f, &text);
    graph_free(g);
    char *to = text;
    for (char *line = text; *line;) {
        size_t n = strcspn(line, "\n") + 1;
        char *shape = NULL, *name = strstr(line, " = param \"");
        if (name && name < line + n) {
            char *end = strchr(name + 10, '"') + 1;
            shape = strstr(end, " : ");
            memmove(to, line, (size_t)(end - line));
            to += end - line;
            n -= (size_t)(shape - line);
            line = shape;
        }
        memmove(to, line, n);
        to += n;
        line += n;
    }
    *to = 0;
    return text;
}

static int compare_graphs(const Export *x, const Text *spec, Error *e) {
    Model *m = spec_load_text("imported.lua", spec->at, spec->length, NULL, NULL, e);
    if (!m) return e->status;
    char *ours = graph_text(x->model), *theirs = graph_text(m);
    bool same = !strcmp(ours, theirs);
    free(ours);
    free(theirs);
    spec_free(m);
    if (same) return STATUS_OK;
    return error_set(e, STATUS_INTERNAL,
                     "%s: export: expected the importer to make this model of what was exported, "
                     "found another",
                     x->spec);
}

/* == Tensors ============================================================== */

typedef struct Compared {
    const Export *x;
    const Tensor *t;
    uint64_t at;     /* of the next value */
    float *ours;     /* all of them */
    bool calculated; /* the tensor that was written is no copy */
} Compared;

/* Equal bits; of sums that were taken there and back, what float32 leaves of them. */
static bool is_same(const Compared *c, float ours, float theirs) {
    double most = c->calculated ? 0x1p-22 * (1 + fabs((double)ours)) : 0;
    return memcmp(&ours, &theirs, sizeof ours) == 0
        || (most > 0 && fabs((double)ours - (double)theirs) <= most);
}

static int check_put(void *user, const float *x, int64_t n, Error *e) {
    Compared *c = user;
    for (int64_t i = 0; i < n; i++)
        if (!is_same(c, c->ours[c->at + (uint64_t)i], x[i]))
            return error_set(e, STATUS_INTERNAL,
                             "%s: export: expected the values of %s, found others", c->t->name,
                             c->x->weights);
    c->at += (uint64_t)n;
    return STATUS_OK;
}

static int compare_tensor(const Export *x, const PlannedTensor *t, Error *e) {
    Compared c = { .x = x, .t = safetensors_find(&x->file, t->name) };
    if (!c.t)
        return error_set(e, STATUS_INTERNAL, "%s: export: expected a parameter, found none",
                         t->name);
    c.ours = malloc((size_t)c.t->count * sizeof *c.ours + 1);
    for (int i = 0; i < t->pieces; i++)
        c.calculated = c.calculated || t->piece[i].times != 1 || t->piece[i].plus != 0;
    if (!c.ours) return error_memory(e, t->name, (size_t)c.t->count * sizeof *c.ours);
    int status = safetensors_read_f32(&x->file, c.t, c.ours, e);
    if (!status) status = plan_stream(t, check_put, &c, e);
    if (!status && c.at != (uint64_t)c.t->count)
        status = error_set(e, STATUS_INTERNAL, "%s: export: expected %lld values, found %llu",
                           t->name, (long long)c.t->count, (unsigned long long)c.at);
    free(c.ours);
    return status;
}

static int compare_tensors(const Export *x, const TensorPlan *p, Error *e) {
    int status = STATUS_OK;
    if (p->count != x->folder.count)
        return error_set(e, STATUS_INTERNAL, "%s: export: expected %d tensors, found %d", x->spec,
                         x->folder.count, p->count);
    for (int32_t i = 0; i < p->count && !status; i++)
        status = compare_tensor(x, &p->tensor[i], e);
    return status;
}

/* == Folders ============================================================== */

static int check_known(const Export *x, const CheckpointFolder *c, Error *e) {
    Json config = { 0 };
    Imported made = { 0 };
    bool there;
    ImportRequest r = { .folder = c,
                        .config = &config,
                        .name = x->model->name,
                        .tokenizer = x->model->tokenizer_file.bytes ? NULL : x->model->tokenizer,
                        .keep = true };
    int status = folder_json(c, "config.json", FOLDER_CONFIG, FOLDER_CONFIG_VALUES, &config, &there,
                             e);
    if (!status) status = importer_run(&r, &made, e);
    if (!status) status = compare_graphs(x, &made.spec, e);
    if (!status) status = compare_tensors(x, &made.plan, e);
    importer_free(&made);
    json_free(&config);
    return status;
}

static int check_own(const Export *x, const CheckpointFolder *c, Error *e) {
    TensorPlan plan = { 0 };
    int status = STATUS_OK;
    for (int32_t i = 0; i < c->count && !status; i++) {
        TensorView v;
        status = view_stored(&v, &c->tensor[i], e);
        if (!status) status = plan_add(&plan, c->tensor[i].tensor->name, &v, 1, 0, true, e);
    }
    if (!status) status = compare_tensors(x, &plan, e);
    plan_free(&plan);
    return status;
}

int export_check(const Export *x, const ExportFolder *f, bool known, Error *e) {
    CheckpointFolder c;
    int status = folder_load(&c, f->temp, e);
    if (status) return status;
    status = known ? check_known(x, &c, e) : check_own(x, &c, e);
    folder_free(&c);
    return status;
}
