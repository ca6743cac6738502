/* SPDX-License-Identifier: MIT
** What a match of an expression may look at, by how it is written; see pattern.h.  It reads what
** pattern_rewrite wrote: no class within another, braces only of \p, \x and repetitions.
*/
#include "pattern.h"

#include <stdlib.h>
#include <string.h>

enum { LONG = 64, DEEPEST = 64 }; /* repetitions of more than LONG are as if they had no end */

typedef struct Group {
    bool looks, repeats, endless, choices; /* what is in it, also in groups in it */
} Group;

typedef struct CostReader {
    const char *p;
    Group group[DEEPEST];
    int depth;
    bool flat;
    uint32_t least;
} CostReader;

typedef struct Times {
    bool given, many, endless;
} Times;

static Times braces(CostReader *r) {
    char *end;
    unsigned long low = strtoul(r->p + 1, &end, 10), high = low;
    bool open = *end == ',' && end[1] == '}';
    if (*end == ',') high = strtoul(end + 1, &end, 10);
    if (low > r->least && low <= UINT16_MAX) r->least = (uint32_t)low;
    while (*end && *end != '}')
        end++;
    r->p = end + (*end != 0);
    return (Times){ true, open || high > 1, open || high > LONG };
}

/* A repetition behind an item, with what makes it lazy or possessive. */
static Times times(CostReader *r) {
    Times t = { 0 };
    char c = *r->p;
    if (c == '{') t = braces(r);
    else if (c == '*' || c == '+') t = (Times){ true, true, true };
    else if (c == '?') t.given = true;
    if (!t.given) return t;
    if (c != '{') r->p++;
    if (*r->p == '?' || *r->p == '+') r->p++;
    return t;
}

static void open_group(CostReader *r) {
    const char *p = r->p;
    Group g = { .looks = !strncmp(p, "(?=", 3) || !strncmp(p, "(?!", 3) || !strncmp(p, "(?<", 3) };
    r->p += 1;
    if (*r->p == '?') r->p += strcspn(r->p, ":=!>") + 1;
    if (!strncmp(p, "(?<", 3)) r->p = p + 4;
    if (r->depth + 1 < DEEPEST) r->group[++r->depth] = g;
    else r->flat = false;
}

/* A group that looks ahead is done once at each place, and so is what is repeated if it has no way
** but one: anything else within may be done for every place, at every place. */
static void close_group(CostReader *r) {
    Group g = r->group[r->depth];
    r->p++;
    Times t = times(r);
    if (g.looks && g.endless) r->flat = false;
    if (t.many && (g.repeats || g.choices)) r->flat = false;
    if (r->depth) r->depth--;
    Group *outer = &r->group[r->depth];
    outer->repeats |= g.repeats || t.given;
    outer->endless |= g.endless || t.endless;
    outer->choices |= g.choices;
}

/* One character, or a class of them. */
static void item(CostReader *r) {
    Group *g = &r->group[r->depth];
    if (*r->p == '[') {
        for (r->p++; *r->p && *r->p != ']'; r->p++)
            if (*r->p == '\\' && r->p[1]) r->p++;
    } else if (*r->p == '\\' && r->p[1]) {
        r->p++;
        if (strchr("pPx", *r->p) && r->p[1] == '{') r->p += strcspn(r->p, "}");
    }
    if (*r->p) r->p++;
    while ((*r->p & 0xc0) == 0x80)
        r->p++;
    Times t = times(r);
    g->repeats |= t.given;
    g->endless |= t.endless;
}

void pattern_cost(const char *rewritten, bool *flat, uint32_t *least) {
    CostReader r = { .p = rewritten, .flat = true };
    while (*r.p)
        if (*r.p == '(') open_group(&r);
        else if (*r.p == ')') close_group(&r);
        else if (*r.p == '|') r.group[r.depth].choices = true, r.p++;
        else item(&r);
    *flat = r.flat;
    *least = r.least;
}
