/* SPDX-License-Identifier: MIT
** GGUF files; see gguf_file.h. */
#include "gguf_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bf16.h"
#include "gguf_block.h"

enum { VERSION = 3, ALIGN = 32 };
enum {
    VALUE_U32 = 4,
    VALUE_I32 = 5,
    VALUE_F32 = 6,
    VALUE_BOOL = 7,
    VALUE_STRING = 8,
    VALUE_LIST = 9
};

/* == Metadata ============================================================= */

static void gguf_file_add(Text *t, const void *bytes, size_t n) { text_bytes(t, bytes, n); }
static void add_u32(Text *t, uint32_t x) { gguf_file_add(t, &x, sizeof x); }
static void add_u64(Text *t, uint64_t x) { gguf_file_add(t, &x, sizeof x); }

static void gguf_file_add_text(Text *t, const char *text, size_t n) {
    add_u64(t, n);
    gguf_file_add(t, text, n);
}

static void add_key(Gguf *g, const char *key, uint32_t type) {
    g->count++;
    gguf_file_add_text(&g->pairs, key, strlen(key));
    add_u32(&g->pairs, type);
}

void gguf_u32(Gguf *g, const char *key, uint32_t value) {
    add_key(g, key, VALUE_U32);
    add_u32(&g->pairs, value);
}

void gguf_f32(Gguf *g, const char *key, float value) {
    add_key(g, key, VALUE_F32);
    gguf_file_add(&g->pairs, &value, sizeof value);
}

void gguf_bool(Gguf *g, const char *key, bool value) {
    unsigned char byte = value;
    add_key(g, key, VALUE_BOOL);
    gguf_file_add(&g->pairs, &byte, 1);
}

void gguf_string(Gguf *g, const char *key, const char *value) {
    add_key(g, key, VALUE_STRING);
    gguf_file_add_text(&g->pairs, value, strlen(value));
}

static void gguf_file_add_list(Gguf *g, const char *key, uint32_t type, uint64_t count) {
    add_key(g, key, VALUE_LIST);
    add_u32(&g->pairs, type);
    add_u64(&g->pairs, count);
}

void gguf_strings(Gguf *g, const char *key, uint64_t count) {
    gguf_file_add_list(g, key, VALUE_STRING, count);
}

void gguf_item(Gguf *g, const char *text, size_t length) {
    gguf_file_add_text(&g->pairs, text, length);
}

void gguf_i32s(Gguf *g, const char *key, const int32_t *value, uint64_t count) {
    gguf_file_add_list(g, key, VALUE_I32, count);
    gguf_file_add(&g->pairs, value, count * sizeof *value);
}

void gguf_f32s(Gguf *g, const char *key, const float *value, uint64_t count) {
    gguf_file_add_list(g, key, VALUE_F32, count);
    gguf_file_add(&g->pairs, value, count * sizeof *value);
}

/* == Tensors ============================================================== */

static GgufType gguf_file_type_of(const PlannedTensor *t, GgufType type) {
    if (t->rank < 2) return GGUF_F32;
    if (type == GGUF_Q8_0 && t->shape[t->rank - 1] % GGUF_BLOCK) return GGUF_F16;
    return type;
}

static int64_t gguf_file_count_of(const PlannedTensor *t) {
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++)
        n *= t->shape[d];
    return n;
}

/* Axes in the file's order, the innermost first. */
static void gguf_file_describe(Text *t, const PlannedTensor *x, GgufType type, uint64_t offset) {
    gguf_file_add_text(t, x->name, strlen(x->name));
    add_u32(t, (uint32_t)x->rank);
    for (int d = x->rank; d-- > 0;)
        add_u64(t, (uint64_t)x->shape[d]);
    add_u32(t, gguf_block_id(type));
    add_u64(t, offset);
}

static void header(Text *t, const Gguf *g, const TensorPlan *plan, GgufType type) {
    uint64_t offset = 0;
    gguf_file_add(t, "GGUF", 4);
    add_u32(t, VERSION);
    add_u64(t, (uint64_t)plan->count);
    add_u64(t, g->count);
    gguf_file_add(t, g->pairs.at, g->pairs.length);
    for (int32_t i = 0; i < plan->count; i++) {
        const PlannedTensor *x = &plan->tensor[i];
        GgufType own = gguf_file_type_of(x, type);
        gguf_file_describe(t, x, own, offset);
        offset += (gguf_block_bytes(own, gguf_file_count_of(x)) + ALIGN - 1) / ALIGN * ALIGN;
    }
    while (!t->failed && t->length % ALIGN)
        gguf_file_add(t, "", 1);
}

/* Values as they come, in whole blocks; what is left of one waits. */
typedef struct Packer {
    GgufType type;
    const char *name;
    Output *to;
    float rest[GGUF_BLOCK];
    int held;
    unsigned char *bytes; /* of at most PLAN_BLOCK floats */
} Packer;

static int pack(Packer *p, const float *x, int64_t n, Error *e) {
    int64_t bad = gguf_block_pack(p->type, x, n, p->bytes);
    if (bad >= 0)
        return error_set(e, STATUS_USER, "%s: expected values that the type can hold, found %s",
                         p->name, print_double((char[32]){ 0 }, (double)x[bad]));
    return output_write(p->to, p->bytes, (size_t)gguf_block_bytes(p->type, n), e);
}

