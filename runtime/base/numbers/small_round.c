/* SPDX-License-Identifier: MIT
** See small_round.h. */
#include "small_round.h"

#include <math.h>
#include <string.h>

#include "f16.h"

static bool is_finite_f16(uint16_t h) { return (h & 0x7c00) != 0x7c00; }

/* x / scale, no less than low and no more than high, as the nearest integer, ties to even. */
static double ratio(double x, double scale, double low, double high) {
    const double magic = 0x1.8p52; /* adding it rounds to an integer */
    double code = scale == 0 ? 0 : x / scale;
    code = code < low ? low : code > high ? high : code;
    return code + magic - magic;
}

static bool round_fits(const SmallGroup *g) {
    return is_finite_f16(g->scale) && is_finite_f16(g->least);
}

static void small_round_q8(const float *x, int64_t n, SmallGroup *g) {
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fabs((double)x[i]) > most ? fabs((double)x[i]) : most;
    g->scale = f16_of((float)(most / 127));
    for (int64_t i = 0; round_fits(g) && i < n; i++)
        g->code[i] =
            (uint8_t)(CODE_OF_ZERO + (int)ratio(x[i], (double)f16_value(g->scale), -127, 127));
}

static void round_q4(const float *x, int64_t n, SmallGroup *g) {
    float low = x[0], high = x[0];
    for (int64_t i = 1; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    g->least = f16_of(low);
    double least = (double)f16_value(g->least), width = (double)high - least;
    g->scale = f16_of((float)(width < 0 ? 0 : width / 15));
    for (int64_t i = 0; round_fits(g) && i < n; i++)
        g->code[i] = (uint8_t)ratio((double)x[i] - least, (double)f16_value(g->scale), 0, 15);
}

static bool all_finite(const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

bool small_round(const float *x, int64_t n, int bits, SmallGroup *g) {
    memset(g->code, bits == 8 ? CODE_OF_ZERO : 0, sizeof g->code);
    g->scale = g->least = 0;
    if (!all_finite(x, n)) return false;
    (bits == 8 ? small_round_q8 : round_q4)(x, n, g);
    return round_fits(g);
}

void small_put(uint8_t *panel, int64_t steps, int64_t column, int64_t group, int bits,
               const SmallGroup *g) {
    uint8_t *scale = panel + small_scale_at(steps, group, column, bits);
    uint8_t *line = panel + group * small_codes(bits) + column * LINE_STEPS;
    int lines = (int)(small_codes(bits) / CODE_LINE);
    for (int i = 0; i < lines; i++, line += CODE_LINE)
        for (int k = i * LINE_STEPS; k < (i + 1) * LINE_STEPS; k++)
            line[k % LINE_STEPS] = bits == 8 ? g->code[k]
                                             : (uint8_t)(g->code[k] | g->code[k + GROUP / 2] << 4);
    memcpy(scale, &g->scale, sizeof g->scale);
    if (bits == 4) memcpy(scale + 2 * PANEL_COLUMNS, &g->least, sizeof g->least);
}

SmallGroup small_get(const uint8_t *panel, int64_t steps, int64_t column, int64_t group, int bits) {
    SmallGroup g = { 0 };
    const uint8_t *scale = panel + small_scale_at(steps, group, column, bits);
    for (int i = 0; i < GROUP; i++) {
        int upper;
        uint8_t at = panel[small_code_at(group * GROUP + i, column, bits, &upper)];
        g.code[i] = bits == 8 ? at : upper ? at >> 4 : at & 15;
    }
    memcpy(&g.scale, scale, sizeof g.scale);
    if (bits == 4) memcpy(&g.least, scale + 2 * PANEL_COLUMNS, sizeof g.least);
    return g;
}

bool small_put_column(uint8_t *panel, int64_t steps, int64_t column, int bits, const float *x) {
    SmallGroup g;
    bool fits = true;
    for (int64_t s = 0; s < steps; s += GROUP) {
        fits &= small_round(x + s, steps - s < GROUP ? steps - s : GROUP, bits, &g);
        small_put(panel, steps, column, s / GROUP, bits, &g);
    }
    return fits;
}
