/* SPDX-License-Identifier: MIT
** Edit distances of words, and the nearest of several words.
*/
#include "nearest.h"
#include "min_max.h"

#include <stddef.h>
#include <string.h>

/* Damerau and Levenshtein's, by rows: the two before this one are kept. */
int name_distance(const char *a, const char *b) {
    int rows[3][NAME_FAR], *two = rows[0], *one = rows[1], *row = rows[2];
    size_t n = strlen(b);
    if (strlen(a) >= NAME_FAR || n >= NAME_FAR) return NAME_FAR;
    for (size_t j = 0; j <= n; j++)
        one[j] = two[j] = (int)j;
    for (size_t i = 0; a[i]; i++) {
        row[0] = (int)i + 1;
        for (size_t j = 0; j < n; j++) {
            row[j + 1] = min_int(one[j] + (a[i] != b[j]), min_int(one[j + 1], row[j]) + 1);
            if (i && j && a[i] == b[j - 1] && a[i - 1] == b[j])
                row[j + 1] = min_int(row[j + 1], two[j - 1] + 1);
        }
        int *free_row = two;
        two = one, one = row, row = free_row;
    }
    return one[n];
}

/* Without the dashes of an option. */
static int letters(const char *word) { return (int)strlen(word + strspn(word, "-")); }

/* What leaves no letter of a word as it is, is not near: -x is another word than -o. */
const char *nearest_name(const char *word, const char *const *candidate, int count) {
    const char *best = NULL;
    int least = 1 + (int)strlen(word) / 3;
    for (int i = 0; i < count; i++) {
        int d = name_distance(word, candidate[i]);
        if (d >= min_int(letters(word), letters(candidate[i]))) continue;
        if (d <= least && (!best || d < least)) {
            best = candidate[i];
            least = d;
        }
    }
    return best;
}
