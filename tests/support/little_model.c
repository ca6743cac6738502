/* SPDX-License-Identifier: MIT
** See little_model.h. */
#include "little_model.h"

#define NAMES "little\0f32\0\0embedding.weight\0layers.0.norm.weight\0query\0gate"
enum { NAME = 0, F32 = 7, EMPTY = 11, EMBEDDING = 12, NORM = 29, QUERY = 50, GATE = 56 };

/* Offsets count from its start. */
typedef struct Little {
    strata_model model;
    strata_tensor tensor[4];
    double values[3];
    char names[sizeof NAMES];
} Little;

#define AT(field) ((uint32_t)__builtin_offsetof(Little, field))

static const Little little = {
    .model = { .magic = STRATA_MAGIC,
               .abi_version = STRATA_ABI,
               .struct_size = sizeof(strata_model),
               .spec_hash = UINT64_C(0xfedcba9876543210),
               .name = AT(names) + NAME,
               .precision = AT(names) + F32,
               .compiler = AT(names) + EMPTY,
               .cpu = AT(names) + EMPTY,
               .features = AT(names) + EMPTY,
               .spec_file = AT(names) + EMPTY,
               .mixer = AT(names) + EMPTY,
               .tokenizer = AT(names) + EMPTY,
               .tensor_table = AT(tensor),
               .vocab = 6,
               .context = 4,
               .dim = 4,
               .layers = 1,
               .training = 1,
               .parameters = LITTLE_PARAMETERS,
               .gradients = LITTLE_PARAMETERS,
               .tensors = 4,
               .batch = 2,
               .lr = 3e-4,
               .beta1 = 0.9,
               .beta2 = 0.95,
               .eps = 1e-8,
               .weight_decay = 0.01,
               .clip = 1,
               .warmup = 0.1,
               .seed = 7 },
    .tensor = { { .name = AT(names) + EMBEDDING,
                  .rank = 2,
                  .shape = { 6, 4 },
                  .weight = 0,
                  .gradient = 8,
                  .count = 24,
                  .decay = 1,
                  .init = 1,
                  .value = 0.02 },
                { .name = AT(names) + NORM,
                  .rank = 1,
                  .shape = { 4 },
                  .weight = 24,
                  .gradient = 4,
                  .count = 4,
                  .value = 1 },
                { .name = AT(names) + QUERY,
                  .rank = 1,
                  .shape = { 3 },
                  .weight = 28,
                  .gradient = 1,
                  .count = 3,
                  .init = 2,
                  .values = AT(values) },
                { .name = AT(names) + GATE, .rank = 0, .weight = 31, .gradient = 0, .count = 1 } },
    .values = { 0.25, -1, 3e-5 },
    .names = NAMES,
};

const strata_model *little_model(void) { return &little.model; }
