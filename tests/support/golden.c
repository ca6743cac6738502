/* SPDX-License-Identifier: MIT
** Reading golden cases, and writing their configuration as a Lua spec: every
** JSON object becomes a table, { "kind": "mlp", ... } a call of mlp.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "golden.h"
#include "safetensors.h"

/* == Files ================================================================ */

bool golden_path(const char *name, char *path, size_t size) {
    const char *folder = getenv("STRATA_GOLDEN");
    snprintf(path, size, "%s/%s.safetensors", folder ? folder : SOURCE_DIR "/../shared/golden",
             name);
    if (!access(path, R_OK)) return true;
    print_message("golden case %s is not there: set STRATA_GOLDEN to its folder to run it\n", path);
    return false;
}

static int32_t *read_ids(const Golden *c, const char *name) {
    Error e = { 0 };
    const Tensor *t = safetensors_find(c->file, name);
    assert_non_null(t);
    int32_t *ids = malloc((size_t)t->count * sizeof *ids);
    assert_int_equal(safetensors_read_i32(c->file, t, ids, &e), 0);
    return ids;
}

void golden_open(Golden *c, const char *path) {
    Error e = { 0 };
    *c = (Golden){ .file = calloc(1, sizeof *c->file) };
    assert_non_null(c->file);
    if (safetensors_open(c->file, path, &e)) fail_msg("%s", e.text);
    const Tensor *logits = safetensors_find(c->file, "expect.logits");
    assert_non_null(logits);
    c->batch = logits->shape[0];
    c->time = logits->shape[1];
    c->vocab = logits->shape[2];
    c->tokens = read_ids(c, "tokens");
    c->targets = read_ids(c, "targets");
}

void golden_close(Golden *c) {
    safetensors_close(c->file);
    free(c->file);
    free(c->tokens);
    free(c->targets);
}

/* One tensor's values behind the others. */
static double *add_values(const Golden *c, const char *name, double *values, int64_t *count) {
    Error e = { 0 };
    const Tensor *t = safetensors_find(c->file, name);
    if (!t) return NULL;
    values = realloc(values, (size_t)(*count + t->count) * sizeof *values);
    if (safetensors_read_f64(c->file, t, values + *count, &e)) fail_msg("%s", e.text);
    *count += t->count;
    return values;
}

double *golden_values_if(const Golden *c, const char *prefix, const char *name, int64_t *count) {
    char full[512];
    const char *star = strchr(name, '*');
    int64_t n = 0;
    double *values = NULL, *more;
    for (int i = 0;; i++, values = more) {
        if (star)
            snprintf(full, sizeof full, "%s%.*s%d%s", prefix, (int)(star - name), name, i,
                     star + 1);
        else snprintf(full, sizeof full, "%s%s", prefix, name);
        if ((star || !i) && (more = add_values(c, full, values, &n))) continue;
        break;
    }
    if (count) *count = n;
    return values;
}

double *golden_values(const Golden *c, const char *prefix, const char *name, int64_t *count) {
    double *values = golden_values_if(c, prefix, name, count);
    if (!values) fail_msg("the case has no tensor '%s%s'", prefix, name);
    return values;
}

bool golden_has_gradients(const Golden *c) {
    for (int i = 0; i < c->file->count; i++)
        if (!strncmp(c->file->tensor[i].name, "expect.grad.", 12)) return true;
    return false;
}

const char *golden_parameter(const Golden *c, int *at, int *rank, const int64_t **shape) {
    while (*at < c->file->count) {
        const Tensor *t = &c->file->tensor[(*at)++];
        if (!strncmp(t->name, "expect.", 7) || !strcmp(t->name, "tokens")
            || !strcmp(t->name, "targets"))
            continue;
        *rank = t->rank;
        *shape = t->shape;
        return t->name;
    }
    return NULL;
}

/* == Specs ================================================================ */

static void write_value(Text *t, const Json *j, const JsonNode *n);

/* { key = value, ... } without the fields that are null or the kind */
static void write_table(Text *t, const Json *j, const JsonNode *n) {
    const char *between = "{ ";
    for (const JsonNode *m = json_first(j, n); m; m = json_next(j, m)) {
        if (m->type == JSON_NULL || (m->key && !strcmp(m->key, "kind"))) continue;
        text_add(t, "%s", between);
        if (m->key) text_add(t, "%s = ", m->key);
        write_value(t, j, m);
        between = ", ";
    }
    text_add(t, *between == '{' ? "{}" : " }");
}

static void write_value(Text *t, const Json *j, const JsonNode *n) {
    switch (n->type) {
    case JSON_TRUE: text_add(t, "true"); break;
    case JSON_FALSE: text_add(t, "false"); break;
    case JSON_STRING: text_add(t, "\"%s\"", n->text); break;
    case JSON_NUMBER: text_add(t, "%s", n->text); break;
    default: write_table(t, j, n);
    }
}

static void write_call(Text *t, const Json *j, const JsonNode *n) {
    text_add(t, "%s ", json_member(j, n, "kind")->text);
    write_table(t, j, n);
}

static void write_layer(Text *t, const Json *j, const JsonNode *layer) {
    const JsonNode *list = json_member(j, layer, "sublayers"),
                   *route = json_member(j, layer, "route");
    text_add(t, "    layer { ");
    for (const JsonNode *s = json_first(j, list); s; s = json_next(j, s)) {
        write_call(t, j, s);
        text_add(t, ", ");
    }
    if (route && route->type == JSON_OBJECT) {
        text_add(t, "route = ");
        write_call(t, j, route);
    }
    text_add(t, "},\n");
}

/* "  key = value,\n", or nothing if the configuration does not say */
static void write_field(Text *t, const Json *j, const char *key) {
    const JsonNode *n = json_member(j, &j->node[0], key);
    if (!n || n->type == JSON_NULL) return;
    text_add(t, "  %s = ", key);
    write_value(t, j, n);
    text_add(t, ",\n");
}

char *golden_spec(const Golden *c, const char *name) {
    Json j = { 0 };
    Error e = { 0 };
    Text t = { 0 };
    const char *config = safetensors_metadata(c->file, "config");
    assert_non_null(config);
    if (json_parse(&j, name, config, strlen(config), 100000, &e)) fail_msg("%s", e.text);
    const JsonNode *root = &j.node[0];
    const JsonNode *norm = json_member(&j, root, "norm"), *tied = json_member(&j, root, "tied");
    const JsonNode *positions = json_member(&j, root, "positions");
    text_add(&t, "return model {\n  name = \"%s\",\n", name);
    write_field(&t, &j, "vocab");
    write_field(&t, &j, "context");
    write_field(&t, &j, "dim");
    write_field(&t, &j, "route_penalty");
    text_add(&t, "  embedding = { tied = %s", tied && tied->type == JSON_FALSE ? "false" : "true");
    if (positions && positions->type == JSON_STRING)
        text_add(&t, ", positions = \"%s\"", positions->text);
    text_add(&t, " },\n  norm = %s { eps = %s },\n  residual = ", norm ? norm->text : "rmsnorm",
             json_member(&j, root, "eps")->text);
    write_call(&t, &j, json_member(&j, root, "residual"));
    text_add(&t, ",\n  layers = {\n");
    const JsonNode *layers = json_member(&j, root, "layers");
    for (const JsonNode *l = json_first(&j, layers); l; l = json_next(&j, l))
        write_layer(&t, &j, l);
    text_add(&t, "  },\n}\n");
    assert_false(t.failed);
    json_free(&j);
    return t.at;
}
