/* SPDX-License-Identifier: MIT
** Tables of cos and sin.  Each table exists once, however many programs read it.
*/
#include "tables.h"

#include <string.h>

static bool same_wave(const Tables *t, const Wave *w, const Attr *a) {
    return w->count == a->count && w->sine == a->sine
        && !memcmp(&w->scale, &a->value, sizeof w->scale)
        && !memcmp(&LIST(t->bytes.frequency, double, w->frequency), a->frequency,
                   (size_t)a->count * sizeof(double));
}

int64_t wave_add(Tables *t, const Attr *a) {
    for (int i = 0; i < t->bytes.wave.n; i++)
        if (same_wave(t, &LIST(t->bytes.wave, Wave, i), a))
            return LIST(t->bytes.wave, Wave, i).offset;
    Wave w = { t->bytes.constants.table_floats, a->count, t->bytes.frequency.n, a->value, a->sine,
               (int32_t)wave_stride(a->count) };
    for (int64_t i = 0; i < a->count; i++)
        *(double *)list_add(&t->bytes.frequency, sizeof(double)) = a->frequency[i];
    t->bytes.constants.table_floats += t->info->context * w.ld;
    *(Wave *)list_add(&t->bytes.wave, sizeof w) = w;
    return w.offset;
}
