/* SPDX-License-Identifier: MIT
** A comparison for a terminal: the ranking, a sentence on each variant, what was measured, what
** was counted, and kernels that differ.  Variants are columns, as many at a time as fit the
** terminal.
*/
#include "escape.h"
#include "comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 3, LABEL = 37, LEAST_BESIDE = 30, LEAST_LABEL = 14 };
enum { NUMBER = 13, DIFFERENCE = 10, BEFORE = 1 };
enum { COLUMN = BEFORE + NUMBER + DIFFERENCE };

/* Columns from..to, and how wide the names of rows are. */
typedef struct ColumnBlock {
    const Comparison *c;
    int from, to, label;
    Text *t;
} ColumnBlock;

/* == Layout =============================================================== */

/* So many that names of rows have most of their room left; one at least. */
static int columns_at_once(const Comparison *c) {
    int n = COLUMNS;
    while (c->columns && n > 1 && c->columns - n * COLUMN < LEAST_BESIDE)
        n--;
    return n;
}

static int label_width(const Comparison *c) {
    int room = c->columns - columns_at_once(c) * COLUMN;
    if (!c->columns || room >= LABEL) return LABEL;
    return room > LEAST_LABEL ? room : LEAST_LABEL;
}

static int characters(const char *s) {
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

/* To the right of its column. */
static void add_right(Text *t, int width, const char *text) {
    text_add(t, "%*s%s", width > characters(text) ? width - characters(text) : 0, "", text);
}

/* Of a word, with the sign of a percentage behind it. */
static int word_length(const char *words) {
    int n = (int)strcspn(words, " ");
    if (words[n] == ' ' && words[n + 1] == '%') n += 1 + (int)strcspn(words + n + 1, " ");
    return n;
}

/* Words, broken where a terminal's row ends. */
static void text_add_words(int columns, const char *words, Text *t) {
    int at = 0;
    while (*words) {
        int n = word_length(words);
        if (at && columns && at + 1 + n > columns) text_add(t, "\n"), at = 0;
        text_add(t, "%s%.*s", at ? " " : "", n, words);
        at += n + (at > 0);
        words += n + (words[n] == ' ');
    }
    text_add(t, "\n");
}

/* The name of a row: on a line of its own where it is long. */
static void add_label(const ColumnBlock *b, const char *name) {
    int room = b->label - characters(name);
    if (room > 0) text_add(b->t, "%s%*s", name, room, "");
    else if (b->c->columns) text_add(b->t, "%s\n%*s", name, b->label, "");
    else text_add(b->t, "%s ", name);
}

/* How many bytes of a head are shown where it has more than 'room': whole words, and nothing inside
** of brackets; of one long word its beginning. */
static size_t head_length(const char *head, size_t room) {
    size_t n = strlen(head) < room ? strlen(head) : room;
    while (n > 2 && !strchr(" ,(_-", head[n]))
        n--;
    const char *open = memchr(head, '(', n);
    if (open && !memchr(open, ')', n - (size_t)(open - head))) n = (size_t)(open - head);
    while (n > 1 && strchr(" ,(", head[n - 1]))
        n--;
    if (memchr(head, ' ', n)) return n;
    for (n = room; n > 1 && ((unsigned char)head[n] & 0xc0) == 0x80;)
        n--;
    return n;
}

/* "2 attnres"; what is cut ends with dots. */
static void text_add_head(const Comparison *c, int i, Text *t) {
    enum { ROOM = NUMBER + DIFFERENCE };
    char head[sizeof c->variant->label + 16];
    print_text(head, sizeof head, "%d %s", i + 1, c->variant[i].label);
    if (characters(head) > ROOM) strcpy(head + head_length(head, ROOM - 2), "..");
    add_right(t, ROOM + BEFORE, head);
}

/* A column's number and as much of its name as fits; all of it is told above. */
static void add_heads(const ColumnBlock *b, const char *title) {
    text_add(b->t, "\n");
    add_label(b, title);
    for (int i = b->from; i < b->to; i++)
        text_add_head(b->c, i, b->t);
    text_add(b->t, "\n");
}

static void add_pair(const ColumnBlock *b, int i, const char *number, const char *difference) {
    add_right(b->t, BEFORE + NUMBER, number);
    add_right(b->t, DIFFERENCE, i ? difference : "");
}

/* == Rows ================================================================= */

static void add_variants(const Comparison *c, Text *t) {
    for (int i = 0; i < c->n; i++) {
        const Variant *v = &c->variant[i];
        const Model *m = v->report->model;
        char file[256];
        text_escape(file, sizeof file, m->file, strlen(m->file));
        Text line = { 0 };
        text_add(&line, "%s, from %s, residual %s%s", v->label, file, m->mixer,
                 i ? "" : " (baseline)");
        text_add(t, "%3d  ", i + 1);
        if (line.failed) t->failed = true;
        else text_add_words(c->columns ? c->columns - 5 : 0, line.at, t);
        text_free(&line);
    }
}

static void add_cell(const ColumnBlock *b, int i, Unit unit, double value, double base) {
    char number[32], difference[32];
    add_pair(b, i, compare_number(number, unit, value),
             compare_difference(difference, value, base));
}

static void add_metric(const ColumnBlock *b, const Metric *m) {
    const Comparison *c = b->c;
    if (!isfinite(compare_told(c, m, c->variant))) return;
    add_label(b, m->name);
    for (int i = b->from; i < b->to; i++) {
        char number[32], difference[32];
        const Variant *v = &c->variant[i];
        add_pair(b, i, compare_told_number(number, c, m, v),
                 compare_told_difference(difference, c, m, v));
    }
    text_add(b->t, "\n");
}

static void add_metrics(const ColumnBlock *b, bool measured, const char *title) {
    bool any = false;
    for (int i = 0; i < compare_nmetric; i++) {
        const Metric *m = &compare_metrics[i];
        if (m->measured != measured || !isfinite(compare_told(b->c, m, b->c->variant))) continue;
        if (!any) add_heads(b, title);
        any = true;
        add_metric(b, m);
    }
}

/* NAN: the variant has no such kernel. */
static double role_bytes(const Role *r, int variant) {
    return r->of[variant].kernels ? r->of[variant].work[TRAINING].bytes : NAN;
}

static void add_roles(const ColumnBlock *b, const Role *role, int n) {
    int shown = 0, small = 0;
    for (int k = 0; k < n; k++) {
        small += role[k].group == ROLE_SMALL;
        if (role[k].group != ROLE_LARGE) continue;
        if (!shown++) add_heads(b, "kernels that differ: bytes per token");
        add_label(b, role[k].name);
        for (int i = b->from; i < b->to; i++)
            add_cell(b, i, UNIT_BYTES, role_bytes(&role[k], i), role_bytes(&role[k], 0));
        text_add(b->t, "\n");
    }
    if (!shown) {
        text_add(b->t, "\nall %d kinds of kernels do the same work\n", n);
        return;
    }
    Text words = { 0 };
    text_add(&words, "%d of %d kinds of kernels", shown, n);
    if (small)
        text_add(&words, "; %d more differ, but %s less than 1 %% of a step together", small,
                 b->c->rounds ? "take" : "should take");
    text_add(&words, "; the others do the same work");
    if (words.failed) b->t->failed = true;
    else text_add_words(b->c->columns, words.at, b->t);
    text_free(&words);
}

/* "12.3 ms ±4%" */
static const char *time_text(const Comparison *c, const RoleWork *w, char to[48]) {
    char number[32];
    compare_number(number, UNIT_SECONDS, w->seconds);
    if (c->rounds > 1 && isfinite(w->seconds) && isfinite(w->spread))
        print_text(to, 48, "%s \xc2\xb1%.0f%%", number, 100 * w->spread);
    else print_text(to, 48, "%s", number);
    return to;
}

/* Those that take less than a thousandth of a step everywhere are told elsewhere. */
static void add_times(const ColumnBlock *b, const Role *role, int n) {
    int least = 0;
    add_heads(b, "kernels: time of a step, noise");
    for (int k = 0; k < n; k++) {
        if (role[k].seconds < 1e-3 * role[0].seconds) {
            least++;
            continue;
        }
        add_label(b, role[k].name);
        for (int i = b->from; i < b->to; i++) {
            const RoleWork *w = &role[k].of[i];
            char time[48], difference[32];
            add_pair(b, i, time_text(b->c, w, time), role_slower(difference, w));
        }
        text_add(b->t, "\n");
    }
    if (least) text_add(b->t, "and %d that take less than a thousandth of the first\n", least);
}

/* == All of it ============================================================ */

/* A paragraph that 'add' writes; nothing where it is empty. */
static void add_paragraph(const Comparison *c, void (*add)(const Comparison *, Text *), Text *t) {
    Text words = { 0 };
    add(c, &words);
    if (words.failed) t->failed = true;
    else if (words.length) text_add_words(c->columns, words.at, t);
    text_free(&words);
}

static void add_warning(const Comparison *c, Text *t) {
    char warning[160];
    compare_load_warning(c, warning);
    text_add(t, "%s", warning);
}

static void add_verdicts(const Comparison *c, Text *t) {
    Text all = { 0 };
    compare_verdict(c, &all);
    if (all.failed) t->failed = true;
    for (char *line = all.at, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        text_add_words(c->columns, line, t);
    }
    text_free(&all);
}

static void text_add_legend(const Comparison *c, Text *t) {
    if (c->rounds || c->text) text_add(t, "~ no difference detected");
    if (c->rounds > 1)
        text_add(t,
                 "; \xc2\xb1 half of what the middle eight tenths of the rounds span, of the "
                 "time; kernels are compared one by one, without a correction for their number");
}

static void text_add_routes(const Comparison *c, Text *t) {
    text_add(t, "%s", compare_routes_note(c));
}

void compare_text(const Comparison *c, Text *t) {
    int n, step = columns_at_once(c);
    Role *role = compare_roles(c, &n);
    if (!role) t->failed = true;
    else compare_roles_sort(c, role, n);
    add_paragraph(c, compare_ranking, t);
    add_paragraph(c, compare_intervals_note, t);
    add_paragraph(c, add_warning, t);
    text_add(t, "\n");
    add_verdicts(c, t);
    add_paragraph(c, compare_swept_note, t);
    add_paragraph(c, compare_idle_note, t);
    text_add(t, "\n");
    add_variants(c, t);
    for (int from = 0; role && from < c->n; from += step) {
        ColumnBlock b = { c, from, from + step < c->n ? from + step : c->n, label_width(c), t };
        add_metrics(&b, true, "measured");
        if (c->rounds) add_times(&b, role, n);
        add_metrics(&b, false, "counted");
        add_roles(&b, role, n);
    }
    if (c->rounds || c->text) text_add(t, "\n");
    add_paragraph(c, text_add_legend, t);
    if (*compare_routes_note(c)) text_add(t, "\n");
    add_paragraph(c, text_add_routes, t);
    free(role);
}
