/* SPDX-License-Identifier: MIT
** The memory traffic of depth reads, counted in the forward plan.
**
** A sublayer's read is everything between two sublayers: the previous write, the read, the norm.
** Its kernels are the row kernels of a site before the first product of the sublayer itself.
** Products of the mixer belong to the read too; their weights lie under the site's "residual".
*/
#include "report.h"

#include <string.h>

#include "plan.h"
#include "site.h"

/* The parameter that a product multiplies by is the mixer's. */
static bool is_mixing_product(const Node *n) {
    if (op_info[n->op].class != CONTRACT) return false;
    const Node *w = plan_storage(n->in[1]);
    return w->op == OP_param && site_is_mixer(w->attr->name);
}

static const char *traffic_site_of(const Step *s) {
    const Node *n = s->kind == STEP_ROW ? s->node[s->n - 1] : s->anchor;
    return n ? n->site : NULL;
}

static bool traffic_same(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

/* Does an anchor of this site read a row that the step computes? */
static bool feeds(const Plan *p, int step, const Node *anchor) {
    for (int i = 0; i < anchor->nin; i++)
        if (p->step_of[plan_storage(anchor->in[i])->id] == step) return true;
    return false;
}

typedef struct SiteWalk {
    const char *site;
    bool open;
    int row;
} SiteWalk;

/* Whether a step is part of the depth read of its site. */
static bool is_depth(SiteWalk *w, const Step *s, int index) {
    const char *site = traffic_site_of(s);
    if (!traffic_same(site, w->site)) *w = (SiteWalk){ site, true, -1 };
    if (s->kind == STEP_ROW) return w->row = index, w->open;
    if (s->kind == STEP_ANCHOR && is_mixing_product(s->anchor)) return true;
    if (s->kind == STEP_ANCHOR) w->open = false;
    return false;
}

/* Bytes per token of a step's results that nobody reads: they are there so that training has the
** same kernel, and are none of the read's own. */
static double alike_bytes(const Plan *p, const Step *s) {
    double floats = 0;
    for (int i = 0; p->alike && i < s->n; i++) {
        const Buffer *b = p->buffer[s->node[i]->id];
        if (b && p->alike->stored[s->node[i]->id] && b->last == b->first)
            floats += (double)b->count;
    }
    return 4 * floats;
}

ReportTraffic report_traffic(const Report *r) {
    const Plan *p = r->planned.plans.plan[PROGRAM_LOGITS];
    double row = 4.0 * (double)r->model->dim;
    ReportTraffic t = { 0 };
    SiteWalk w = { NULL, false, -1 };
    for (int i = 0; i < p->nstep; i++) {
        const Step *s = &p->step[i];
        bool was = w.open;
        const char *site = traffic_site_of(s);
        if (site && !strcmp(site, "readout")) break;
        double bytes = r->planned.step[PROGRAM_LOGITS][i].cost.bytes_per_token - alike_bytes(p, s);
        if (is_depth(&w, s, i)) t.all += bytes / row;
        /* the first product of the sublayer reads the normalised row: one was written */
        else if (was && !w.open && w.row >= 0 && feeds(p, w.row, s->anchor)) t.mixing -= 1;
    }
    double reads = r->model->nread > 1 ? r->model->nread - 1 : 1;
    return (ReportTraffic){ t.all / reads, (t.all + t.mixing) / reads };
}
