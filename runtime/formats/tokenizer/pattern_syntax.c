/* SPDX-License-Identifier: MIT
** Oniguruma's and Rust's regular expressions as PCRE2 reads them:
**   \s \d \w     by the properties of Unicode that those libraries take
**   \p{Han}      scripts: PCRE2's "sc:", without characters that scripts share
**   [A&&[^B]]    a class within another: (?:(?![B])[A])
**   {n,m}+       Oniguruma's: a repeated repetition, not a possessive one
** Flags, conditions, references, POSIX classes and the like do not occur in such patterns and
** are refused.
*/
#include "pattern.h"

#include <stdlib.h>
#include <string.h>

typedef struct Rewrite {
    const char *p;
    Text *out;
    PatternSyntax syntax;
    const char *what;
    int depth;
    Error *e;
} Rewrite;

#define SPACE "\\p{White_Space}"
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"

static int unknown(Rewrite *r, const char *at) {
    int n = (int)strcspn(at, ")");
    return error_set(r->e, STATUS_USER,
                     "%s: expected what this version knows of regular expressions, "
                     "found '%.*s'",
                     r->what, n < 12 ? n : 12, at);
}

/* "{NAME}" of \p or \P, behind the letter. */
static int property(Rewrite *r, char letter) {
    static const struct {
        const char *name, *to;
    } known[] = { { "Letter", "L" },
                  { "Number", "N" },
                  { "Mark", "M" },
                  { "Punctuation", "P" },
                  { "Symbol", "S" },
                  { "Separator", "Z" },
                  { "Any", "Any" },
                  { "Alphabetic", "Alphabetic" },
                  { "White_Space", "White_Space" } };
    const char *from = r->p - 2, *end = *r->p == '{' ? strchr(r->p, '}') : r->p + 1;
    char name[64] = "";
    size_t skip = *r->p == '{', n = end && *r->p ? (size_t)(end - r->p) - skip : 0;
    if (!n || n >= sizeof name) return unknown(r, from);
    memcpy(name, r->p + skip, n);
    if (strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_&") != n)
        return unknown(r, from);
    r->p = end + skip;
    const char *to = n > 2 ? NULL : name;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) to = known[i].to;
    text_add(r->out, to ? "\\%c{%s}" : "\\%c{sc:%s}", letter, to ? to : name);
    return STATUS_OK;
}

/* \xHH, \x{H…}, \uHHHH, behind the letter. */
static int syntax_number(Rewrite *r, char letter) {
    const char *from = r->p - 2;
    bool braces = *r->p == '{';
    size_t n = strspn(r->p + braces, "0123456789abcdefABCDEF"), most = letter == 'x' ? 2 : 4;
    if (!braces && n > most) n = most;
    if (!n || n > 6 || (!braces && n < most) || (braces && r->p[1 + n] != '}'))
        return unknown(r, from);
    text_add(r->out, "\\x{%.*s}", (int)n, r->p + braces);
    r->p += n + 2 * (size_t)braces;
    return STATUS_OK;
}

