/* SPDX-License-Identifier: MIT
** See published.h. */
#include "published.h"

#include <math.h>

Text table;
int wrong;

void heading(const char *text) { text_add(&table, "\n%s\n", text); }

void line(const char *what, const char *ours, const char *published, const char *verdict) {
    text_add(&table, "  %-68s%16s%16s  %s\n", what, ours, published, verdict);
}

void equal(const char *what, double ours, double published, int digits, const char *convention) {
    char a[32], b[32], verdict[256];
    bool same = fabs(ours - published) <= 0.5000001 * pow(10, -digits);
    print_text(a, sizeof a, "%.*f", digits, ours);
    print_text(b, sizeof b, "%.*f", digits, published);
    print_text(verdict, sizeof verdict, "%s%s%s%s", same ? "equal" : "WRONG",
               *convention ? " (" : "", convention, *convention ? ")" : "");
    line(what, a, b, verdict);
    wrong += !same;
}

void count(const char *what, int64_t ours, int64_t published, const char *convention) {
    equal(what, (double)ours, (double)published, 0, convention);
}

void differs(const char *what, double ours, double expected, int digits, const char *published,
             const char *because) {
    char a[32], verdict[320];
    bool as_known = fabs(ours - expected) <= 0.5000001 * pow(10, -digits);
    print_text(a, sizeof a, "%.*f", digits, ours);
    print_text(verdict, sizeof verdict, "%s%s", as_known ? "differs because " : "WRONG: ", because);
    line(what, a, published, verdict);
    wrong += !as_known;
}
