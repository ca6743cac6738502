/* SPDX-License-Identifier: MIT
** Small weights: the memory layout of a matrix [columns, steps] of --weights q8 or q4, for the
** kernels, for code that loads it and for code that counts its bytes.
**
** Steps are cut into groups of GROUP; the last group is padded with codes that multiply as 0.
** Columns (rows of the matrix, columns of a result) are cut into panels of PANEL_COLUMNS; the last
** panel is padded with columns of zeros.  A group of a column has a float16 scale and, for q4, a
** float16 smallest value:
**   q8  value = scale * (code - 128), code 0 ... 255
**   q4  value = scale * code + least, code 0 ... 15
** A panel has the codes of its groups one after another, then their scales.  Codes of q8 are 8
** lines of 64 bytes per group: line i has steps 4 i ... 4 i + 3 of column 0, of column 1, ..., one
** byte each.  Codes of q4 are 4 lines: the lower halves of the bytes of line i are line i of q8,
** the upper halves are line i + 4.  Scales are 16 float16 numbers per group, for q4 followed by
** the 16 smallest values.  Panels begin on lines of 64 bytes.
*/
#ifndef STRATA_SMALL_WEIGHTS_H
#define STRATA_SMALL_WEIGHTS_H

#include <stdint.h>

enum { GROUP = 32, PANEL_COLUMNS = 16, CODE_OF_ZERO = 128, LINE_STEPS = 4, CODE_LINE = 64 };

static inline int64_t small_groups(int64_t steps) { return (steps + GROUP - 1) / GROUP; }
/* Bytes of a group's codes, and of its scales, for all columns of a panel. */
static inline int64_t small_codes(int bits) { return (int64_t)GROUP * PANEL_COLUMNS * bits / 8; }
static inline int64_t small_scales(int bits) { return PANEL_COLUMNS * (bits == 4 ? 4 : 2); }

static inline int64_t small_panel(int64_t steps, int bits) {
    return (small_groups(steps) * (small_codes(bits) + small_scales(bits)) + CODE_LINE - 1)
        / CODE_LINE * CODE_LINE;
}

static inline int64_t small_bytes(int64_t columns, int64_t steps, int bits) {
    return (columns + PANEL_COLUMNS - 1) / PANEL_COLUMNS * small_panel(steps, bits);
}

/* The byte of a panel that has the code of a step of a column; of q4, *upper: in its upper half. */
static inline int64_t small_code_at(int64_t step, int64_t column, int bits, int *upper) {
    int64_t line = step % GROUP / LINE_STEPS, lines = small_codes(bits) / CODE_LINE;
    *upper = line >= lines;
    return step / GROUP * small_codes(bits) + line % lines * CODE_LINE + column * LINE_STEPS
        + step % LINE_STEPS;
}

/* The byte of a panel where the scale of a group of a column is; of q4 its smallest value is
** PANEL_COLUMNS float16s further on. */
static inline int64_t small_scale_at(int64_t steps, int64_t group, int64_t column, int bits) {
    return small_groups(steps) * small_codes(bits) + group * small_scales(bits) + column * 2;
}

#endif
