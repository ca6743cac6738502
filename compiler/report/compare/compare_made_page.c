/* SPDX-License-Identifier: MIT
** The end of a comparison's page: how to repeat it, the machine and data, the text of the specs
** and mixers, and all numbers as JSON for other plots.
*/
#include "compare_code.h"
#include "compare_page.h"
#include "svg.h"

#include "console.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { FILE_SHOWN = 1 << 16 }; /* bytes of a spec or mixer */

/* == Circumstances ======================================================== */

static void add_fact(Text *t, const char *name, const char *value) {
    if (!*value) return;
    text_add(t, "<tr><th scope=\"row\">%s</th><td class=\"word\">", name);
    svg_escaped(t, value);
    text_add(t, "</td></tr>\n");
}

static void add_machine(const Comparison *c, Text *t) {
    const Circumstances *made = &c->made;
    char words[192];
    add_fact(t, "made", made->date);
    add_fact(t, "by", "strata " STRATA_VERSION);
    add_fact(t, "kernels for", c->variant->report->planned.code.cpu);
    *words = 0;
    if (made->processors)
        print_text(words, sizeof words, "%s, %d processor%s", made->processor, made->processors,
                   made->processors == 1 ? "" : "s");
    add_fact(t, "machine", words);
    if (!c->rounds && !c->text) return;
    if (c->threads) print_text(words, sizeof words, "%d", c->threads);
    else print_text(words, sizeof words, "%d, one for each processor", made->processors);
    add_fact(t, "threads", words);
    *words = 0;
    if (made->processors && isfinite(made->load))
        print_text(words, sizeof words, "%s before it began", FIGURES(made->load, 2));
    if (*words && isfinite(made->after))
        print_text(words + strlen(words), sizeof words - strlen(words),
                   ", %s at the end, its own threads counted", FIGURES(made->after, 2));
    add_fact(t, "load", words);
}

static void add_runs(const Comparison *c, Text *t) {
    Text words = { 0 };
    if (!c->text) return;
    text_add(&words, "%d steps, seeds", c->steps);
    for (int s = 0; s < c->seeds; s++)
        text_add(&words, "%s %" PRIu64, s ? "," : "", c->seed[s]);
    add_fact(t, "training", words.at ? words.at : "");
    text_clear(&words);
    if (c->val_share > 0)
        text_add(&words, "the last %s %% of the text", FIGURES(100 * c->val_share, 3));
    add_fact(t, "validation", words.at ? words.at : "");
    if (words.failed) t->failed = true;
    text_free(&words);
}

static void add_facts(const Comparison *c, Text *t) {
    page_table(t, "Circumstances");
    text_add(t, "<tbody>\n");
    add_machine(c, t);
    add_runs(c, t);
    page_table_end(t);
}

static void add_texts(const Comparison *c, Text *t) {
    const Circumstances *made = &c->made;
    if (!made->files) return;
    page_table(t, "Texts");
    text_add(t,
             "<thead><tr><th class=\"word\">text</th><th class=\"word\">for</th><th>bytes</th><th "
             "class=\"word\">SHA-256</th></tr></thead><tbody>\n");
    for (int i = 0; i < made->files; i++) {
        const TextFile *f = &made->file[i];
        text_add(t, "<tr><th scope=\"row\">");
        svg_escaped(t, f->name);
        text_add(t,
                 "</th><td class=\"word\">%s</td><td>%" PRId64
                 "</td><td class=\"word\">%s</td></tr>\n",
                 f->validation          ? "validation"
                     : c->val_share > 0 ? "training, validation"
                                        : "training",
                 f->bytes, *f->sha256 ? f->sha256 : "-");
    }
    page_table_end(t);
    if (made->more) text_add(t, "<p>and %d files more</p>\n", made->more);
}

/* What -D chose, and what was left at its default. */
static void add_options(const Model *m, Text *t) {
    for (int i = 0; i < m->noption; i++) {
        if (!m->option[i].value) continue;
        svg_escaped(t, i ? " " : "");
        svg_escaped(t, m->option[i].name);
        text_add(t, "=");
        svg_escaped(t, m->option[i].value);
    }
}

