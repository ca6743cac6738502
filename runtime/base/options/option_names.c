/* SPDX-License-Identifier: MIT
** What an option's row says of its name and its argument. */
#include "options.h"

const char *option_name(char to[32], const OptionRow *r) {
    print_text(to, 32, "%s%s", r->name[1] ? "--" : "-", r->name);
    return to;
}

const char *option_argument(const OptionRow *r) { return r->argument + option_is_optional(r); }

bool option_is_optional(const OptionRow *r) { return r->argument[0] == '='; }

bool option_is_joined(const OptionRow *r) { return r->kind == OPTION_IS_CHOICE && !r->name[1]; }

char option_letter(const OptionTable *table, int option) {
    for (int i = 0; i < table->letters; i++)
        if (table->letter[i].option == option) return table->letter[i].letter;
    return 0;
}
