/* SPDX-License-Identifier: MIT
** See rounded_model.h. */
#include "rounded_model.h"

#include <string.h>

#include "small_weights.h"

static const struct {
    const char *name;
    int rank;
    int64_t shape[3];
} wanted[ROUNDED_TENSORS] = { { "a.weight", 2, { 2, 40 } },
                              { "b.weight", 3, { 2, 3, 34 } },
                              { "embed.weight", 2, { 2, 33 } },
                              { "norm", 1, { 3 } } };

static struct {
    strata_model model;
    strata_tensor tensor[ROUNDED_TENSORS];
    char empty[8], name[ROUNDED_TENSORS + 1][16];
} own;

#define AT(place) ((uint32_t)((const char *)(place) - (const char *)&own))

static int64_t floats_of(const strata_tensor *t, int bits) {
    const int64_t *matrix = t->shape + t->rank - 2;
    return bits ? t->count / (matrix[0] * matrix[1]) * small_bytes(matrix[0], matrix[1], bits) / 4
                : t->count;
}

const strata_model *rounded_model(int bits) {
    int64_t at = 0;
    memcpy(own.name[ROUNDED_TENSORS], "small", 6);
    own.model = (strata_model){ .magic = STRATA_MAGIC,
                                .abi_version = STRATA_ABI,
                                .struct_size = sizeof(strata_model),
                                .name = AT(own.name[ROUNDED_TENSORS]),
                                .options = AT(own.empty),
                                .tensor_table = AT(own.tensor),
                                .tensors = ROUNDED_TENSORS,
                                .small = bits == 8 ? STRATA_Q8
                                    : bits == 4    ? STRATA_Q4
                                                   : 0 };
    for (int i = 0; i < ROUNDED_TENSORS; i++) {
        int own_bits = !bits || wanted[i].rank < 2 ? 0 : i == 2 ? 8 : bits;
        strata_tensor *t = &own.tensor[i];
        *t = (strata_tensor){ .name = AT(own.name[i]),
                              .rank = wanted[i].rank,
                              .weight = at,
                              .count = 1,
                              .init = 1,
                              .value = 0.5,
                              .type = own_bits == 8 ? STRATA_Q8
                                  : own_bits == 4   ? STRATA_Q4
                                                    : STRATA_F32 };
        memcpy(own.name[i], wanted[i].name, strlen(wanted[i].name) + 1);
        for (int d = 0; d < t->rank; d++)
            t->count *= t->shape[d] = wanted[i].shape[d];
        at += (floats_of(t, own_bits) + 15) / 16 * 16;
    }
    own.model.weights_bytes = at * 4;
    return &own.model;
}