/* At the backslash. */
static int escaped(Rewrite *r, bool in_class) {
    const char *from = r->p;
    char c = r->p[1];
    if (!c) return unknown(r, from);
    r->p += 2;
    if (c == 'p' || c == 'P') return property(r, c);
    if (c == 'x' || c == 'u') return syntax_number(r, c);
    if (c == 's' || c == 'S') text_add(r->out, "\\%c{White_Space}", c == 's' ? 'p' : 'P');
    else if (c == 'd' || c == 'D') text_add(r->out, "\\%c{Nd}", c == 'd' ? 'p' : 'P');
    else if (c == 'w') text_add(r->out, in_class ? WORD : "[" WORD "]");
    else if (c == 'W' && !in_class) text_add(r->out, "[^" WORD "]");
    else if (c == 'v') text_add(r->out, "\\x0b");
    else if (strchr("rntfae", c)) text_add(r->out, "\\%c", c);
    else if (strchr("AzZ", c) && !in_class) text_add(r->out, "\\%c", c);
    else if (c > ' ' && c < 127 && !(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z'))
        text_add(r->out, "\\%c", c);
    else return unknown(r, from);
    return STATUS_OK;
}

/* == Classes ============================================================== */

static int class(Rewrite *r);

/* One side of "&&": brackets around its items, or the one class that it is. */
static int class_part(Rewrite *r, const char *begin) {
    const char *start = r->p;
    bool alone = *start == '[', negated = false;
    int status = STATUS_OK;
    Text *out = r->out, items = { 0 }, inner;
    r->out = &items;
    while (*r->p && *r->p != ']' && strncmp(r->p, "&&", 2) != 0 && !status) {
        if (*r->p == '[') {
            inner = (Text){ 0 };
            negated = r->p[1] == '^';
            r->out = &inner;
            status = class(r);
            r->out = &items;
            bool ends = *r->p == ']' || strncmp(r->p, "&&", 2) == 0;
            alone = alone && ends && !items.length;
            if (!status && !alone && (negated || (inner.length && *inner.at != '[')))
                status = unknown(r, begin);
            if (!status && inner.length)
                text_bytes(&items, inner.at + !alone, inner.length - 2 * (size_t)!alone);
            text_free(&inner);
        } else if (*r->p == '\\') {
            status = escaped(r, true);
        } else if (r->syntax == PATTERN_RUST
                   && (!strncmp(r->p, "--", 2) || !strncmp(r->p, "~~", 2))) {
            status = unknown(r, r->p);
        } else {
            text_bytes(&items, r->p++, 1);
        }
    }
    r->out = out;
    if (!status && !items.length) status = unknown(r, begin);
    if (!status) text_add(out, alone ? "%s" : "[%s]", items.at);
    text_free(&items);
    return status;
}

/* From '[' to behind its ']'. */
static int class(Rewrite *r) {
    const char *begin = r->p++;
    bool negated = *r->p == '^';
    Text first = { 0 }, *out = r->out;
    if (!strncmp(begin, "[:", 2) || r->depth > 8) return unknown(r, begin);
    r->depth++;
    r->p += negated;
    r->out = &first;
    int status = class_part(r, begin), more = 0;
    r->out = out;
    if (!status && !strncmp(r->p, "&&", 2)) text_add(out, negated ? "(?:(?!" : "(?:");
    while (!status && !strncmp(r->p, "&&", 2)) {
        r->p += 2;
        more++;
        text_add(out, "(?=");
        status = class_part(r, begin);
        text_add(out, ")");
    }
    if (!status && *r->p != ']') status = unknown(r, begin);
    if (!status && (first.failed || out->failed)) status = text_status(&first, r->e);
    if (!status) {
        r->p++;
        if (more) text_add(out, negated ? "%s)(?s:.))" : "%s)", first.at);
        else if (!negated) text_add(out, "%s", first.at);
        else if (first.at[1] != '^') text_add(out, "[^%s", first.at + 1);
        else status = unknown(r, begin);
    }
    text_free(&first);
    r->depth--;
    return status;
}

/* == The expression ======================================================= */

static int group(Rewrite *r) {
    static const char *const known[] = { "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:" };
    if (r->p[1] != '?') {
        text_add(r->out, "(?:");
        r->p++;
        return STATUS_OK;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strncmp(r->p, known[i], strlen(known[i]))) {
            text_add(r->out, "%s", known[i]);
            r->p += strlen(known[i]);
            return STATUS_OK;
        }
    return unknown(r, r->p);
}

/* {n}, {n,}, {,m}, {n,m} behind what begins at out[atom]; false: the brace is a character. */
static bool repetition(Rewrite *r, size_t atom) {
    const char *p = r->p + 1;
    size_t low = strspn(p, "0123456789"), comma = p[low] == ',',
           high = comma ? strspn(p + low + 1, "0123456789") : 0;
    const char *end = p + low + comma + high;
    if (*end != '}' || (!low && !high) || low > 5 || high > 5) return false;
    text_add(r->out, "{%.*s%s%.*s}", low ? (int)low : 1, low ? p : "0", comma ? "," : "", (int)high,
             p + low + comma);
    r->p = end + 1;
    if (*r->p != '+' || r->syntax == PATTERN_RUST || r->out->failed) return true;
    char *all = strdup(r->out->at + atom);
    if (!all) return true;
    r->out->length = atom;
    text_add(r->out, "(?:%s)", all);
    free(all);
    return true;
}

static int syntax_step(Rewrite *r, size_t *atom, size_t *open) {
    size_t here = r->out->length;
    int status = STATUS_OK;
    char c = *r->p;
    if (c == '{' && repetition(r, *atom)) return STATUS_OK;
    if (strchr("*+?|", c)) {
        text_bytes(r->out, r->p++, 1);
        return STATUS_OK;
    }
    *atom = here;
    if (c == '(') {
        if (r->depth >= 50) return unknown(r, r->p);
        open[r->depth++] = here;
        status = group(r);
    } else if (c == ')') {
        if (!r->depth) return unknown(r, r->p);
        *atom = open[--r->depth];
        text_bytes(r->out, r->p++, 1);
    } else if (c == '[') {
        int depth = r->depth;
        r->depth = 0;
        status = class(r);
        r->depth = depth;
    } else if (c == '\\') {
        status = escaped(r, false);
    } else {
        if (c == '{') text_add(r->out, "\\");
        do
            text_bytes(r->out, r->p++, 1);
        while ((*r->p & 0xc0) == 0x80);
    }
    return status;
}

int pattern_rewrite(Text *out, const char *text, PatternSyntax syntax, const char *what, Error *e) {
    Rewrite r = { text, out, syntax, what, 0, e };
    size_t open[50], atom = 0;
    int status = STATUS_OK;
    text_bytes(out, "", 0);
    while (*r.p && !status)
        status = syntax_step(&r, &atom, open);
    return status;
}
