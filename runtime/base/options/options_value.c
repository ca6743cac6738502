/* SPDX-License-Identifier: MIT
** Converts words to values of options.
*/
#include "options.h"

#include <stdlib.h>
#include <string.h>

static bool read_choice(const char *list, const char *text, int *choice) {
    size_t n = strlen(text);
    for (int i = 0;; i++) {
        size_t part = strcspn(list, "|");
        if (part == n && memcmp(list, text, n) == 0) {
            *choice = i;
            return true;
        }
        if (!list[part]) return false;
        list += part + 1;
    }
}

/* "500M": K, M and G are 2^10, 2^20 and 2^30 bytes. */
static bool read_size(const OptionRow *r, const char *text, int64_t *bytes) {
    static const char unit[] = "KMG";
    char digits[32];
    size_t n = strlen(text);
    const char *last = n ? strchr(unit, text[n - 1]) : NULL;
    if (!last || n > sizeof digits) return false;
    memcpy(digits, text, n - 1);
    digits[n - 1] = 0;
    int shift = 10 * (int)(last - unit + 1);
    if (!parse_int64(digits, 0, INT64_MAX >> shift, bytes)) return false;
    *bytes <<= shift;
    return (double)*bytes >= r->low && (double)*bytes <= r->high;
}

/* "128,256": every item a count in the row's range. */
static bool read_counts(OptionValue *v, const OptionRow *r, const char *text) {
    int items = 1;
    for (const char *s = text; *s; s++)
        items += *s == ',';
    free(v->counts);
    v->counts = calloc((size_t)items, sizeof *v->counts);
    v->length = 0;
    while (v->counts && v->length < items) {
        char word[32];
        size_t n = strcspn(text, ",");
        if (n >= sizeof word) return false;
        memcpy(word, text, n);
        word[n] = 0;
        if (!parse_int64(word, (int64_t)r->low, (int64_t)r->high, &v->counts[v->length++]))
            return false;
        text += n + 1;
    }
    return v->counts != NULL;
}

bool option_read(OptionValue *v, const OptionRow *r, const char *text) {
    v->text = text;
    switch (r->kind) {
    case OPTION_IS_COUNT: return parse_int64(text, (int64_t)r->low, (int64_t)r->high, &v->count);
    case OPTION_IS_SIZE: return read_size(r, text, &v->count);
    case OPTION_IS_SEED: return parse_uint64(text, &v->seed);
    case OPTION_IS_NUMBER: return parse_double(text, r->low, r->high, &v->number);
    case OPTION_IS_CHOICE: return read_choice(option_argument(r), text, &v->choice);
    case OPTION_IS_COUNTS: return read_counts(v, r, text);
    case OPTION_IS_WORD:
    case OPTION_IS_FILE: return *text != 0;
    default: return true;
    }
}
