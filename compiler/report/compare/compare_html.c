/* SPDX-License-Identifier: MIT
** A comparison as one HTML file (page.h): head, verdict, numbers, then the sections that
** other files of this folder add.
*/
#include "compare_page.h"
#include "svg.h"

#include <math.h>
#include <string.h>

/* Beside the style of all pages (page.h). */
static const char html_style[] =
    "p{overflow-wrap:normal}.first{font-size:1.15em;margin:.7em 0}"
    ".verdict p{margin:.6em 0;overflow-wrap:anywhere}"
    ".verdict span,.noise{color:var(--soft)}.scatter{max-width:640px}"
    "[aria-label=Measured] td "
    "small{display:block;min-width:0}.whole{fill:var(--page);stroke-width:1.8}"
    ".warning{border-left:4px solid var(--c1);background:var(--box);padding:.4em .8em}"

    "thead th{overflow-wrap:break-word;min-width:6em}"
    "th[scope=row],th.word,td.word{text-align:left}th[scope=row]{min-width:8em}"
    "th[scope=rowgroup]{text-align:left;padding-top:14px}"
    "td small{display:inline-block;min-width:5.5em}"
    ".figures{grid-template-columns:repeat(auto-fill,minmax(min(100%,330px),1fr))}"
    ".wide{display:grid;gap:24px;align-items:start;grid-template-columns:repeat(auto-fit,minmax("
    "min("
    "100%,430px),1fr))"
    "}"
    ".trio{display:grid;gap:12px 24px;align-items:start;"
    "grid-template-columns:repeat(auto-fill,minmax(min(100%,280px),1fr))}"
    /* titles of a row stand at one height, and so do pictures: they share its two lines */
    ".wide figure,.trio figure,.figures figure{display:grid;grid-row:span 2;grid-template-rows:"
    "subgrid;row-gap:0;align-content:start}"
    ".trio p{grid-column:1/-1}.trio figure{max-width:440px}.trio .soft{font-size:14px}"
    ".figures figure{max-width:480px}.wide figure{max-width:560px}"
    ".keys{list-style:none;padding:0;margin:.6em 0;display:flex;flex-wrap:wrap;gap:4px 20px}"
    ".keys svg{width:28px;display:inline-block;margin-right:6px}"
    "@media(max-width:1400px){th,td{padding:5px 7px}"
    "thead th{min-width:4em}th[scope=row]{min-width:6em}}"
    "@media(max-width:1100px){.rate{display:none}}"
    "pre{overflow-x:auto;background:var(--box);padding:10px;font:13px/1.5 ui-monospace,monospace}"
    "h3{font-size:1em;margin:1.4em 0 .2em}"
    ".kernel{border-top:1px solid var(--line);padding:.35em 0}"
    ".kernel>summary{font-weight:600;overflow-wrap:anywhere}"
    ".diff{border:1px solid var(--line);margin:.4em 0 1em;font:12px/1.45 ui-monospace,monospace}"
    ".row{display:grid;grid-template-columns:17ch minmax(0,1fr) 17ch minmax(0,1fr)}"
    ".head{font-weight:600;border-bottom:1px solid var(--line)}"
    ".head span{padding:4px 6px;overflow-wrap:anywhere}"
    ".row pre{margin:0;padding:0 6px;background:none;font:inherit}"
    ".row .at{color:var(--soft);overflow:hidden}"
    ".row pre:nth-child(n+3){border-left:1px solid var(--line)}"
    ".row pre:nth-child(4){border-left:0}"
    ".new pre:nth-child(-n+2){background:color-mix(in srgb,var(--c0) 16%,transparent)}"
    ".new pre:nth-child(n+3){background:color-mix(in srgb,var(--c5) 16%,transparent)}"
    ".new pre:empty{background:none}"
    ".diff summary,.diff p{color:var(--soft);background:var(--box);margin:0;padding:2px 6px}"
    "@media(max-width:900px){.row{grid-template-columns:17ch minmax(0,1fr)}"
    ".row:not(.new):not(.head) pre:nth-child(n+3){display:none}"
    ".new pre:empty{display:none}.row pre:nth-child(n+3){border-left:0}}";

