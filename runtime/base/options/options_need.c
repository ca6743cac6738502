/* SPDX-License-Identifier: MIT
** Refuses or notes options that would be ignored, by the NEED and IDLE rows of a table.
*/
#include "options.h"

#include <string.h>

/* The others that the command has. */
static int others_of(const Options *o, const OptionNeed *n, int others[OPTION_OTHERS]) {
    int found = 0;
    for (int i = 0; i < OPTION_OTHERS && n->other[i] >= 0; i++)
        if (option_is_in(&o->table->option[n->other[i]], o->command)) others[found++] = n->other[i];
    return found;
}

static bool applies(const Options *o, const OptionNeed *n) {
    return n->commands >> o->command & 1 && o->value[n->option].given;
}

/* "--val, --val-share or --resume" */
static const char *listed(char to[128], const Options *o, const int *others, int n) {
    char name[32];
    for (int i = 0, at = 0; i < n; i++)
        at += print_text(to + at, 128 - (size_t)at, "%s%s",
                         !i ? ""
                             : i + 1 < n ? ", "
                                         : " or ",
                         option_name(name, &o->table->option[others[i]]));
    return to;
}

static int need_check(const Options *o, const OptionNeed *need, Error *e) {
    char in[64], name[32], list[128];
    int others[OPTION_OTHERS], n = others_of(o, need, others);
    if (!n || !applies(o, need)) return STATUS_OK;
    for (int i = 0; i < n; i++)
        if (o->value[others[i]].given) return STATUS_OK;
    return error_set(e, STATUS_USAGE, "%s%s%s: expected %s with it, found %s",
                     option_place(in, o->table, o->command), *in ? ": " : "",
                     option_name(name, &o->table->option[need->option]), listed(list, o, others, n),
                     n == 2 ? "neither" : "none");
}

int options_need(const Options *o, Error *e) {
    int status = STATUS_OK;
    for (int i = 0; !status && i < o->table->needs; i++)
        if (!o->table->need[i].idle) status = need_check(o, &o->table->need[i], e);
    return status;
}

/* Has it this value?  Numbers are compared as numbers: 0 is 0.0. */
static bool has_value(const OptionRow *r, const OptionValue *v, const char *text) {
    OptionValue same = { 0 };
    if (!option_read(&same, r, text)) return false;
    return r->kind == OPTION_IS_NUMBER ? v->number == same.number
        : r->kind == OPTION_IS_CHOICE  ? v->choice == same.choice
                                       : v->count == same.count;
}

void options_idle(const Options *o, Text *t) {
    char in[64], name[32], other[32];
    for (int i = 0; i < o->table->needs; i++) {
        const OptionNeed *n = &o->table->need[i];
        const OptionRow *r = &o->table->option[n->other[0]];
        if (!n->idle || !applies(o, n) || !has_value(r, &o->value[n->other[0]], n->idle)) continue;
        text_add(t, "note: %s: %s says nothing beside %s %s\n",
                 option_place(in, o->table, o->command),
                 option_name(name, &o->table->option[n->option]), option_name(other, r), n->idle);
    }
}
