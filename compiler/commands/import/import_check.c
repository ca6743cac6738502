/* SPDX-License-Identifier: MIT
** Checks the spec that an importer wrote against the plan of its weights; see import.h.
*/
#include "import.h"
#include "array.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "random.h"

/* == Tensors ============================================================== */

static int check_by_name(const void *a, const void *b) {
    return strcmp((*(const PlannedTensor *const *)a)->name,
                  (*(const PlannedTensor *const *)b)->name);
}

/* Where a planned tensor comes from, for messages. */
static void check_place_of(const PlannedTensor *t, char place[600]) {
    const StoredTensor *from = t->piece->from;
    if (from) print_text(place, 600, "%s:%s", from->file->path, from->tensor->name);
    else print_text(place, 600, "%s", t->name);
}

static int check_shape(const PlannedTensor *t, const Shape *s, Error *e) {
    char expected[200], found[200], place[600];
    bool same = t->rank == s->rank;
    for (int d = 0; same && d < t->rank; d++)
        same = t->shape[d] == s->dim[d];
    if (same) return STATUS_OK;
    int64_t dim[SAFETENSORS_RANK];
    for (int d = 0; d < s->rank; d++)
        dim[d] = s->dim[d];
    check_place_of(t, place);
    return error_set(e, STATUS_USER, "%s: expected what makes '%s' of shape %s, found %s", place,
                     t->name, shape_print(expected, s->rank, dim),
                     shape_print(found, t->rank, t->shape));
}

/* Integers are tables of ids, which no step changes; as weights they are codes of others. */
static int check_numbers(const PlannedTensor *t, const Node *param, Error *e) {
    for (int k = 0; k < t->pieces && !param->attr->buffer; k++) {
        const StoredTensor *from = t->piece[k].from;
        if (from && dtype_is_integer(from->tensor->dtype))
            return error_set(e, STATUS_USER, "%s:%s: expected F32, BF16 or F16, found %s, for '%s'",
                             from->file->path, from->tensor->name, dtype_name(from->tensor->dtype),
                             t->name);
    }
    return STATUS_OK;
}

/* The plan by name, and which of it the spec has. */
typedef struct Matching {
    Import *i;
    const PlannedTensor **sorted;
    bool *gone; /* [plan.count], in the plan's order: what the spec does not have */
    int32_t matched;
    bool changed; /* another mixer or route */
    int64_t room; /* of i->fresh */
} Matching;

static const PlannedTensor *planned(const Matching *x, const char *name) {
    const PlannedTensor key = { .name = (char *)(size_t)name }, *wanted = &key;
    const PlannedTensor **found = bsearch(&wanted, x->sorted, (size_t)x->i->made.plan.count,
                                          sizeof *x->sorted, check_by_name);
    return found ? *found : NULL;
}

static int add_fresh(Matching *x, const char *name, const Param *param, Error *e) {
    Import *i = x->i;
    if (!x->changed)
        return error_set(e, STATUS_USER,
                         "%s: importer: expected a tensor '%s', which the spec has, found none",
                         i->folder.path, name);
    if (!ARRAY_ROOM(i->fresh, i->fresh_count, x->room, 64))
        return error_memory(e, i->spec, 2 * (size_t)x->room * sizeof *i->fresh);
    char *copy = strdup(name);
    if (!copy) return error_memory(e, i->spec, strlen(name));
    i->fresh[i->fresh_count++] = (FreshTensor){ copy, param, i->model->train.seed };
    return STATUS_OK;
}

static int match_param(Matching *x, const Param *param, Error *e) {
    char name[256];
    Shape s = param_tensor_shape(param->node);
    int status = STATUS_OK;
    for (int64_t t = 0; t < param_tensors(param->node) && !status; t++) {
        param_tensor_name(param->node, t, name, sizeof name);
        const PlannedTensor *found = planned(x, name);
        if (!found) {
            status = add_fresh(x, name, param, e);
            continue;
        }
        status = check_numbers(found, param->node, e);
        if (!status) status = check_shape(found, &s, e);
        x->gone[found - x->i->made.plan.tensor] = false;
        x->matched++;
    }
    return status;
}

/* == Another mixer ======================================================== */

