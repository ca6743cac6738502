/* SPDX-License-Identifier: MIT
** Values that parameters begin with. */
#include "weights.h"

#include "random.h"

/* Initial values [first, first + count) of a parameter. */
void weights_initial(const strata_model *m, const strata_tensor *t, uint64_t seed, int64_t first,
                     int64_t count, float *w) {
    const void *values = (const char *)m + t->values;
    const InitialValues x = { t->init, t->value, values, (int64_t)t->value };
    random_initial(&x, seed, strata_string(m, t->name), first, count, w);
}
