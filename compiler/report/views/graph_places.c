/* SPDX-License-Identifier: MIT
** Which sources a depth read takes, for the picture of a graph; see graph_drawing.h.
*/
#include "graph_drawing.h"

#include <string.h>

#include "depth_map.h"
#include "work.h"

enum { PLACES = 512 };

/* Where in the model values from before a layer come from, each place once. */
typedef struct Places {
    const Plan *p;
    int before;
    const char *site[PLACES + 1]; /* in the order of execution */
    int step[PLACES];
    int n;
} Places;

static void places_add_place(void *user, const Node *n) {
    Places *x = user;
    int step = work_step(x->p, n);
    if (n->shape.lead != LEAD_TOKENS || n->shape.type == I32 || step < 0 || step >= x->before)
        return;
    const char *site = n->site ? n->site : work_site(&x->p->step[step]);
    for (int i = 0; i < x->n; i++)
        if (!strcmp(x->site[i], site)) return;
    if (x->n == PLACES) return;
    int at = x->n++;
    for (; at > 0 && x->step[at - 1] > step; at--)
        x->site[at] = x->site[at - 1], x->step[at] = x->step[at - 1];
    x->site[at] = site, x->step[at] = step;
}

/* "from embed, 0a, 0m"; the pointer tells their whole names. */
void graph_draw_places(const Drawing *d, const LayerRun *g, int i, double x_at, double y) {
    static Places x;
    static char name[PLACES + 1][DEPTH_NAME];
    Text line = { 0 };
    x = (Places){ .p = d->p, .before = g->from };
    graph_for_reads(d, g->box[i].step, places_add_place, &x);
    if (!x.n) return;
    x.site[x.n] = "";
    depth_names(x.site, x.n + 1, name);
    for (int k = 0; k < x.n; k++)
        text_add(&line, "%s%s", k ? ", " : "from ", name[k]);
    text_add(d->t, "<g><title>");
    for (int k = 0; k < x.n; k++)
        text_add(d->t, k ? ", " : "from "), svg_escaped(d->t, x.site[k]);
    text_add(d->t, "</title>\n");
    svg_text(d->t, x_at, y, "soft", "start", 58, line.at ? line.at : "");
    text_add(d->t, "</g>\n");
    text_free(&line);
}
