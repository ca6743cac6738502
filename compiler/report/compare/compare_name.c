/* SPDX-License-Identifier: MIT
** The names of variants: what distinguishes them, without what they share.  Variants of one spec
** are named after the values of the options in which they differ (only the value if it is one
** option).  Variants of several specs are named after the models, without words that all names
** begin or end with, or after the files if the models have the same name.
*/
#include "comparison.h"

#include "escape.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const Model *model_of(const Comparison *c, int i) { return c->variant[i].report->model; }

/* == Models' names ======================================================== */

static bool parts_words(char c) { return !c || strchr("_-. ", c) != NULL; }

/* Does a word begin or end behind the first n characters? */
static bool is_border(const char *name, size_t n) {
    return n == 0 || parts_words(name[n - 1]) || parts_words(name[n]);
}

static bool has_letter(const char *from, const char *to) {
    for (; from < to; from++)
        if (isalpha((unsigned char)*from)) return true;
    return false;
}

/* Of all names so many characters at the beginning, or at the end, are the same words. */
static size_t shared(const Comparison *c, bool end) {
    const char *first = model_of(c, 0)->name;
    size_t whole = strlen(first), n = whole;
    for (int i = 1; i < c->n; i++) {
        const char *name = model_of(c, i)->name;
        size_t length = strlen(name), k = 0;
        while (k < n && k < length
               && (end ? name[length - 1 - k] == first[whole - 1 - k] : name[k] == first[k]))
            k++;
        n = k;
    }
    for (bool ok = false; n && !ok; n -= !ok) {
        ok = true;
        for (int i = 0; i < c->n; i++) {
            const char *name = model_of(c, i)->name;
            ok = ok && is_border(name, end ? strlen(name) - n : n);
        }
    }
    return n;
}

/* The name's own part; all of it where nothing with a letter would be left of one of them. */
static void own_name(const Comparison *c, int i, char to[96]) {
    size_t before = shared(c, false), after = shared(c, true);
    const char *name = model_of(c, i)->name, *from = name + before,
               *end = name + strlen(name) - after;
    for (int k = 0; k < c->n; k++) {
        const char *other = model_of(c, k)->name;
        size_t length = strlen(other);
        bool left = before + after < length && has_letter(other + before, other + length - after);
        if (!left) from = name, end = name + strlen(name);
    }
    while (from < end && parts_words(*from))
        from++;
    while (end > from && parts_words(end[-1]))
        end--;
    print_text(to, 96, "%.*s", (int)(end - from), from);
}

static bool same_names(const Comparison *c) {
    for (int i = 1; i < c->n; i++)
        if (strcmp(model_of(c, i)->name, model_of(c, 0)->name)) return false;
    return true;
}

/* == Options ============================================================== */

/* NULL: the model has no such option, or it has no value. */
static const char *option_value(const Model *m, const char *name) {
    for (int i = 0; i < m->noption; i++)
        if (!strcmp(m->option[i].name, name)) return m->option[i].value;
    return NULL;
}

static bool name_same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

/* Has another variant of the same spec another value of it? */
static bool is_varied(const Comparison *c, int i, const char *option) {
    const Model *m = model_of(c, i);
    for (int k = 0; k < c->n; k++)
        if (!strcmp(model_of(c, k)->file, m->file)
            && !name_same_text(option_value(model_of(c, k), option), option_value(m, option)))
            return true;
    return false;
}

static int varied(const Comparison *c, int i) {
    const Model *m = model_of(c, i);
    int n = 0;
    for (int k = 0; k < m->noption; k++)
        n += is_varied(c, i, m->option[k].name);
    return n;
}

/* A number or a truth value may be of anything. */
static bool is_word(const char *value) {
    char *end;
    strtod(value, &end);
    return *end && strcmp(value, "true") != 0 && strcmp(value, "false") != 0;
}

/* Whether a word of the name is this value: "haares" of "haares_small". */
static bool says(const char *name, const char *value) {
    size_t n = strlen(value);
    for (const char *at = name; is_word(value) && (at = strstr(at, value)); at++)
        if ((at == name || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n]))
            return true;
    return false;
}

