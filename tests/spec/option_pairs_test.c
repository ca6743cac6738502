/* SPDX-License-Identifier: MIT
** Options of the library's constructors, two at a time (option_pairs.def): what cannot be together
** is refused by the name of the constructor, and never by an operation whose operands do not fit.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load_spec.h"
#include "scratch.h"

typedef enum Role { SUBLAYER, MIXER, ROUTE, EVERY, VALUES } Role;

typedef struct Row {
    Role role;
    const char *name, *values; /* of a constructor: what is given always */
} Row;

static const Row row[] = {
#define CONSTRUCTOR(role, name, given) { role, name, given },
#define OPTION(name, values) { VALUES, name, values },
#include "option_pairs.def"
#undef CONSTRUCTOR
#undef OPTION
};
enum { ROWS = sizeof row / sizeof *row, TEXT = 3000 };

/* One value of an option, as it is typed. */
typedef struct Given {
    int row;
    char text[500];
} Given;

/* The options of a constructor's row, and those that every sublayer has: NULL-ended. */
static int given_values(int constructor, Given *given, int most) {
    int n = 0;
    for (int i = 0; i < ROWS; i++) {
        int owner = i;
        while (row[owner].role == VALUES)
            owner--;
        bool mine = owner == constructor
            || (row[owner].role == EVERY && row[constructor].role == SUBLAYER);
        char values[400], *rest = values;
        if (!mine || owner == i) continue;
        snprintf(values, sizeof values, "%s", row[i].values);
        for (char *bar, *first = rest; rest; rest = bar ? bar + 3 : NULL) {
            bar = strstr(rest, " | ");
            if (bar) *bar = 0;
            if (bar && rest != first) continue; /* the first and the last one are enough */
            assert_true(n < most);
            given[n].row = i;
            snprintf(given[n].text, sizeof given[n].text, ", %s = %s", row[i].name, rest);
            n++;
        }
    }
    return n;
}

static void write_spec(const Row *r, const char *a, const char *b, char text[TEXT]) {
    char made[1300];
    snprintf(made, sizeof made, "%s { %s%s%s }", r->name, r->values,
             *r->values ? a : a + 2 * (*a != 0), *r->values || *a ? b : b + 2 * (*b != 0));
    bool route = r->role == ROUTE, mixer = r->role == MIXER, mlp = !strcmp(r->name, "mlp");
    snprintf(text, TEXT,
             "local function one() return layer { %s%s%s%s } end\n"
             "return model { name = 'm', vocab = 32, context = 16, dim = 16, norm = rmsnorm {}, "
             "%s%s layers = { one(), one() } }\n",
             route || mixer ? "attention { heads = 2 }" : made,
             mlp ? "" : ", mlp { hidden = 8, name = 'other' }", route ? ", route = " : "",
             route ? made : "", mixer ? "residual = " : "", mixer ? made : "");
    if (mixer) {
        char *at = strstr(text, " layers = {");
        memmove(at + 1, at, strlen(at) + 1);
        *at = ',';
    }
}

/* "model.lua:1: moe: expected ...": whose mistake it is. */
static void expect_named(const Row *r, const char *text, const Error *e) {
    const char *colon = strchr(e->text, ' '), *end = colon ? strstr(colon, ": expected ") : NULL;
    char name[64] = "";
    if (end) snprintf(name, sizeof name, "%.*s", (int)(end - colon - 1), colon + 1);
    bool named = !strcmp(name, r->name) || !strcmp(name, "residual") || !strcmp(name, "kept")
        || (end && !strncmp(end, ": expected no ", 14));
    if (e->status != 1 || !named) fail_msg("%s\n%s", text, e->text);
}

/* 1: it is built, 0: refused */
static int is_built(void **state, const Row *r, const char *a, const char *b) {
    char text[TEXT];
    Error e;
    write_spec(r, a, b, text);
    Model *m = load_spec_text(state, "pair.lua", text, NULL, &e);
    if (!m) expect_named(r, text, &e);
    spec_free(m);
    return m != NULL;
}

static void pairs_of_options_are_built_or_named(void **state) {
    enum { MOST = 120 };
    Given *given = calloc(MOST, sizeof *given);
    int built = 0, all = 0;
    for (int i = 0; i < ROWS; i++) {
        if (row[i].role == VALUES || row[i].role == EVERY) continue;
        int n = given_values(i, given, MOST);
        for (int a = 0; a < n; a++)
            for (int b = a; b < n; b++) {
                if (a != b && given[a].row == given[b].row) continue;
                built += is_built(state, &row[i], given[a].text, a == b ? "" : given[b].text);
                all++;
            }
    }
    free(given);
    if (all < 2500 || built < all / 2) fail_msg("%d of %d are built", built, all);
}

/* No option of these constructors is missing in the table. */
static void every_option_is_in_the_table(void **state) {
    for (int i = 0; i < ROWS; i++) {
        char text[TEXT], *list, *word;
        Error e;
        if (row[i].role == VALUES || row[i].role == EVERY) continue;
        write_spec(&row[i], ", no_such_field = 1", "", text);
        assert_null(load_spec_text(state, "pair.lua", text, NULL, &e));
        list = strstr(e.text, "fields out of ");
        if (!list) list = strstr(e.text, "the field "); /* there is one only, or none */
        assert_non_null(list);
        *strstr(list, ", found 'no_such_field'") = 0;
        for (word = strtok(list + 14, ", "); word; word = strtok(NULL, ", ")) {
            int at = 0;
            while (at < ROWS && (row[at].role != VALUES || strcmp(row[at].name, word) != 0))
                at++;
            bool known = at < ROWS || !strcmp(word, "and") || !strcmp(word, "name")
                || !strcmp(word, "none");
            if (!known) fail_msg("%s: '%s' is in no row", row[i].name, word);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_of_options_are_built_or_named),
        cmocka_unit_test(every_option_is_in_the_table),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