/* == Head and verdict ===================================================== */

/* Variants first, the baseline last: "model: b, c against a". */
static void html_add_names(const Comparison *c, Text *t) {
    if (*c->shared) svg_escaped(t, c->shared), text_add(t, ": ");
    for (int i = 1; i < c->n; i++) {
        text_add(t, i > 1 ? ", " : "");
        svg_escaped(t, c->variant[i].label);
    }
    text_add(t, " against ");
    svg_escaped(t, c->variant->label);
}

/* A paragraph that 'add' writes; nothing where it is empty. */
static void add_paragraph(const Comparison *c, void (*add)(const Comparison *, Text *),
                          const char *class, Text *t) {
    Text words = { 0 };
    add(c, &words);
    if (words.failed) t->failed = true;
    if (words.length) {
        text_add(t, "<p class=\"%s\">", class);
        svg_escaped(t, words.at);
        text_add(t, "</p>\n");
    }
    text_free(&words);
}

/* The answer, and how far it is one. */
static void add_answer(const Comparison *c, Text *t) {
    char warning[160];
    add_paragraph(c, compare_ranking, "first", t);
    add_paragraph(c, compare_intervals_note, "note", t);
    compare_load_warning(c, warning);
    if (*warning) text_add(t, "<p class=\"warning\">%s.</p>\n", warning);
}

/* == Counts =============================================================== */

/* A name that may be broken after its "_". */
static void add_breakable(Text *t, const char *name) {
    for (const char *end; *name; name = end) {
        char part[sizeof((Variant *)0)->label];
        end = strchr(name, '_');
        end = end ? end + 1 : name + strlen(name);
        print_text(part, sizeof part, "%.*s", (int)(end - name), name);
        svg_escaped(t, part);
        if (*end) text_add(t, "&#8203;");
    }
}

static void add_heads(const Comparison *c, Text *t) {
    text_add(t, "<thead><tr><th scope=\"col\"></th>");
    for (int i = 0; i < c->n; i++) {
        text_add(t, "<th scope=\"col\">");
        add_breakable(t, c->variant[i].label);
        text_add(t, "<br><small>%s", i ? "residual " : "baseline, residual ");
        add_breakable(t, c->variant[i].report->model->mixer);
        text_add(t, "</small></th>");
    }
    text_add(t, "</tr></thead>\n<tbody>\n");
}

static void add_metric(const Comparison *c, const Metric *m, Text *t) {
    if (!isfinite(compare_told(c, m, c->variant))) return;
    text_add(t, "<tr><th scope=\"row\">%s</th>", m->name);
    for (int i = 0; i < c->n; i++) {
        char number[32], difference[32];
        const Variant *v = &c->variant[i];
        text_add(t, "<td>%s", compare_number(number, m->unit, compare_told(c, m, v)));
        compare_told_difference(difference, c, m, v);
        if (i) text_add(t, " <small>%s</small>", difference);
        text_add(t, "</td>");
    }
    text_add(t, "</tr>\n");
}

static void html_add_numbers(const Comparison *c, Text *t) {
    char note[512];
    print_text(
        note, sizeof note,
        "Per token at full context; a multiply-add is two operations. Bytes are those of all "
        "operands and results of every kernel. "
        "Compile time is processor time, without linking; code size is the machine code of "
        "the model's object. %s",
        compare_routes_note(c));
    page_heading(t, "Counted", note);
    page_table(t, "Counted");
    add_heads(c, t);
    for (int i = 0; i < compare_nmetric; i++)
        if (!compare_metrics[i].measured) add_metric(c, &compare_metrics[i], t);
    page_table_end(t);
}

void compare_html(const Comparison *c, Text *t) {
    page_open(t);
    html_add_names(c, t);
    page_body(t, html_style);
    html_add_names(c, t);
    text_add(t, "</h1>\n");
    add_answer(c, t);
    page_scatter(c, t);
    page_measured(c, t);
    html_add_numbers(c, t);
    page_training(c, t);
    page_mixing(c, t);
    page_memory(c, t);
    page_kernels(c, t);
    page_roofline(c, t);
    page_code(c, t);
    page_made(c, t);
    page_close(t);
}
