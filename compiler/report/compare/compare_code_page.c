/* SPDX-License-Identifier: MIT
** Listing and assembly of matched kernels in two columns, the baseline on the left, with the Lua
** line of each line of code.  Lines of one side only are marked; stretches that both sides have
** are folded away.  On a narrow page one column follows the other.  All code of a page has
** CODE_BYTES: every kernel gets an equal share, and the page says what did not fit.
*/
#include "compare_code.h"
#include "compare_page.h"
#include "svg.h"
#include "work.h"

#include <stdlib.h>
#include <string.h>

enum { CODE_BYTES = 1200000, CHUNK = 32, PLAIN = 8, AROUND = 3, LUA_SHOWN = 40 };

typedef struct Columns {
    const CodeSides *s;
    Text *t;
    size_t limit; /* of t's length */
    bool full;
} Columns;

/* == A stretch of lines =================================================== */

/* "haares.lua:31" of "library/mixers/haares.lua:31". */
static const char *short_place(const char *place) {
    const char *slash = strrchr(place, '/');
    return slash ? slash + 1 : place;
}

/* Lines from ... end - 1 of a side, and where they came from where that changes. */
static void add_cells(Text *t, const CodeLines *c, int from, int end, const char *mark) {
    const char *before = "";
    text_add(t, "<pre class=\"at\">");
    for (int i = from; i < end; i++) {
        const char *place = code_place(c, i);
        text_add(t, "\n");
        if (*place && strcmp(place, before)) svg_escaped(t, short_place(place)), before = place;
    }
    text_add(t, "</pre><pre>");
    for (int i = from; i < end; i++) {
        text_add(t, "\n%s", mark);
        svg_escaped(t, code_text(c, i));
    }
    text_add(t, "</pre>");
}

/* Lines of each side in one row of the grid, in pieces that are cut where the room ends. */
static void page_add_rows(Columns *v, int a, int a_end, int b, int b_end, bool same) {
    while ((a < a_end || b < b_end) && !v->full) {
        int a_next = a + CHUNK < a_end ? a + CHUNK : a_end,
            b_next = b + CHUNK < b_end ? b + CHUNK : b_end;
        text_add(v->t, "<div class=\"%s\">", same ? "row" : "row new");
        add_cells(v->t, &v->s->side[0], a, a_next, same ? "  " : "\xe2\x88\x92 ");
        add_cells(v->t, &v->s->side[1], b, b_next, same ? "  " : "+ ");
        text_add(v->t, "</div>\n");
        a = a_next, b = b_next;
        v->full = v->t->length > v->limit;
    }
    if (a < a_end || b < b_end)
        text_add(v->t,
                 "<p>The page's room for this kernel ends here; left out: %d lines of the "
                 "baseline's, %d of the variant's.</p>\n",
                 v->s->side[0].n - a + v->s->side[0].more,
                 v->s->side[1].n - b + v->s->side[1].more);
}

/* n equal lines from a and b on: all but those next to a change fold away. */
static void add_same(Columns *v, int a, int b, int n) {
    if (n <= PLAIN) {
        page_add_rows(v, a, a + n, b, b + n, true);
        return;
    }
    int head = a ? AROUND : 0,
        tail = a + n < v->s->side[0].n || b + n < v->s->side[1].n ? AROUND : 0,
        folded = n - head - tail;
    page_add_rows(v, a, a + head, b, b + head, true);
    if (v->full) return;
    text_add(v->t, "<details><summary>%d equal lines</summary>\n", folded);
    page_add_rows(v, a + head, a + head + folded, b + head, b + head + folded, true);
    text_add(v->t, "</details>\n");
    if (!v->full) page_add_rows(v, a + n - tail, a + n, b + n - tail, b + n, true);
}

static void add_stretches(Columns *v) {
    const CodeLines *a = &v->s->side[0], *b = &v->s->side[1];
    for (int i = 0, k = 0; (i < a->n || k < b->n) && !v->full;) {
        int end = i, stop = k;
        while (end < a->n && v->s->align[end] == stop)
            end++, stop++;
        if (end > i) {
            add_same(v, i, k, end - i);
        } else {
            while (end < a->n && v->s->align[end] < 0)
                end++;
            stop = end < a->n ? v->s->align[end] : b->n;
            page_add_rows(v, i, end, k, stop, false);
        }
        i = end, k = stop;
    }
}

/* == A kernel ============================================================= */

static void page_add_head(const Comparison *c, const CodePair *p, Text *t) {
    text_add(t, "<div class=\"row head\">");
    for (int i = 0; i < 2; i++) {
        text_add(t, "<span></span><span>");
        svg_escaped(t, c->variant[i ? p->variant : 0].label);
        if (p->kernel[i]) text_add(t, ": %s", p->kernel[i]->name);
        else text_add(t, " has no kernel alike");
        text_add(t, "</span>");
    }
    text_add(t, "</div>\n");
}

