/* SPDX-License-Identifier: MIT
** Costs as a picture: FLOPs and bytes per token by family of kernels, for reading and for a
** training step; below it, what remains with routes, if the model has some (routed_svg.c).
*/
#include "views.h"
#include "console.h"
#include "svg.h"

#include <math.h>

enum { LEFT = 100, RIGHT = 370, LONG = 130, TOP = 74, HEAD = 26, ROW = 24, GAP = 30 };

static void cost_svg_draw_bar(Text *t, double x, double y, double part, int colour,
                              const char *number) {
    char words[64];
    text_add(t, "<rect class=\"c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"15\"/>\n",
             colour, x, y - 12, fmax(LONG * part, part > 0 ? 0.5 : 0));
    print_text(words, sizeof words, "%s, %.*f %%", number, part > 0 && part < 0.0995, 100 * part);
    svg_text(t, x + LONG * part + 6, y, "soft", "start", 40, words);
}

static double cost_svg_part_of(double own, double all) { return all > 0 ? own / all : 0; }

static void draw_family(const Report *r, const ReportFamily *f, int kind, double y, Text *t) {
    char number[32];
    svg_text(t, LEFT - 8, y, "ink", "end", 14, f->name);
    cost_svg_draw_bar(t, LEFT, y, cost_svg_part_of(f->work[kind].flops, r->work[kind].flops), 0,
                      human_flops(number, f->work[kind].flops));
    cost_svg_draw_bar(t, RIGHT, y, cost_svg_part_of(f->work[kind].bytes, r->work[kind].bytes), 1,
                      human_bytes(number, f->work[kind].bytes));
}

/* Returns where it ends. */
static double draw_kind(const Report *r, int kind, double y, Text *t) {
    static const char *const name[WORKS] = { "Forward", "A training step" };
    char flops[32], bytes[32], title[160];
    print_text(title, sizeof title, "%s: %s and %s per token", name[kind],
               human_flops(flops, r->work[kind].flops), human_bytes(bytes, r->work[kind].bytes));
    svg_text(t, 16, y, "name", "start", 90, title);
    y += HEAD;
    for (int i = 0; i < r->nfamily; i++)
        if (r->family[i].work[kind].calls) draw_family(r, &r->family[i], kind, y, t), y += ROW;
    return y + GAP;
}

void report_cost_svg(const Report *r, Text *t) {
    Text bars = { 0 };
    char title[160];
    double y = TOP + 18;
    for (int kind = FORWARD; kind < (r->training ? WORKS : TRAINING); kind++)
        y = draw_kind(r, kind, y, &bars);
    print_text(title, sizeof title, "%.64s: FLOPs and bytes by kind of kernel", r->model->name);
    svg_open(t, title, y - GAP + (r->dense ? GAP + report_routed_height(r) : 0));
    char words[120];
    print_text(words, sizeof words,
               "per token, at %lld tokens of context; a multiply-add is 2 FLOPs",
               (long long)r->model->context);
    svg_text(t, 16, 46, "soft", "start", 100, words);
    svg_key(t, LEFT, 68, 0, "FLOPs");
    svg_key(t, RIGHT, 68, 1, "bytes of operands and results");
    text_bytes(t, bars.at ? bars.at : "", bars.length);
    if (bars.failed) t->failed = true;
    text_free(&bars);
    if (r->dense) {
        text_add(t, "<g transform=\"translate(0 %.1f)\">\n", y - GAP / 2.0);
        report_routed_picture(r, t);
        text_add(t, "</g>\n");
    }
    svg_close(t);
}
