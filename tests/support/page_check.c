/* SPDX-License-Identifier: MIT
** See page_check.h. */
#include "test.h"

#include <stdbool.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page_check.h"

int page_check_tags(const char *page) {
    static const char *const single[] = { "meta", "br", "!", "!DOCTYPE" }; /* "!": a comment */
    char open[64][16];
    int depth = 0, tags = 0;
    for (const char *at = page; (at = strchr(at, '<')); at++) {
        char name[16];
        const char *end = strchr(at, '>');
        bool closes = at[1] == '/', empty = false;
        assert_non_null(end);
        if (sscanf(at + 1 + closes, "%15[A-Za-z0-9!]", name) != 1)
            fail_msg("expected a tag: %.40s", at);
        for (size_t i = 0; i < sizeof single / sizeof *single; i++)
            empty = empty || !strcmp(name, single[i]);
        tags++;
        if (closes) {
            assert_true(depth > 0);
            if (strcmp(open[--depth], name))
                fail_msg("expected </%s>, found </%s>", open[depth], name);
        } else if (!empty && end[-1] != '/') {
            assert_true(depth < 64);
            strcpy(open[depth++], name);
        }
    }
    assert_int_equal(depth, 0);
    return tags;
}

/* == Names in pictures ==================================================== */

enum { THINGS = 4096 };

typedef struct Thing {
    double left, top, right, bottom;
    bool dot;
    char text[48];
} Thing;

typedef struct Picture {
    Thing thing[THINGS];
    int n;
} Picture;

/* The attribute's number; 0: it is not there. */
static double attribute(const char *tag, const char *end, const char *name) {
    char words[32];
    snprintf(words, sizeof words, " %s=\"", name);
    const char *at = strstr(tag, words);
    return at && at < end ? strtod(at + strlen(words), NULL) : 0;
}

static bool has(const char *tag, const char *end, const char *words) {
    const char *at = strstr(tag, words);
    return at && at < end;
}

/* Of a text as narrow as fonts make it: what meets then does so with all of them. */
static Thing text_thing(const char *tag, const char *end) {
    Thing x = { .dot = false };
    const char *stop = strchr(end, '<'), *turned = strstr(tag, "transform=\"translate(");
    snprintf(x.text, sizeof x.text, "%.*s", (int)(stop - end - 1), end + 1);
    int n = 0;
    for (const char *c = end + 1; c < stop; c++) {
        if (*c == '&') c += strcspn(c, ";"); /* one character */
        n += ((unsigned char)*c & 0xc0) != 0x80;
    }
    double across = attribute(tag, end, "x"), y = attribute(tag, end, "y"), width = 5.2 * n;
    if (turned && turned < end) {
        char *next;
        double at = strtod(turned + strlen("transform=\"translate("), &next),
               down = strtod(next, NULL);
        x.left = at - 9, x.right = at + 1, x.top = down - width / 2, x.bottom = down + width / 2;
        return x;
    }
    x.left = has(tag, end, "text-anchor=\"end\"") ? across - width
        : has(tag, end, "text-anchor=\"middle\"") ? across - width / 2
                                                  : across;
    x.right = x.left + width, x.top = y - 8, x.bottom = y;
    return x;
}

static void gather(Picture *p, const char *from, const char *to) {
    p->n = 0;
    for (const char *at = from; (at = strchr(at, '<')) && at < to; at++) {
        const char *end = strchr(at, '>');
        bool text = !strncmp(at, "<text ", 6), dot = !strncmp(at, "<circle ", 8);
        if ((!text && !dot) || p->n == THINGS) continue;
        if (text) {
            p->thing[p->n++] = text_thing(at, end);
            continue;
        }
        double x = attribute(at, end, "cx"), y = attribute(at, end, "cy"),
               r = attribute(at, end, "r");
        p->thing[p->n++] = (Thing){ x - r, y - r, x + r, y + r, true, "a dot" };
    }
}

static bool meet(const Thing *a, const Thing *b) {
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

void page_check_labels(const char *page) {
    static Picture p;
    for (const char *at = page; (at = strstr(at, "<svg ")); at++) {
        const char *end = strstr(at, "</svg>");
        assert_non_null(end);
        gather(&p, at, end);
        for (int i = 0; i < p.n; i++)
            for (int k = 0; k < i; k++)
                if (!(p.thing[i].dot && p.thing[k].dot) && meet(&p.thing[i], &p.thing[k]))
                    fail_msg("'%s' (%.0f, %.0f) is on '%s' (%.0f, %.0f) in %.90s", p.thing[i].text,
                             p.thing[i].left, p.thing[i].top, p.thing[k].text, p.thing[k].left,
                             p.thing[k].top, at);
    }
}

int page_count(const char *page, const char *words) {
    int n = 0;
    for (const char *at = page; (at = strstr(at, words)); at++)
        n++;
    return n;
}
