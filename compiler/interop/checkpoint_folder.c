/* SPDX-License-Identifier: MIT
** Opening a folder of weights; see checkpoint_folder.h.
*/
#include "checkpoint_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder_hint.h"

static const char single[] = "model.safetensors", index_name[] = "model.safetensors.index.json";

/* == Files ================================================================ */

static bool plain_name(const char *name) {
    return *name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..")
        && strlen(name) <= NAME_MAX;
}

/* Length of the part of 'path' before its last '/'. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

/* Whether 'real' lies directly in the folder, or in .../blobs of the cache of which the folder is
** .../snapshots/REVISION. */
static bool lies_inside(const char *folder, const char *real) {
    size_t n = strlen(folder), at = folder_length(real);
    if (at == n && !strncmp(folder, real, n)) return true;
    size_t up = folder_length(folder);
    static const char snapshots[] = "/snapshots", blobs[] = "/blobs";
    size_t s = sizeof snapshots - 1, b = sizeof blobs - 1;
    if (up < s || strncmp(folder + up - s, snapshots, s)) return false;
    size_t cache = up - s;
    return at == cache + b && !strncmp(folder, real, cache) && !strncmp(real + cache, blobs, b);
}

int folder_file(const CheckpointFolder *c, const char *name, char **path, bool *there, Error *e) {
    char *joined, *real;
    *path = NULL;
    *there = false;
    if (!plain_name(name))
        return error_set(e, STATUS_USER, "%s: expected the name of a file in it, found '%s'",
                         c->path, name);
    if (asprintf(&joined, "%s/%s", c->path, name) < 0) return error_memory(e, c->path, 0);
    real = realpath(joined, NULL);
    int status = STATUS_OK;
    if (!real && errno != ENOENT) status = error_errno(e, joined, "open", errno);
    if (real && !lies_inside(c->real, real))
        status = error_set(e, STATUS_USER,
                           "%s: expected a file inside the folder, found a link that leads out of "
                           "it",
                           joined);
    *there = real && !status;
    free(real);
    if (*there) *path = joined;
    else free(joined);
    return status;
}

int folder_bytes(const char *path, size_t most, char **text, size_t *n, Error *e) {
    Input in;
    int status = input_open(&in, path, e);
    if (status) return status;
    *n = (size_t)in.before.st_size;
    *text = NULL;
    if (*n > most)
        status = error_set(e, STATUS_LIMIT, "%s: expected at most %zu bytes, found %zu", path, most,
                           *n);
    else if (!(*text = malloc(*n + 1))) status = error_memory(e, path, *n);
    if (!status) status = input_read(&in, 0, *text, *n, e);
    if (!status) status = input_unchanged(&in, e);
    input_close(&in);
    if (status) free(*text);
    return status;
}

int folder_json(const CheckpointFolder *c, const char *name, size_t bytes, uint32_t values, Json *j,
                bool *there, Error *e) {
    char *path, *text;
    size_t n;
    int status = folder_file(c, name, &path, there, e);
    if (status || !*there) return status;
    status = folder_bytes(path, bytes, &text, &n, e);
    if (!status) {
        status = json_parse(j, path, text, n, values, e);
        free(text);
    }
    free(path);
    return status;
}

/* == Tensors ============================================================== */

static int folder_by_name(const void *a, const void *b) {
    return strcmp(((const StoredTensor *)a)->tensor->name, ((const StoredTensor *)b)->tensor->name);
}

StoredTensor *folder_find(const CheckpointFolder *c, const char *name) {
    Tensor wanted = { .name = name };
    StoredTensor key = { .tensor = &wanted };
    return c->count ? bsearch(&key, c->tensor, (size_t)c->count, sizeof key, folder_by_name) : NULL;
}

/* All tensors of all files, sorted; no name twice. */
static int list_tensors(CheckpointFolder *c, Error *e) {
    int64_t count = 0;
    for (int32_t i = 0; i < c->files; i++)
        count += c->file[i].count;
    if (count > SAFETENSORS_TENSORS)
        return error_set(e, STATUS_LIMIT, "%s: expected at most %d tensors, found %lld", c->path,
                         SAFETENSORS_TENSORS, (long long)count);
    c->tensor = calloc((size_t)count + 1, sizeof *c->tensor);
    if (!c->tensor) return error_memory(e, c->path, (size_t)count * sizeof *c->tensor);
    for (int32_t i = 0; i < c->files; i++)
        for (int32_t k = 0; k < c->file[i].count; k++)
            c->tensor[c->count++] = (StoredTensor){ &c->file[i].tensor[k], &c->file[i], false };
    qsort(c->tensor, (size_t)count, sizeof *c->tensor, folder_by_name);
    for (int32_t i = 1; i < c->count; i++)
        if (!folder_by_name(&c->tensor[i - 1], &c->tensor[i]))
            return error_set(e, STATUS_USER, "%s:%s: expected each tensor once, found it in %s too",
                             c->tensor[i].file->path, c->tensor[i].tensor->name,
                             c->tensor[i - 1].file->path);
    return STATUS_OK;
}

/* == The index ============================================================ */

