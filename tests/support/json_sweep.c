/* SPDX-License-Identifier: MIT
** See json_sweep.h. */
#include "json_sweep.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

static const char *const hostile[] = { "null",
                                       "true",
                                       "false",
                                       "0",
                                       "-1",
                                       "1",
                                       "2",
                                       "3",
                                       "2.5",
                                       "-0.0",
                                       "1e-320",
                                       "-1e300",
                                       "1e999",
                                       "NaN",
                                       "65537",
                                       "1048577",
                                       "2147483647",
                                       "1099511627776",
                                       "9223372036854775807",
                                       "18446744073709551616",
                                       "1e30",
                                       "\"\"",
                                       "\"x\"",
                                       "\"4\"",
                                       "\"\\u0000\"",
                                       "\"\\u001b[2J\\n\"",
                                       "[]",
                                       "[0]",
                                       "[null]",
                                       "[1, 1, 1]",
                                       "[1.5, -1]",
                                       "[[[[]]]]",
                                       "{}",
                                       "{\"a\": 1}",
                                       NULL };
/* What is made of the number or list that is there. */
typedef enum Change { ONE_MORE, ONE_LESS, TWICE, HALF } Change;

/* == Values of a text ===================================================== */

enum { PATH = 160 };

/* Bytes [begin, end) of one; 'member': where "NAME": begins, or its own beginning. */
typedef struct Value {
    size_t member, begin, end;
    char path[PATH], name[64];
} Value;

typedef struct Scan {
    const char *text;
    size_t at;
    Value *list;
    size_t count, room;
} Scan;

static void blanks(Scan *s) { s->at += strspn(s->text + s->at, " \t\r\n"); }

static void skip_string(Scan *s) {
    for (s->at++; s->text[s->at] != '"'; s->at++)
        if (s->text[s->at] == '\\') s->at++;
    s->at++;
}

static void scan_value(Scan *s, size_t member, const char *path, const char *name);

/* Behind the name and the colon of a member, of which 'own' gets the name and 'path' grows. */
static void scan_name(Scan *s, char own[64], char path[PATH]) {
    size_t from = s->at, n = strlen(path);
    skip_string(s);
    print_text(own, 64, "%.*s", (int)(s->at - from) - 2, s->text + from + 1);
    if (*own == '\\' && strchr("\"\\", own[1])) memmove(own, own + 1, strlen(own));
    print_text(path + n, PATH - n, "%s%s", n ? "." : "", own);
    blanks(s);
    s->at++;
    blanks(s);
}

/* Members of an object, elements of a list. */
static void scan_box(Scan *s, bool object, const char *path, const char *name) {
    int i = 0;
    for (s->at++, blanks(s); !strchr("]}", s->text[s->at]); blanks(s)) {
        char own[64], place[PATH];
        size_t member = s->at;
        print_text(own, sizeof own, "%s", name);
        print_text(place, sizeof place, object ? "%s" : "%s[%d]", path, i++);
        if (object) scan_name(s, own, place);
        scan_value(s, member, place, own);
        blanks(s);
        s->at += s->text[s->at] == ',';
    }
    s->at++;
}

static void scan_value(Scan *s, size_t member, const char *path, const char *name) {
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->list = realloc(s->list, s->room * sizeof *s->list);
        assert_non_null(s->list);
    }
    size_t i = s->count++;
    s->list[i] = (Value){ .member = member, .begin = s->at };
    print_text(s->list[i].path, sizeof s->list[i].path, "%s", path);
    print_text(s->list[i].name, sizeof s->list[i].name, "%s", name);
    if (strchr("{[", s->text[s->at])) scan_box(s, s->text[s->at] == '{', path, name);
    else if (s->text[s->at] == '"') skip_string(s);
    else s->at += strcspn(s->text + s->at, ",]} \t\r\n");
    s->list[i].end = s->at;
}

/* == Changes ============================================================== */

typedef struct Changes {
    const JsonSweep *w;
    Sweep *s;
    Scan all;
    char long_text[20000];
} Changes;

