/* SPDX-License-Identifier: MIT
** Folders of other programs: config.json and model.safetensors.index.json, beside weights that are
** right, through the importer that the config asks for.  An input is a byte that picks the weights,
** the config, a NUL, the index.  What is accepted is a spec and a plan of the folder's tensors.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "hash.h"
#include "importer.h"
#include "spec.h"

const int fuzz_bytes = 5;
const char *const fuzz_words[] = { "null",
                                   "true",
                                   "0",
                                   "-1",
                                   "1e308",
                                   "2147483647",
                                   "10000",
                                   "[]",
                                   "{}",
                                   "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2},",
                                   "\"rope_type\": \"yarn\", \"factor\": 2,",
                                   "\"sliding_window\": 4,",
                                   "\"use_sliding_window\": true,",
                                   "\"layer_types\": [\"full_attention\"],",
                                   "\"llama\"",
                                   "\"olmo2\"",
                                   "\"granite\"",
                                   "\"nanochat\"",
                                   "\"../w.safetensors\"",
                                   "\"config.json\"",
                                   "\"x.safetensors\"",
                                   "\"v.safetensors\"",
                                   NULL };

void fuzz_repair(FuzzInput *f) { (void)f; }

/* == Folders ============================================================== */

static const char *const kinds[] = {
#define CASE(name) #name,
#include "import_cases.def"
};
enum { KINDS = sizeof kinds / sizeof *kinds, FILES = 3 };
/* Files of weights that a checkpoint may have, and what they are called here: no file is found
** without the index. */
static const char *const stored[FILES] = { "model.safetensors", "model-00001-of-00002.safetensors",
                                           "model-00002-of-00002.safetensors" };
static const char *const shards[FILES] = { "w.safetensors", "v.safetensors", "x.safetensors" };
static char root[64]; /* a folder each of KINDS */

/* Its bytes; 0 if it is not there. */
static size_t read_file(const char *path, unsigned char *to, size_t room) {
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    size_t n = fread(to, 1, room, f);
    if (!n || n == room) fuzz_broken("a checkpoint of the tests is empty, or too long");
    fclose(f);
    return n;
}

static void write_file(const char *path, const void *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) fuzz_broken("a file cannot be written");
}

static void remove_folders(void) {
    static const char *const files[] = { "config.json", "model.safetensors.index.json" };
    char path[256];
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < 2 + FILES; i++) {
            snprintf(path, sizeof path, "%s/%s/%s", root, kinds[k],
                     i < 2 ? files[i] : shards[i - 2]);
            unlink(path);
        }
        snprintf(path, sizeof path, "%s/%s", root, kinds[k]);
        rmdir(path);
    }
    rmdir(root);
}

/* The checkpoint's file i, as a path. */
static const char *stored_path(int kind, int i, char path[1024]) {
    snprintf(path, 1024, SOURCE_DIR "/tests/checkpoints/%s/%s", kinds[kind], stored[i]);
    return path;
}