static void add_specs(const Comparison *c, Text *t) {
    page_table(t, "Specs");
    text_add(t,
             "<thead><tr><th class=\"word\">variant</th><th class=\"word\">spec</th><th "
             "class=\"word\">hash</th><th class=\"word\">options</th>%s</tr></thead><tbody>\n",
             c->rates ? "<th>rate, of the sweep</th>" : "");
    for (int i = 0; i < c->n; i++) {
        const Model *m = c->variant[i].report->model;
        text_add(t, "<tr><th scope=\"row\">");
        svg_escaped(t, c->variant[i].label);
        text_add(t, "</th><td class=\"word\">");
        svg_escaped(t, m->file);
        text_add(t, "</td><td class=\"word\">%016" PRIx64 "</td><td class=\"word\">", m->hash);
        add_options(m, t);
        text_add(t, "</td>");
        if (c->rates) text_add(t, "<td>%.6g</td>", c->variant[i].lr);
        text_add(t, "</tr>\n");
    }
    page_table_end(t);
}

/* == Specs and mixers ===================================================== */

/* Lines stay lines; svg_escaped takes a control character for a space. */
static void add_lines(const LuaFile *f, Text *t) {
    size_t n = f->size < FILE_SHOWN ? f->size : FILE_SHOWN;
    for (size_t at = 0, end; at < n; at = end + 1) {
        const char *stop = memchr(f->text + at, '\n', n - at);
        end = stop ? (size_t)(stop - f->text) : n;
        for (size_t from = at; from < end;) { /* pieces that print_text can end */
            char piece[512];
            size_t part = end - from < 256 ? end - from : 256;
            while (from + part < end && part > 1
                   && ((unsigned char)f->text[from + part] & 0xc0) == 0x80)
                part--;
            print_text(piece, sizeof piece, "%.*s", (int)part, f->text + from);
            svg_escaped(t, piece);
            from += part;
        }
        text_add(t, "\n");
    }
    if (n < f->size) text_add(t, "... %zu bytes more\n", f->size - n);
}

static void page_add_file(LuaFiles *files, const char *name, Text *t) {
    int before = files->n;
    const LuaFile *f = lua_file(files, name);
    if (!f || files->n == before) return; /* it was shown */
    text_add(t, "<details><summary>");
    svg_escaped(t, name);
    text_add(t, "</summary>\n<pre>");
    add_lines(f, t);
    text_add(t, "</pre></details>\n");
}

/* What a spec reads itself, and its mixer where that is the library's. */
static void add_sources(const Comparison *c, Text *t) {
    LuaFiles files = { .n = 0 };
    text_add(t, "<h3>Specs and mixers</h3>\n");
    for (int i = 0; i < c->n; i++) {
        const Model *m = c->variant[i].report->model;
        char mixer[128];
        for (int k = 0; k < m->nread_file; k++)
            page_add_file(&files, m->read_file[k], t);
        print_text(mixer, sizeof mixer, "library/mixers/%s.lua", m->mixer);
        page_add_file(&files, mixer, t);
    }
    lua_free(&files);
}

/* == Numbers for programs ================================================= */

/* A page ends a script at "</": in JSON a < can only be in a string, where \u003c is the same. */
static void add_data(const Comparison *c, Text *t) {
    Text json = { 0 };
    compare_json(c, &json);
    if (json.failed) t->failed = true;
    text_add(t,
             "<p class=\"note\">All numbers are in this page too, as JSON: the element with the id "
             "<code>data</code> has what <code>strata compare --json</code> prints.</p>\n"
             "<script type=\"application/json\" id=\"data\">\n");
    for (const char *at = json.at, *end; at && *at; at = end) {
        end = at + strcspn(at, "<");
        text_bytes(t, at, (size_t)(end - at));
        if (*end) text_add(t, "\\u003c"), end++;
    }
    text_add(t, "</script>\n");
    text_free(&json);
}

void page_made(const Comparison *c, Text *t) {
    page_heading(t, "How to reproduce it",
                 "The same specs have the same hashes; all but times and compile times then come "
                 "out the same.");
    text_add(t, "<pre class=\"command\">");
    svg_escaped(t, c->command);
    text_add(t, "</pre>\n");
    add_facts(c, t);
    add_texts(c, t);
    add_specs(c, t);
    add_sources(c, t);
    add_data(c, t);
}
