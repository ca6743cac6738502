/* SPDX-License-Identifier: MIT
** The longest common subsequence of two lists of shapes, by dynamic programming over the lengths
** for all pairs of tails, 16 bits each, after equal beginnings and ends were removed.  With
** CODE_LINES lines the table has 33 MB.
*/
#include "code_lines.h"

#include <stdlib.h>

_Static_assert(CODE_LINES < UINT16_MAX, "lengths fit 16 bits");

static bool code_align_same(const CodeLines *a, int i, const CodeLines *b, int k) {
    return a->line[i].shape == b->line[k].shape;
}

/* Lines from ... end - 1 of each. */
typedef struct Middle {
    int from, a_end, b_end;
} Middle;

static Middle take_ends(const CodeLines *a, const CodeLines *b, int *align) {
    Middle m = { 0, a->n, b->n };
    for (int i = 0; i < a->n; i++)
        align[i] = -1;
    while (m.from < m.a_end && m.from < m.b_end && code_align_same(a, m.from, b, m.from))
        align[m.from] = m.from, m.from++;
    while (m.a_end > m.from && m.b_end > m.from && code_align_same(a, m.a_end - 1, b, m.b_end - 1))
        align[--m.a_end] = --m.b_end;
    return m;
}

/* length[i][k]: of what a from i on and b from k on have in common. */
static void code_align_fill(const CodeLines *a, const CodeLines *b, const Middle *m,
                            uint16_t *length, size_t width) {
    for (int i = m->a_end - m->from; i-- > 0;) {
        uint16_t *row = length + (size_t)i * width, *below = row + width;
        for (int k = m->b_end - m->from; k-- > 0;)
            row[k] = code_align_same(a, m->from + i, b, m->from + k) ? (uint16_t)(below[k + 1] + 1)
                : row[k + 1] > below[k]                              ? row[k + 1]
                                                                     : below[k];
    }
}

int *code_align(const CodeLines *a, const CodeLines *b) {
    int *align = malloc(((size_t)a->n + 1) * sizeof *align);
    if (!align) return NULL;
    Middle m = take_ends(a, b, align);
    int rows = m.a_end - m.from, columns = m.b_end - m.from;
    size_t width = (size_t)columns + 1;
    uint16_t *length = calloc(((size_t)rows + 1) * width, sizeof *length);
    if (!length) return free(align), NULL;
    code_align_fill(a, b, &m, length, width);
    for (int i = 0, k = 0; i < rows && k < columns;) {
        const uint16_t *at = length + (size_t)i * width + k;
        if (code_align_same(a, m.from + i, b, m.from + k)) align[m.from + i] = m.from + k, i++, k++;
        else if (at[1] >= at[width]) k++;
        else i++;
    }
    free(length);
    return align;
}

int code_common(const CodeLines *a, const int *align) {
    int n = 0;
    for (int i = 0; i < a->n; i++)
        n += align[i] >= 0;
    return n;
}