static void add_code(const Comparison *c, const CodePair *p, const CodeSides *s, const char *what,
                     size_t limit, Text *t) {
    Columns v = { .s = s, .t = t, .limit = limit };
    int common = code_common(&s->side[0], s->align);
    if (!s->side[0].n && !s->side[1].n) return;
    text_add(t, "<p>%s: ", what);
    if (p->kernel[0])
        text_add(t, "%d of the baseline's %d are gone, ", s->side[0].n - common, s->side[0].n);
    text_add(t,
             "%d of the variant's %d are new</p>\n<div class=\"diff\" role=\"region\" "
             "tabindex=\"0\" aria-label=\"%s\">\n",
             s->side[1].n - common, s->side[1].n, what);
    page_add_head(c, p, t);
    add_stretches(&v);
    if (!v.full && s->side[0].more + s->side[1].more)
        text_add(t,
                 "<p>Compared are the first %d lines; left out: %d lines of the baseline's, %d of "
                 "the variant's.</p>\n",
                 CODE_LINES, s->side[0].more, s->side[1].more);
    text_add(t, "</div>\n");
}

/* Places of lines that one side alone has, each once. */
static int changed_places(const CodeSides *s, const char **place, int n) {
    for (int side = 0; side < 2; side++)
        for (int i = 0, k = 0; i < s->side[side].n; i++) {
            bool common = !side && s->align[i] >= 0;
            if (side)
                for (; k < s->side[0].n && s->align[k] <= i; k++)
                    common = common || s->align[k] == i;
            const char *at = code_place(&s->side[side], i);
            bool seen = common || !*at;
            for (int j = 0; j < n && !seen; j++)
                seen = !strcmp(place[j], at);
            if (!seen && n < LUA_SHOWN) place[n++] = at;
        }
    return n;
}

static int page_by_place(const void *a, const void *b) {
    const char *x = *(const char *const *)a, *y = *(const char *const *)b, *colon = strrchr(x, ':'),
               *other = strrchr(y, ':');
    int order = colon && other && colon - x == other - y ? strncmp(x, y, (size_t)(colon - x))
                                                         : strcmp(x, y);
    return order || !colon || !other ? order : atoi(colon + 1) - atoi(other + 1);
}

static void add_lua(const CodePair *p, LuaFiles *files, Text *t) {
    const char *place[LUA_SHOWN];
    char line[LUA_LINE];
    int n = changed_places(&p->assembly, place, changed_places(&p->listing, place, 0));
    if (!n) return;
    qsort(place, (size_t)n, sizeof *place, page_by_place);
    text_add(t, "<details><summary>The Lua lines of what differs</summary>\n<pre>");
    for (int i = 0; i < n; i++) {
        text_add(t, "\n");
        svg_escaped(t, place[i]);
        text_add(t, "   ");
        if (lua_line(files, place[i], line)) svg_escaped(t, line);
    }
    text_add(t, n == LUA_SHOWN ? "\n..." : "");
    text_add(t, "</pre></details>\n");
}

static void page_add_kernel(const Comparison *c, const CodePair *p, LuaFiles *files, size_t share,
                            Text *t) {
    const ReportKernel *k = p->kernel[1];
    int calls = k->work[k->work[TRAINING].calls ? TRAINING : FORWARD].calls;
    size_t from = t->length;
    text_add(t, "<details class=\"kernel\"><summary>%s", k->name);
    if (p->kernel[0]) text_add(t, " against %s", p->kernel[0]->name);
    text_add(t, " <small>%d call%s, at ", calls, calls == 1 ? "" : "s");
    const Report *r = c->variant[p->variant].report;
    svg_escaped(t, work_site(&r->planned.plans.plan[k->plan]->step[k->step]));
    text_add(t, calls > 1 ? " first</small></summary>\n" : "</small></summary>\n");
    add_lua(p, files, t);
    add_code(c, p, &p->listing, "Operations", from + share / 2, t);
    add_code(c, p, &p->assembly, "Instructions", from + share, t);
    text_add(t, "</details>\n");
}

void page_code(const Comparison *c, Text *t) {
    int n;
    LuaFiles files = { .n = 0 };
    CodePair *pair = compare_code(c, &n);
    if (!pair) t->failed = true;
    page_heading(t, "Kernels line by line",
                 "Row kernels that differ from the baseline's, one for each place of a layer, the "
                 "most costly first; the baseline's at the left. "
                 "Lines are the same if they do the same operation on operands of the same kind, "
                 "whatever their numbers and registers; "
                 "\xe2\x88\x92 is gone, + is new. Beside each is the Lua line it comes from, the "
                 "spec's or the mixer's. "
                 "Products and attention are the library's, the same code in all variants.");
    for (int i = 0, variant = 0; i < n; i++) {
        if (pair[i].variant != variant) {
            variant = pair[i].variant;
            text_add(t, "<h3>");
            svg_escaped(t, c->variant[variant].label);
            text_add(t, "</h3>\n");
        }
        page_add_kernel(c, &pair[i], &files, CODE_BYTES / (size_t)n, t);
    }
    if (!n) text_add(t, "<p>None differs.</p>\n");
    compare_code_free(pair, n);
    lua_free(&files);
}