static void check_fill(const void *user, int64_t first, int64_t n, float *out) {
    const FreshTensor *f = user;
    const Init *init = &f->param->init;
    const InitialValues x = { (int32_t)init->kind, init->value, init->list, init->points };
    random_initial(&x, f->seed, f->name, first, n, out);
}

/* What nothing needs goes, what is new comes. */
static int change_plan(Matching *x, Error *e) {
    Import *i = x->i;
    TensorPlan *p = &i->made.plan;
    int status = STATUS_OK;
    for (int32_t k = 0; k < p->count; k++)
        if (x->gone[k]) text_add(&i->left, i->left_count++ ? ", %s" : "%s", p->tensor[k].name);
    plan_remove(p, x->gone);
    for (int64_t k = 0; k < i->fresh_count && !status; k++) {
        TensorView v;
        Shape s = param_tensor_shape(i->fresh[k].param->node);
        int64_t dim[SAFETENSORS_RANK];
        for (int d = 0; d < s.rank; d++)
            dim[d] = s.dim[d];
        status = view_filled(&v, check_fill, &i->fresh[k], s.rank, dim, e);
        if (!status) status = plan_add(p, i->fresh[k].name, &v, 1, 0, false, e);
    }
    return status ? status : text_status(&i->left, e);
}

void import_tell(const Import *i) {
    const JsonNode *code = json_member(&i->config, i->config.node, "auto_map");
    if (code && code->type != JSON_NULL)
        show_line(stderr, "note: ", i->folder.path,
                  " has code of its own (auto_map), which is not run: what is imported is the "
                  "model_type of that name");
    if (!i->residual && !i->route) return;
    printf("%lld tensors of the folder, %lld new with initial values, %lld left over\n",
           (long long)(i->made.plan.count - i->fresh_count), (long long)i->fresh_count,
           (long long)i->left_count);
    if (i->left_count) show_line(stdout, "  left over: ", i->left.at, "");
}

/* == The whole ============================================================ */

/* A tensor that the importer planned and the spec does not have. */
static int refuse_planned(const Matching *x, const PlannedTensor *t, Error *e) {
    char place[600];
    if (t->piece->from) check_place_of(t, place);
    else print_text(place, sizeof place, "%s: importer", x->i->folder.path);
    return error_set(e, STATUS_USER, "%s: expected tensors that the spec has, found '%s'", place,
                     t->name);
}

static int check_match(Matching *x, Error *e) {
    const Graph *g = x->i->model->graph;
    const TensorPlan *p = &x->i->made.plan;
    int status = STATUS_OK;
    for (int32_t k = 0; k < p->count; k++)
        x->sorted[k] = &p->tensor[k], x->gone[k] = true;
    qsort(x->sorted, (size_t)p->count, sizeof *x->sorted, check_by_name);
    for (int k = 0; k < g->nparam && !status; k++)
        status = match_param(x, &g->param[k], e);
    if (status || x->changed) return status ? status : change_plan(x, e);
    for (int32_t k = 0; k < p->count && x->matched < p->count; k++)
        if (x->gone[x->sorted[k] - p->tensor]) return refuse_planned(x, x->sorted[k], e);
    return STATUS_OK;
}

/* What is wrong with the spec is wrong with config.json, where nobody else had a hand in it: the
** importer is the library's, mixer and route are its own. */
static void blame_config(const Import *i, Error *e) {
    char text[sizeof e->text];
    if (e->status != STATUS_USER || i->importer || i->residual || i->route) return;
    print_text(text, sizeof text, "%.*s", (int)strcspn(e->text, "\n"), e->text);
    error_set(e, STATUS_USER, "%s/config.json: expected fields that make a model, found %s",
              i->folder.path, text);
}

int import_check(Import *i, Error *e) {
    size_t count = (size_t)i->made.plan.count + 1;
    const SpecLimits limits = { .console = stderr };
    i->model = spec_load_text(i->spec, i->made.spec.at, i->made.spec.length, i->tokenizer_from,
                              &limits, e);
    if (!i->model) return blame_config(i, e), e->status;
    Matching x = { .i = i, .changed = i->residual || i->route };
    x.sorted = malloc(count * sizeof *x.sorted);
    x.gone = malloc(count * sizeof *x.gone);
    int status = x.sorted && x.gone ? check_match(&x, e)
                                    : error_memory(e, i->spec, count * sizeof *x.sorted);
    free(x.sorted);
    free(x.gone);
    return status;
}