static int gguf_file_put(void *user, const float *x, int64_t n, Error *e) {
    Packer *p = user;
    int status = STATUS_OK;
    while (n && p->held && !status) {
        p->rest[p->held++] = *x++;
        n--;
        if (p->held < GGUF_BLOCK) continue;
        status = pack(p, p->rest, GGUF_BLOCK, e);
        p->held = 0;
    }
    int64_t whole = p->type == GGUF_Q8_0 ? n / GGUF_BLOCK * GGUF_BLOCK : n;
    if (!status && whole) status = pack(p, x, whole, e);
    for (int64_t i = whole; i < n && !status; i++)
        p->rest[p->held++] = x[i];
    return status;
}

static int write_tensors(const TensorPlan *plan, GgufType type, Output *o, Error *e) {
    static const unsigned char zeros[ALIGN];
    Packer p = { .to = o, .bytes = malloc(PLAN_BLOCK) };
    int status = p.bytes ? STATUS_OK : error_memory(e, o->path, PLAN_BLOCK);
    for (int32_t i = 0; i < plan->count && !status; i++) {
        const PlannedTensor *x = &plan->tensor[i];
        p.type = gguf_file_type_of(x, type);
        p.name = x->name;
        p.held = 0;
        status = plan_stream(x, gguf_file_put, &p, e);
        uint64_t odd = gguf_block_bytes(p.type, gguf_file_count_of(x)) % ALIGN;
        if (!status && odd) status = output_write(o, zeros, ALIGN - odd, e);
    }
    free(p.bytes);
    return status;
}

int gguf_write(const Gguf *g, const TensorPlan *plan, GgufType type, const char *path,
               bool overwrite, Error *e) {
    struct stat s;
    Output o;
    if (!overwrite && !lstat(path, &s))
        return error_set(e, STATUS_USER,
                         "%s: expected a name that is free, or --overwrite, found a "
                         "file",
                         path);
    int status = output_open(&o, path, e);
    if (status) return status;
    Text t = { 0 };
    header(&t, g, plan, type);
    status = text_status(&t, e);
    if (!status) status = text_status(&g->pairs, e);
    if (!status) status = output_write(&o, t.at, t.length, e);
    text_free(&t);
    if (!status) status = write_tensors(plan, type, &o, e);
    if (status) return output_discard(&o), status;
    return output_commit(&o, false, e);
}

/* == Reading back ========================================================= */

typedef struct Comparer {
    const Input *in;
    const char *name;
    GgufType type;
    uint64_t at; /* of the next value */
    float rest[GGUF_BLOCK];
    int held;
    unsigned char *bytes;
} Comparer;

static int gguf_file_compare(Comparer *c, const float *x, int64_t n, Error *e) {
    size_t bytes = (size_t)gguf_block_bytes(c->type, n);
    int status = input_read(c->in, c->at, c->bytes, bytes, e);
    c->at += bytes;
    int64_t bad = status ? -1 : gguf_block_differs(c->type, x, n, c->bytes);
    if (bad < 0) return status;
    return error_set(e, STATUS_INTERNAL, "%s:%s: expected %s, found another value", c->in->path,
                     c->name, print_double((char[32]){ 0 }, (double)x[bad]));
}

static int put_compare(void *user, const float *x, int64_t n, Error *e) {
    Comparer *c = user;
    int status = STATUS_OK;
    while (n && c->held && !status) {
        c->rest[c->held++] = *x++;
        n--;
        if (c->held < GGUF_BLOCK) continue;
        status = gguf_file_compare(c, c->rest, GGUF_BLOCK, e);
        c->held = 0;
    }
    int64_t whole = c->type == GGUF_Q8_0 ? n / GGUF_BLOCK * GGUF_BLOCK : n;
    if (!status && whole) status = gguf_file_compare(c, x, whole, e);
    for (int64_t i = whole; i < n && !status; i++)
        c->rest[c->held++] = x[i];
    return status;
}

/* The descriptions of the file that the plan's tensors would have, so that the types in it are
** known: those of one of the four. */
static int find_type(const Gguf *g, const TensorPlan *plan, const Input *in, GgufType *type,
                     uint64_t *data, Error *e) {
    for (*type = GGUF_F32; *type <= GGUF_Q8_0; ++*type) {
        Text t = { 0 };
        header(&t, g, plan, *type);
        char *found = t.failed ? NULL : malloc(t.length);
        bool same = found && (uint64_t)in->before.st_size >= t.length
            && !input_read(in, 0, found, t.length, e) && !memcmp(found, t.at, t.length);
        *data = t.length;
        free(found);
        text_free(&t);
        if (same) return STATUS_OK;
    }
    return error_set(e, STATUS_INTERNAL, "%s: expected the header that was written, found another",
                     in->path);
}

static int compare_all(const Gguf *g, const TensorPlan *plan, const Input *in, Error *e) {
    Comparer c = { .in = in, .bytes = malloc(PLAN_BLOCK) };
    GgufType type = GGUF_F32;
    int status = c.bytes ? find_type(g, plan, in, &type, &c.at, e)
                         : error_memory(e, in->path, PLAN_BLOCK);
    for (int32_t i = 0; i < plan->count && !status; i++) {
        c.name = plan->tensor[i].name;
        c.type = gguf_file_type_of(&plan->tensor[i], type);
        c.held = 0;
        status = plan_stream(&plan->tensor[i], put_compare, &c, e);
        c.at = (c.at + ALIGN - 1) / ALIGN * ALIGN;
    }
    free(c.bytes);
    return status;
}

int gguf_compare(const Gguf *g, const TensorPlan *plan, const char *path, Error *e) {
    Input in;
    int status = input_open(&in, path, e);
    if (status) return status;
    status = compare_all(g, plan, &in, e);
    input_close(&in);
    return status;
}