/* The text with other bytes in the place of [from, to). */
static void splice(Changes *c, size_t from, size_t to, const char *value, const Value *x) {
    const char *text = c->all.text;
    Text t = { 0 }, before = { 0 };
    if (!sweep_due(c->s)) return;
    text_bytes(&before, text + from, to - from);
    text_bytes(&t, text, from);
    text_bytes(&t, value, strlen(value));
    text_bytes(&t, text + to, strlen(text + to));
    c->w->attempt(c->w->user,
                  &(JsonEdit){ &t, x->name, x->path, before.length ? before.at : "", value });
    text_free(&before);
    text_free(&t);
}

/* A member or an element, and a comma, go. */
static void remove_value(Changes *c, const Value *x) {
    const char *text = c->all.text;
    size_t from = x->member, to = x->end + strspn(text + x->end, " \t\r\n");
    if (text[to] == ',') to++;
    else
        while (from && strchr(" \t\r\n,", text[from - 1]))
            from--;
    splice(c, from, to, "", x);
}

/* A list without its last element, and with that twice. */
static void change_list(Changes *c, const Value *x) {
    const Scan *all = &c->all;
    const Value *last = NULL;
    for (const Value *y = x + 1; y < all->list + all->count && y->end < x->end; y++)
        if (!last || y->begin > last->end) last = y;
    if (all->text[x->begin] != '[' || !last) return;
    Text value = { 0 };
    text_add(&value, ", %.*s", (int)(last->end - last->begin), all->text + last->begin);
    splice(c, last->end, last->end, value.at, x);
    text_free(&value);
    remove_value(c, last);
}

static void change_number(Changes *c, const Value *x, Change change) {
    const char *text = c->all.text;
    char value[64], *end;
    double v = strtod(text + x->begin, &end);
    if (end != text + x->end || !strchr("-0123456789", text[x->begin])) return;
    double made[] = { v + 1, v - 1, 2 * v, v / 2 };
    print_text(value, sizeof value, "%.17g", made[change]);
    splice(c, x->begin, x->end, value, x);
}

static void change_value(Changes *c, const Value *x) {
    const char *const *more = c->w->values;
    for (int i = 0; hostile[i]; i++)
        splice(c, x->begin, x->end, hostile[i], x);
    for (int i = 0; more && more[i]; i++)
        splice(c, x->begin, x->end, more[i], x);
    for (Change change = ONE_MORE; change <= HALF; change++)
        change_number(c, x, change);
    change_list(c, x);
    if (x->member) remove_value(c, x);
    splice(c, x->begin, x->end, c->long_text, x);
}

static void add_fields(Changes *c) {
    const char *const *field = c->w->fields, *const *more = c->w->values;
    char value[256], quoted[80];
    Value x = { .member = 0 };
    for (int k = 0; field && field[k]; k++) {
        print_text(quoted, sizeof quoted, "\"%s\":", field[k]);
        print_text(x.name, sizeof x.name, "%s", field[k]);
        print_text(x.path, sizeof x.path, "%s", field[k]);
        if (strstr(c->all.text, quoted)) continue;
        for (int i = 0; hostile[i]; i++) {
            print_text(value, sizeof value, "%s %s, ", quoted, hostile[i]);
            splice(c, 1, 1, value, &x);
        }
        for (int i = 0; more && more[i]; i++) {
            print_text(value, sizeof value, "%s %s, ", quoted, more[i]);
            splice(c, 1, 1, value, &x);
        }
    }
}

void json_sweep(const JsonSweep *w, Sweep *s, const char *text) {
    Changes c = { .w = w, .s = s, .all.text = text };
    memset(c.long_text, 'x', sizeof c.long_text);
    c.long_text[0] = c.long_text[sizeof c.long_text - 2] = '"';
    c.long_text[sizeof c.long_text - 1] = 0;
    blanks(&c.all);
    scan_value(&c.all, 0, "", "");
    for (size_t i = 0; i < c.all.count; i++)
        change_value(&c, &c.all.list[i]);
    add_fields(&c);
    free(c.all.list);
}