/* 'tensor': of which the index says that it is there; without an index the file is. */
static int folder_open_file(CheckpointFolder *c, const char *name, const char *tensor, Error *e) {
    char *path;
    bool there;
    int status = folder_file(c, name, &path, &there, e);
    if (!status && !there)
        status = error_set(e, STATUS_USER,
                           "%s/%s: %s: expected a file of the folder, found none called '%s'",
                           c->path, index_name, tensor, name);
    if (!status) status = safetensors_open(&c->file[c->files], path, e);
    if (!status) c->files++;
    free(path);
    return status;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_open(const CheckpointFolder *c, const char *name) {
    for (int32_t i = 0; i < c->files; i++)
        if (!strcmp(base_name(c->file[i].path), name)) return true;
    return false;
}

/* Opens every file that the map names, once. */
static int open_files(CheckpointFolder *c, const Json *j, const JsonNode *map, Error *e) {
    int status = STATUS_OK;
    for (const JsonNode *n = json_first(j, map); n && !status; n = json_next(j, n)) {
        if (n->type != JSON_STRING || !plain_name(n->text))
            return error_set(e, STATUS_USER,
                             "%s/%s: %s: expected the name of a file in the folder, found %s%s%s",
                             c->path, index_name, n->key, n->type == JSON_STRING ? "'" : "",
                             n->type == JSON_STRING ? n->text : "something else",
                             n->type == JSON_STRING ? "'" : "");
        if (is_open(c, n->text)) continue;
        if (c->files == FOLDER_SHARDS)
            return error_set(e, STATUS_LIMIT, "%s/%s: expected at most %d files, found more",
                             c->path, index_name, FOLDER_SHARDS);
        status = folder_open_file(c, n->text, n->key, e);
    }
    return status;
}

/* Index and files name the same tensors in the same places. */
static int check_map(CheckpointFolder *c, const Json *j, const JsonNode *map, Error *e) {
    for (const JsonNode *n = json_first(j, map); n; n = json_next(j, n)) {
        StoredTensor *t = folder_find(c, n->key);
        if (!t || strcmp(base_name(t->file->path), n->text))
            return error_set(e, STATUS_USER, "%s/%s: expected the tensor '%s' in %s, found none",
                             c->path, index_name, n->key, n->text);
        t->used = true;
    }
    for (int32_t i = 0; i < c->count; i++) {
        if (!c->tensor[i].used)
            return error_set(e, STATUS_USER, "%s:%s: expected tensors that %s lists, found another",
                             c->tensor[i].file->path, c->tensor[i].tensor->name, index_name);
        c->tensor[i].used = false;
    }
    return STATUS_OK;
}

static int open_index(CheckpointFolder *c, const Json *j, Error *e) {
    const JsonNode *root = j->node,
                   *map = root->type == JSON_OBJECT ? json_member(j, root, "weight_map") : NULL;
    if (!map || map->type != JSON_OBJECT || !map->count)
        return error_set(e, STATUS_USER,
                         "%s/%s: expected a weight_map that names files, found none", c->path,
                         index_name);
    c->file = calloc(FOLDER_SHARDS, sizeof *c->file);
    if (!c->file) return error_memory(e, c->path, FOLDER_SHARDS * sizeof *c->file);
    int status = open_files(c, j, map, e);
    if (!status) status = list_tensors(c, e);
    return status ? status : check_map(c, j, map, e);
}

static int open_single(CheckpointFolder *c, Error *e) {
    c->file = calloc(1, sizeof *c->file);
    if (!c->file) return error_memory(e, c->path, sizeof *c->file);
    int status = folder_open_file(c, single, single, e);
    return status ? status : list_tensors(c, e);
}

static int open_weights(CheckpointFolder *c, Error *e) {
    char *path;
    bool there;
    Json j = { 0 };
    int status = folder_file(c, single, &path, &there, e);
    free(path);
    if (status) return status;
    if (there) return open_single(c, e);
    status = folder_json(c, index_name, FOLDER_INDEX, 2 * SAFETENSORS_TENSORS, &j, &there, e);
    if (status) return status;
    if (!there) return folder_refuse_empty(c->path, single, index_name, e);
    status = open_index(c, &j, e);
    json_free(&j);
    return status;
}

int folder_load(CheckpointFolder *c, const char *path, Error *e) {
    *c = (CheckpointFolder){ .path = strdup(path) };
    if (!c->path) return error_memory(e, path, strlen(path));
    size_t n = strlen(c->path);
    while (n > 1 && c->path[n - 1] == '/')
        c->path[--n] = 0;
    c->real = realpath(c->path, NULL);
    struct stat st;
    int problem = !c->real || stat(c->real, &st) ? errno : 0;
    bool folder = !problem && S_ISDIR(st.st_mode);
    int status = folder ? open_weights(c, e) : folder_refuse_path(path, problem, e);
    if (status) folder_free(c);
    return status;
}

void folder_free(CheckpointFolder *c) {
    for (int32_t i = 0; i < c->files; i++)
        safetensors_close(&c->file[i]);
    free(c->file);
    free(c->tensor);
    free(c->real);
    free(c->path);
    *c = (CheckpointFolder){ 0 };
}
