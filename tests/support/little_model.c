/* See little_model.h. */
#include "little_model.h"

#define NAMES "little\0f32\0\0embedding.weight\0layers.0.norm.weight\0query\0gate"
enum { NAME = 0, F32 = 7, EMPTY = 11, EMBEDDING = 12, NORM = 29, QUERY = 50, GATE = 56 };

static const struct {
    strata_model model;
    strata_tensor tensor[4];
    double values[3];
    char names[sizeof NAMES];
} little = {
    .model = { .magic = STRATA_MAGIC,
               .abi_version = STRATA_ABI,
               .struct_size = sizeof(strata_model),
               .spec_hash = UINT64_C(0xfedcba9876543210),
               .name = 0,
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
    .values = { 0.25, -1, 3e-5 },
    .names = NAMES,
};

/* Offsets count from the descriptor's start, which only the whole structure knows. */
const strata_model *little_model(void) {
    static union {
        char bytes[sizeof little];
        strata_model model;
    } made;
    __builtin_memcpy(&made, &little, sizeof little);
    strata_model *m = &made.model;
    uint32_t names = (uint32_t)__builtin_offsetof(__typeof__(little), names);
    m->name = names + NAME;
    m->precision = names + F32;
    m->compiler = m->cpu = m->features = m->spec_file = m->mixer = m->tokenizer = names + EMPTY;
    m->tensor_table = (uint32_t)__builtin_offsetof(__typeof__(little), tensor);
    strata_tensor *t = (strata_tensor *)(made.bytes + m->tensor_table);
    t[0] = (strata_tensor){ .name = names + EMBEDDING,
                            .rank = 2,
                            .shape = { 6, 4 },
                            .weight = 0,
                            .gradient = 8,
                            .count = 24,
                            .decay = 1,
                            .init = 1,
                            .value = 0.02 };
    t[1] = (strata_tensor){ .name = names + NORM,
                            .rank = 1,
                            .shape = { 4 },
                            .weight = 24,
                            .gradient = 4,
                            .count = 4,
                            .value = 1 };
    t[2] = (strata_tensor){ .name = names + QUERY,
                            .rank = 1,
                            .shape = { 3 },
                            .weight = 28,
                            .gradient = 1,
                            .count = 3,
                            .init = 2,
                            .values = (uint32_t)__builtin_offsetof(__typeof__(little), values) };
    t[3] =
        (strata_tensor){ .name = names + GATE, .rank = 0, .weight = 31, .gradient = 0, .count = 1 };
    return m;
}
