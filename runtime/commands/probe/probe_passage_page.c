/* SPDX-License-Identifier: MIT
** The passage on the page: its text in shades, a picture of token by layer, and the same as a
** table, which needs neither colours nor a pointer.
*/
#include "probe.h"

#include <string.h>

#include "page.h"
#include "svg.h"

enum { PANEL = 64, LEFT = 112, TOP = 14, GAP = 12, TALL = 160 };

typedef struct Grid {
    const Probe *x;
    double cell, row; /* width and height of a token in a layer */
    Text *t;
} Grid;

/* == Text ================================================================= */

static void page_add_names(const Probe *x, int token, Text *t) {
    const char *between = "";
    for (int i = 0; i < x->routes; i++)
        if (probe_takes(x, i, token)) {
            text_add(t, "%s", between);
            svg_escaped(t, probe_route(x, i));
            between = ", ";
        }
}

static void page_add_token(const Probe *x, int token, Text *t) {
    char piece[PROBE_PIECE];
    int count = probe_count(x, token);
    probe_piece(x, token, piece);
    text_add(t, "<span class=\"t%d\" title=\"token %d: %d of %d%s", probe_shade(x, count), token,
             count, x->routes, count ? ", " : "");
    page_add_names(x, token, t);
    text_add(t, "\">");
    svg_escaped(t, piece);
    text_add(t, "</span>%s", probe_ends_line(x, token) ? "<br>" : "");
}

static void page_add_legend(const Probe *x, Text *t) {
    text_add(t, "<p class=\"note\">Of %d routes take a token: ", x->routes);
    for (int shade = 0, low, high; shade <= PROBE_SHADES; shade++)
        if (probe_shade_range(x, shade, &low, &high))
            text_add(t,
                     low < high ? "<span class=\"key t%d\">%d to %d</span> "
                                : "<span class=\"key t%d\">%d</span> ",
                     shade, low, high);
    text_add(t, "</p>\n");
}

/* == Token by layer ======================================================= */

/* Runs of tokens that the route takes. */
static void draw_route(const Grid *g, int route, int first, int count, double top) {
    const Probe *x = g->x;
    int sum = 0;
    text_add(g->t, "<path class=\"c5\" d=\"");
    for (int i = 0; i < count;) {
        int from = i++;
        if (!probe_takes(x, route, first + from)) continue;
        while (i < count && probe_takes(x, route, first + i))
            i++;
        text_add(g->t, "M%.1f %.1fh%.1fv%.1fh-%.1fz", LEFT + from * g->cell, top,
                 (i - from) * g->cell, 0.9 * g->row, (i - from) * g->cell);
        sum += i - from;
    }
    text_add(g->t, "\"><title>");
    svg_escaped(g->t, strata_routed(x->m, route));
    text_add(g->t, ": %d of %d tokens</title></path>\n", sum, count);
}

static void draw_panel(const Grid *g, int first, int count, double top) {
    const Probe *x = g->x;
    int across = 1 + (int)(11 / g->row);
    for (int i = 0; i < count; i++) {
        char sign[PROBE_PIECE];
        probe_sign(x, first + i, sign);
        svg_text(g->t, LEFT + (i + 0.5) * g->cell, top - 3, "mono", "middle", 2, sign);
    }
    text_add(g->t, "<rect class=\"box\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
             LEFT, top, count * g->cell, x->routes * g->row);
    for (int i = 0; i < x->routes; i++) {
        if (i % across == 0)
            svg_text(g->t, LEFT - 6, top + i * g->row + (g->row + 8) / 2, "soft", "end", 16,
                     probe_route(x, i));
        draw_route(g, i, first, count, top + i * g->row);
    }
}

static void add_grid(const Probe *x, Text *t) {
    double row = (double)TALL / x->routes;
    Grid g = { x, (double)(SVG_WIDTH - LEFT - 8) / PANEL, row > 12 ? 12 : row < 1 ? 1 : row, t };
    double panel = TOP + x->routes * g.row + GAP;
    int panels = (x->text->shown + PANEL - 1) / PANEL;
    text_add(t,
             "<div class=\"scroll\" role=\"region\" aria-label=\"tokens that each route takes\" "
             "tabindex=\"0\"><div class=\"grid\">\n");
    svg_begin(t, "tokens that each route takes", SVG_WIDTH, panels * panel);
    for (int i = 0; i < panels; i++) {
        int first = i * PANEL, rest = x->text->shown - first;
        draw_panel(&g, first, rest < PANEL ? rest : PANEL, i * panel + TOP);
    }
    text_add(t, "</svg></div></div>\n");
}

/* == Table ================================================================ */

static void passage_page_add_table(const Probe *x, Text *t) {
    text_add(t, "<details><summary>As a table</summary>\n");
    page_table(t, "tokens and the routes that take them");
    text_add(t,
             "<thead><tr><th>token</th><th>text</th><th>routes</th><th>which</th></tr></thead>"
             "<tbody>\n");
    for (int i = 0; i < x->text->shown; i++) {
        char piece[PROBE_PIECE];
        probe_piece(x, i, piece);
        text_add(t, "<tr><th scope=\"row\">%d</th><td>", i);
        svg_escaped(t, piece);
        text_add(t, "</td><td>%d</td><td>", probe_count(x, i));
        page_add_names(x, i, t);
        text_add(t, "</td></tr>\n");
    }
    page_table_end(t);
    text_add(t, "</details>\n");
}

void probe_page_passage(const Probe *x, const char *title, Text *t) {
    text_add(t,
             "<figure class=\"wide\"><figcaption>%s<span>the first %d tokens; point at one for the "
             "layers that take it</span></figcaption>\n",
             title, x->text->shown);
    page_add_legend(x, t);
    text_add(t, "<p class=\"passage\">");
    for (int i = 0; i < x->text->shown; i++)
        page_add_token(x, i, t);
    text_add(t, "</p>\n");
    add_grid(x, t);
    passage_page_add_table(x, t);
    text_add(t, "</figure>\n");
}