/* In memory, where there is such a place: two files are written for each input. */
static void make_folders(void) {
    static unsigned char bytes[4 * FUZZ_ROOM];
    char path[1024];
    if (*root) return;
    snprintf(root, sizeof root, "%s/import-fuzz-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    if (!mkdtemp(root)) fuzz_broken("a folder cannot be made");
    atexit(remove_folders);
    for (int k = 0; k < KINDS; k++) {
        snprintf(path, sizeof path, "%s/%s", root, kinds[k]);
        mkdir(path, 0700);
        for (int i = 0; i < FILES; i++) {
            size_t n = read_file(stored_path(k, i, path), bytes, sizeof bytes);
            snprintf(path, sizeof path, "%s/%s/%s", root, kinds[k], shards[i]);
            if (n) write_file(path, bytes, n);
        }
    }
}

/* == Seeds ================================================================ */

/* An index that names the tensors of a kind's files. */
static size_t write_index(int kind, char *to, size_t room) {
    char path[1024];
    size_t n = (size_t)snprintf(to, room, "{\"metadata\": {}, \"weight_map\": {");
    const char *comma = "";
    for (int f = 0; f < FILES; f++) {
        Safetensors s;
        Error e;
        if (access(stored_path(kind, f, path), R_OK)) continue;
        if (safetensors_open(&s, path, &e)) fuzz_broken("a checkpoint of the tests is damaged");
        for (int32_t i = 0; i < s.count && n < room; i++, comma = ", ")
            n += (size_t)snprintf(to + n, room - n, "%s\"%s\": \"%s\"", comma, s.tensor[i].name,
                                  shards[f]);
        safetensors_close(&s);
    }
    if (n + 3 > room) fuzz_broken("an index of the tests is too long");
    return n + (size_t)snprintf(to + n, room - n, "}}");
}

static size_t make_seed(int kind, unsigned char *to) {
    char path[1024];
    to[0] = (unsigned char)kind;
    snprintf(path, sizeof path, SOURCE_DIR "/tests/checkpoints/%s/config.json", kinds[kind]);
    size_t n = read_file(path, to + 1, FUZZ_ROOM - 2);
    if (!n) fuzz_broken("a checkpoint of the tests is not there");
    to[++n] = 0;
    return n + 1 + write_index(kind, (char *)to + n + 1, FUZZ_ROOM - n - 1);
}

/* Made once: an input begins with one. */
size_t fuzz_seed(size_t k, unsigned char *to) {
    static unsigned char *seed[KINDS];
    static size_t length[KINDS];
    if (k >= KINDS) return 0;
    if (!seed[k]) {
        length[k] = make_seed((int)k, to);
        seed[k] = malloc(length[k]);
        if (!seed[k]) abort();
        memcpy(seed[k], to, length[k]);
    }
    memcpy(to, seed[k], length[k]);
    return length[k];
}

/* == Reading ============================================================== */

static void check_plan(const CheckpointFolder *c, const TensorPlan *p) {
    for (int32_t i = 0; i < p->count; i++)
        for (int k = 0; k < p->tensor[i].pieces; k++) {
            const TensorView *v = &p->tensor[i].piece[k];
            int64_t last = v->offset;
            if (!v->from) continue;
            if (v->from < c->tensor || v->from >= c->tensor + c->count)
                fuzz_broken("a view is of no tensor of the folder");
            for (int d = 0; d < v->dims; d++)
                last += (v->dim[d] - 1) * v->stride[d];
            if (v->offset < 0 || last >= v->from->tensor->count)
                fuzz_broken("a view reaches out of its tensor");
        }
}

/* What an importer wrote can be loaded.  Many inputs make a spec that was loaded before. */
static int load(const Text *spec, Error *e) {
    static uint64_t loaded[1 << 14];
    uint64_t hash = xxh64(spec->at, spec->length, 0);
    uint64_t *slot = &loaded[hash % (sizeof loaded / sizeof *loaded)];
    if (*slot == hash) return 0;
    Model *m = spec_load_text("m.lua", spec->at, spec->length, NULL, NULL, e);
    if (!m) return e->status;
    spec_free(m);
    *slot = hash;
    return 0;
}

/* Importers share the library; one in so many begins with another, as all do in strata import. */
static int ask(const ImportRequest *r, Imported *made, Error *e) {
    enum { SHARED = 64 };
    static struct Front *front;
    static int asked;
    if (!front) front = importer_open();
    int status = importer_ask(front, r, made, e);
    if (++asked % SHARED && status <= STATUS_USER) return status;
    importer_close(front);
    front = NULL;
    return status;
}

static int import(const CheckpointFolder *c, const Json *config, Error *e) {
    Imported made;
    const ImportRequest r = { .folder = c, .config = config, .name = "m" };
    int status = ask(&r, &made, e);
    if (status) return status;
    check_plan(c, &made.plan);
    status = load(&made.spec, e);
    importer_free(&made);
    return status;
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    char folder[128], path[256];
    CheckpointFolder c;
    Json config = { 0 };
    Error e = { 0 };
    bool there = true;
    const unsigned char *end = n > 1 ? memchr(bytes + 1, 0, n - 1) : NULL;
    make_folders();
    if (!end) return 0;
    snprintf(folder, sizeof folder, "%s/%s", root, kinds[bytes[0] % KINDS]);
    snprintf(path, sizeof path, "%s/config.json", folder);
    write_file(path, bytes + 1, (size_t)(end - bytes - 1));
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    write_file(path, end + 1, n - (size_t)(end + 1 - bytes));
    int status = folder_load(&c, folder, &e);
    if (!status) {
        status = folder_json(&c, "config.json", FOLDER_CONFIG, FOLDER_CONFIG_VALUES, &config,
                             &there, &e);
        if (!status && config.node->type != JSON_OBJECT) status = error_set(&e, 1, "no object");
        if (!status) status = import(&c, &config, &e);
        json_free(&config);
        folder_free(&c);
    }
    if (status && (!e.text[0] || e.status != status)) fuzz_broken("an error says nothing");
    return !status;
}