/* "haares", or "mixer=haares, width=64"; 'named': without what the model's name says. */
static void own_choices(const Comparison *c, int i, bool named, Text *t) {
    const Model *m = model_of(c, i);
    bool one = varied(c, i) == 1 && !named;
    for (int k = 0, n = 0; k < m->noption; k++) {
        const char *name = m->option[k].name, *value = m->option[k].value;
        if (!value || !is_varied(c, i, name) || (named && says(m->name, value))) continue;
        text_add(t, n++ ? ", " : "");
        if (!one || !is_word(value)) text_add(t, "%s=", name);
        text_add(t, "%s", value);
    }
}

/* == Files ================================================================ */

/* Without the folders that all have. */
static const char *own_file(const Comparison *c, int i) {
    const char *first = model_of(c, 0)->file;
    size_t folder = 0;
    for (size_t n = 0; first[n]; n++) {
        for (int k = 1; k < c->n; k++)
            if (strncmp(model_of(c, k)->file, first, n + 1)) return model_of(c, i)->file + folder;
        if (first[n] == '/') folder = n + 1;
    }
    return model_of(c, i)->file + folder;
}

/* == Labels =============================================================== */

enum { LABEL = sizeof((Variant *)0)->label };

static bool is_taken(const Comparison *c, int i) {
    for (int k = 0; k < c->n; k++)
        if (k != i && !strcmp(c->variant[k].label, c->variant[i].label)) return true;
    return false;
}

static void name_one(const Comparison *c, int i, bool same, char to[LABEL]) {
    Text choices = { 0 };
    char name[96] = "", all[160];
    own_choices(c, i, !same, &choices);
    if (!same) own_name(c, i, name);
    const char *own = choices.at ? choices.at : "";
    print_text(all, sizeof all, *name && *own ? "%s (%s)" : "%s%s", name, own);
    if (!*all) print_text(all, sizeof all, "%s", same ? model_of(c, i)->name : name);
    text_escape(to, LABEL, all, strlen(all));
    text_free(&choices);
}

/* Of which others have the same label too: "a, FILE". */
static void add_apart(Comparison *c, const bool *taken, void (*add)(Comparison *, int, Text *)) {
    for (int i = 0; i < c->n; i++) {
        Text t = { 0 };
        if (taken[i]) add(c, i, &t);
        if (t.length && !t.failed) text_escape(c->variant[i].label, LABEL, t.at, t.length);
        text_free(&t);
    }
}

static void name_add_file(Comparison *c, int i, Text *t) {
    const Variant *v = &c->variant[i];
    bool only = !strcmp(v->label, v->report->model->name); /* nothing else is known */
    text_add(t, only ? "%s%s" : "%s, %s", only ? "" : v->label, own_file(c, i));
}

static void add_way(Comparison *c, int i, Text *t) {
    const Variant *v = &c->variant[i];
    if (v->blas) text_add(t, "%s, %s", v->label, v->blas);
}

static void name_add_number(Comparison *c, int i, Text *t) {
    text_add(t, "%s (%d)", c->variant[i].label, i + 1);
}

static bool files_differ(const Comparison *c, int i) {
    for (int k = 0; k < c->n; k++)
        if (!strcmp(c->variant[k].label, c->variant[i].label)
            && strcmp(model_of(c, k)->file, model_of(c, i)->file))
            return true;
    return false;
}

void compare_name(Comparison *c) {
    bool taken[COMPARE_MOST], same = same_names(c);
    for (int i = 0; i < c->n; i++)
        name_one(c, i, same, c->variant[i].label);
    for (int i = 0; i < c->n; i++)
        taken[i] = is_taken(c, i) && files_differ(c, i);
    add_apart(c, taken, name_add_file);
    for (int i = 0; i < c->n; i++)
        taken[i] = true;
    add_apart(c, taken, add_way);
    for (int i = 0; i < c->n; i++)
        taken[i] = is_taken(c, i);
    add_apart(c, taken, name_add_number);
    size_t n = shared(c, true);
    const char *first = model_of(c, 0)->name, *end = first + strlen(first) - n;
    while (parts_words(*end) && *end)
        end++;
    print_text(c->shared, sizeof c->shared, "%s", same ? first : end);
}
