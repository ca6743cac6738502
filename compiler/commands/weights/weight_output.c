/* SPDX-License-Identifier: MIT
** Shared by strata weights and strata quantize: the place of the output, its metadata, and tensors
** in their own memory.
*/
#include "weight_tools.h"
#include "array.h"

#include <stdlib.h>
#include <string.h>

/* == Of a run ============================================================= */

bool weight_file_step(const Safetensors *s, int64_t *step) {
    const char *text = safetensors_metadata(s, "step");
    return text && parse_int64(text, 0, INT64_MAX, step);
}

/* == What it says ========================================================= */

/* Not about the form of the file, nor for who goes on with a run. */
static bool output_is_kept(const char *key, const Pair *pair, int pairs) {
    static const char *const left[] = { "checksum", "words", "made by" };
    for (int i = 0; i < 3; i++)
        if (!strcmp(key, left[i])) return false;
    for (int i = 0; i < pairs; i++)
        if (!strcmp(key, pair[i].key)) return false;
    return true;
}

int weight_output_about(WeightOutput *o, const Safetensors *s, const Pair *first, int pairs,
                        Error *e) {
    const JsonNode *own = json_member(&s->header, s->header.node, "__metadata__"),
                   *n = own ? json_first(&s->header, own) : NULL;
    size_t room = (size_t)pairs + (own ? own->count : 0) + 1;
    o->metadata = malloc(room * sizeof *o->metadata);
    if (!o->metadata) return error_memory(e, s->path, room * sizeof *o->metadata);
    for (o->pairs = 0; o->pairs < pairs; o->pairs++)
        o->metadata[o->pairs] = first[o->pairs];
    for (; n; n = json_next(&s->header, n))
        if (output_is_kept(n->key, first, pairs))
            o->metadata[o->pairs++] = (Pair){ n->key, n->text };
    return STATUS_OK;
}

/* == Tensors ============================================================== */

void weight_output_free(WeightOutput *o) {
    for (int i = 0; i < o->blocks; i++)
        free(o->memory[i]);
    free(o->memory);
    free(o->metadata);
    tensors_free(&o->list);
    *o = (WeightOutput){ 0 };
}

void *weight_output_room(WeightOutput *o, const char *what, size_t bytes, Error *e) {
    if (!ARRAY_ROOM(o->memory, o->blocks, o->room, 64))
        return error_memory(e, what, 2 * (size_t)o->room * sizeof *o->memory), NULL;
    void *p = bytes > memory_physical() ? NULL : malloc(bytes ? bytes : 1);
    if (!p) return error_memory(e, what, bytes), NULL;
    return o->memory[o->blocks++] = p;
}

int weight_output_copy(WeightOutput *o, const Safetensors *s, const Tensor *t, Error *e) {
    void *p = weight_output_room(o, t->name, t->bytes, e);
    if (!p) return e->status;
    int status = input_read(&s->in, t->at, p, t->bytes, e);
    return status ? status : tensors_add(&o->list, "", t->name, t->dtype, t->rank, t->shape, p, e);
}

int weight_output_write(const WeightOutput *o, const FilePlace *to, Error *e) {
    int status = place_check(to, e);
    return status
        ? status
        : safetensors_write(to->path, &o->list, o->metadata, o->pairs, SAFETENSORS_CHECKSUM, e);
}
