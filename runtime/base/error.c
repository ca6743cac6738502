/* SPDX-License-Identifier: MIT
** Errors and numbers as text; see error.h.  Every conversion of numbers uses the C locale, so that
** a program that has called setlocale still reads and writes decimal points.
*/
#include "error.h"

#include "escape.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* glibc's and musl's C locale is a constant object: nothing to free. */
static locale_t c_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

int print_textv(char *to, size_t size, const char *format, va_list arguments) {
    locale_t c = c_locale();
    locale_t before = c ? uselocale(c) : (locale_t)0;
    int n = vsnprintf(to, size, format, arguments);
    if (c) {
        uselocale(before);
        freelocale(c);
    }
    return n;
}

int print_text(char *to, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = print_textv(to, size, format, arguments);
    va_end(arguments);
    return n;
}

/* == Errors =============================================================== */

/* Bytes of a word, and what is left of longer ones: a name of a megabyte says no more. */
enum { WORD_MOST = 256, WORD_BEGIN = 160, WORD_END = 64 };

static bool within_character(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* Words that are too long lose their middle; returns the length. */
static size_t shorten(char *text) {
    char *to = text;
    for (const char *word = text; *word;) {
        size_t n = strcspn(word, " "), keep = n > WORD_MOST ? WORD_BEGIN : n;
        const char *end = word + n, *rest = n > WORD_MOST ? end - WORD_END : end;
        while (keep < n && keep && within_character(word[keep]))
            keep--;
        while (rest < end && within_character(*rest))
            rest++;
        memmove(to, word, keep), to += keep;
        if (keep < n) memcpy(to, "...", 3), to += 3;
        memmove(to, rest, (size_t)(end - rest)), to += end - rest;
        if (*end) *to++ = ' ', end++;
        word = end;
    }
    *to = 0;
    return (size_t)(to - text);
}

int error_setv(Error *e, int status, const char *format, va_list arguments) {
    if (!e) return status;
    char raw[4096] = "", *text = raw, *more = NULL;
    va_list again;
    va_copy(again, arguments);
    int n = print_textv(raw, sizeof raw, format, arguments);
    if (n >= (int)sizeof raw) more = malloc((size_t)n + 1);
    if (more && print_textv(more, (size_t)n + 1, format, again) == n) text = more;
    va_end(again);
    e->status = status;
    text_escape(e->text, sizeof e->text, text, shorten(text));
    free(more);
    return status;
}

int error_set(Error *e, int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    error_setv(e, status, format, arguments);
    va_end(arguments);
    return status;
}

int error_line(Error *e, const char *format, ...) {
    if (!e) return STATUS_INTERNAL;
    char raw[1024], line[1024];
    va_list arguments;
    va_start(arguments, format);
    int n = print_textv(raw, sizeof raw, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= sizeof raw) return e->status;
    size_t add = text_escape(line, sizeof line, raw, (size_t)n), have = strlen(e->text);
    if (have + add + 4 > sizeof e->text) return e->status;
    memcpy(e->text + have, "\n  ", 3);
    memcpy(e->text + have + 3, line, add + 1);
    return e->status;
}

/* The smaller one of those that the shell may have set; "": none is. */
static const char *memory_limit(void) {
    struct rlimit space = { .rlim_cur = RLIM_INFINITY }, data = space;
    getrlimit(RLIMIT_AS, &space), getrlimit(RLIMIT_DATA, &data);
    if (space.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY) return "";
    return data.rlim_cur < space.rlim_cur ? " (ulimit -d)" : " (ulimit -v)";
}

int error_memory(Error *e, const char *what, size_t bytes) {
    return error_set(e, STATUS_LIMIT, "%s: not enough memory for %zu bytes%s", what, bytes,
                     memory_limit());
}

const char *errno_limit(int number) {
    switch (number) {
    case EMFILE: return " (ulimit -n)";
    case EFBIG: return " (ulimit -f)";
    case EAGAIN: return " (ulimit -u)";
    default: return "";
    }
}

int error_errno(Error *e, const char *path, const char *doing, int number) {
    bool users = number == ENOENT || number == ENOTDIR || number == EISDIR || number == EACCES
        || number == EPERM || number == ELOOP || number == ENAMETOOLONG || number == EROFS;
    bool limit = number == ENOMEM || number == EMFILE;
    int status = users ? STATUS_USER : limit ? STATUS_LIMIT : STATUS_IO;
    return error_set(e, status, "%s: cannot %s: %s%s", path, doing, strerror(number),
                     errno_limit(number));
}

/* == Numbers ============================================================== */

bool parse_int64(const char *text, int64_t low, int64_t high, int64_t *out) {
    bool negative = *text == '-';
    const char *p = text + negative;
    int64_t v = 0;
    if (!*p) return false;
    for (; *p; p++) {
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(v, 10, &v)) return false;
        int digit = *p - '0';
        if (__builtin_add_overflow(v, negative ? -digit : digit, &v)) return false;
    }
    if (v < low || v > high) return false;
    *out = v;
    return true;
}

bool parse_uint64(const char *text, uint64_t *out) {
    uint64_t v = 0;
    if (!*text) return false;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(v, 10u, &v)) return false;
        if (__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v)) return false;
    }
    *out = v;
    return true;
}

static const char *digits(const char *p) {
    while (*p >= '0' && *p <= '9')
        p++;
    return p;
}

/* [+-] digits [. digits] [e [+-] digits], a digit somewhere before the exponent. */
static bool is_decimal(const char *p) {
    if (*p == '+' || *p == '-') p++;
    const char *whole = digits(p);
    bool any = whole > p;
    p = whole;
    if (*p == '.') {
        const char *fraction = digits(p + 1);
        any = any || fraction > p + 1;
        p = fraction;
    }
    if (!any) return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        if (*p == '+' || *p == '-') p++;
        const char *end = digits(p);
        if (end == p) return false;
        p = end;
    }
    return !*p;
}

bool parse_double(const char *text, double low, double high, double *out) {
    if (!is_decimal(text)) return false;
    locale_t c = c_locale();
    if (!c) return false;
    double v = strtod_l(text, NULL, c);
    freelocale(c);
    if (!isfinite(v) || !(v >= low && v <= high)) return false;
    *out = v;
    return true;
}

char *print_double(char to[32], double value) {
    if (!isfinite(value)) {
        strcpy(to, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return to;
    }
    for (int precision = 1; precision <= 17; precision++) {
        double back;
        print_text(to, 32, "%.*g", precision, value);
        if (parse_double(to, -HUGE_VAL, HUGE_VAL, &back) && back == value) break;
    }
    return to;
}

char *print_figures(char to[32], double value, int digits) {
    double size = fabs(value);
    int whole = size > 0 && isfinite(value) ? (int)floor(log10(size)) + 1 : 0;
    if (whole > 15 || whole < -14) print_text(to, 32, "%.*g", digits, value);
    else if (whole >= digits) print_text(to, 32, "%.0f", value);
    else if (whole < -3) print_text(to, 32, "%.*f", digits - whole, value);
    else print_text(to, 32, "%.*g", digits, value);
    return to;
}
