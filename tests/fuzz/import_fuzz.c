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
                                   NULL };

void fuzz_repair(FuzzInput *f) { (void)f; }

/* == Folders ============================================================== */

static const char *const kinds[] = { "qwen3", "gemma3_text", "gpt2", "smollm3" };
enum { KINDS = sizeof kinds / sizeof *kinds };
static const char weights[] = "w.safetensors";
static char root[64]; /* a folder each of KINDS */

static size_t read_file(const char *path, unsigned char *to) {
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(to, 1, FUZZ_ROOM, f) : 0;
    if (!f || !n) fuzz_broken("a checkpoint of the tests is not there");
    fclose(f);
    return n;
}

static void write_file(const char *path, const void *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) fuzz_broken("a file cannot be written");
}

static void remove_folders(void) {
    static const char *const files[] = { "config.json", "model.safetensors.index.json", weights };
    char path[256];
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < 3; i++) {
            snprintf(path, sizeof path, "%s/%s/%s", root, kinds[k], files[i]);
            unlink(path);
        }
        snprintf(path, sizeof path, "%s/%s", root, kinds[k]);
        rmdir(path);
    }
    rmdir(root);
}

static void make_folders(void) {
    static unsigned char bytes[FUZZ_ROOM];
    char path[1024];
    if (*root) return;
    strcpy(root, "/tmp/import-fuzz-XXXXXX");
    if (!mkdtemp(root)) fuzz_broken("a folder cannot be made");
    atexit(remove_folders);
    for (int k = 0; k < KINDS; k++) {
        snprintf(path, sizeof path, SOURCE_DIR "/tests/checkpoints/%s/model.safetensors", kinds[k]);
        size_t n = read_file(path, bytes);
        snprintf(path, sizeof path, "%s/%s", root, kinds[k]);
        mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/%s/%s", root, kinds[k], weights);
        write_file(path, bytes, n);
    }
}

/* == Seeds ================================================================ */

/* An index that names the tensors of a file. */
static size_t write_index(const char *file, char *to, size_t room) {
    Safetensors s;
    Error e;
    size_t n = 0;
    if (safetensors_open(&s, file, &e)) fuzz_broken("a checkpoint of the tests is damaged");
    n += (size_t)snprintf(to, room, "{\"metadata\": {}, \"weight_map\": {");
    for (int32_t i = 0; i < s.count; i++)
        n += (size_t)snprintf(to + n, room - n, "%s\"%s\": \"%s\"", i ? ", " : "", s.tensor[i].name,
                              weights);
    safetensors_close(&s);
    return n + (size_t)snprintf(to + n, room - n, "}}");
}

size_t fuzz_seed(size_t k, unsigned char *to) {
    char path[1024];
    if (k >= KINDS) return 0;
    to[0] = (unsigned char)k;
    snprintf(path, sizeof path, SOURCE_DIR "/tests/checkpoints/%s/config.json", kinds[k]);
    size_t n = 1 + read_file(path, to + 1);
    to[n++] = 0;
    snprintf(path, sizeof path, SOURCE_DIR "/tests/checkpoints/%s/model.safetensors", kinds[k]);
    return n + write_index(path, (char *)to + n, FUZZ_ROOM - n);
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

static int import(const CheckpointFolder *c, const Json *config, Error *e) {
    Imported made;
    const ImportRequest r = { .folder = c, .config = config, .name = "m" };
    int status = importer_run(&r, &made, e);
    if (status) return status;
    check_plan(c, &made.plan);
    Model *m = spec_load_text("m.lua", made.spec.at, made.spec.length, NULL, NULL, e);
    status = m ? 0 : e->status;
    spec_free(m);
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
