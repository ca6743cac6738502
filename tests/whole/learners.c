/* SPDX-License-Identifier: MIT
** See learners.h. */
#include "learners.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const Learner details = {
    "details",
    "return model { name = 'details', vocab = 256, context = 16, dim = 32, tokenizer = 'bytes',\n"
    "  norm = rmsnorm { eps = 1e-6 }, residual = haares { blocks = 2 },\n"
    "  layers = times(3, layer { attention { heads = 4, kv_heads = 2, rope = { theta = 10000 } },\n"
    "                            mlp { hidden = 56, activation = 'swiglu' } }),\n"
    "  train = { optimizer = adamw { lr = 4e-3, betas = { 0.85, 0.98 }, eps = 1e-7, weight_decay = "
    "0.2, clip = 1.5 },\n"
    "            schedule = cosine { warmup = 0.1, min_lr = 4e-4 }, batch = 2 } }\n"
};

const Learner depth_reads = {
    "depth_reads",
    "return model { name = 'depth_reads', vocab = 256, context = 16, dim = 32, tokenizer = "
    "'bytes',\n"
    "  norm = layernorm { eps = 1e-5 }, residual = attnres { block_size = 2, heads = 2 },\n"
    "  embedding = { tied = false, positions = 'learned' },\n"
    "  layers = times(2, layer { attention { heads = 2, bias = true },\n"
    "                            mlp { hidden = 64, activation = 'gelu', bias = true } }),\n"
    "  train = { optimizer = adamw { lr = 4e-3 }, batch = 2,\n"
    "            schedule = wsd { warmup = 0.05, decay = 0.3, min_lr = 1e-4 } } }\n"
};

/* Sentences, so that there is something to learn. */
static void make_text(char text[TEXT + 1]) {
    static const char *const word[] = { "the", "river",  "stone", "carries", "under",
                                        "a",   "bridge", "of",    "light",   "and" };
    uint32_t random = 20;
    for (int n = 0; n < TEXT; random = random * 1664525 + 1013904223)
        n += snprintf(text + n, TEXT + 1 - (size_t)n, "%s ", word[(random >> 16) % 10]);
}

void learners_open(Folder *f, char text[TEXT + 1]) {
    folder_open(f);
    make_text(text);
    folder_write(f, "text", text, TEXT);
}

void learner_build(const Folder *f, const Learner *l) {
    char file[64];
    snprintf(file, sizeof file, "%s.lua", l->name);
    folder_write(f, file, l->lua, strlen(l->lua));
    folder_shell(f, "strata build %s", file);
}

void learner_load(const Folder *f, const Learner *l, const char *options, strata_api *api) {
    char path[300];
    strata_model_api_fn table = NULL;
    snprintf(path, sizeof path, "%s.lua", l->name);
    folder_write(f, path, l->lua, strlen(l->lua));
    folder_shell(f, "strata build %s --emit shared -o %s.so %s", path, l->name, options);
    snprintf(path, sizeof path, "%s/%s.so", f->path, l->name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) *(void **)&table = dlsym(library, "strata_model_api");
    *api = (strata_api){ .struct_size = sizeof *api };
    if (table && table(api) == STRATA_OK) return;
    fprintf(stderr, "%s: %s\n", path, library ? "another interface" : dlerror());
    abort();
}
