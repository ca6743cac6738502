/* SPDX-License-Identifier: MIT
** --help, from a table. */
#include "options.h"

/* Columns of UTF-8 text, one a character: enough for these tables. */
static int columns(const char *s) {
    int n = 0;
    for (; *s; s++)
        n += (*s & 0xc0) != 0x80;
    return n;
}

static void pad(Text *t, const char *s, int width) {
    text_add(t, "%s%*s", s, width > columns(s) ? width - columns(s) : 0, "");
}

static void option_help(Text *t, const OptionTable *table, int option) {
    enum { WIDTH = 27 };
    const OptionRow *r = &table->option[option];
    char left[128], name[32], brief[8] = "", letter = option_letter(table, option);
    bool optional = option_is_optional(r);
    if (letter) print_text(brief, sizeof brief, "-%c, ", letter);
    print_text(left, sizeof left, "  %s%s%s%s%s", brief, option_name(name, r),
               optional                  ? "["
                   : option_is_joined(r) ? ""
                                         : " ",
               r->argument, optional ? "]" : "");
    if (columns(left) > WIDTH) text_add(t, "%s\n%*s", left, WIDTH, "");
    else pad(t, left, WIDTH);
    text_add(t, " %s", r->help);
    if (*r->initial) text_add(t, " (%s)", r->initial);
    text_add(t, "\n");
}

static void command_line(char to[128], const CommandRow *c) {
    print_text(to, 128, "%s%s%s", c->name, *c->arguments ? " " : "", c->arguments);
}

static void program_help(Text *t, const OptionTable *table, const char *program) {
    char left[128];
    int width = 0, missing = 0;
    for (int i = 0; i < table->commands; i++) {
        command_line(left, &table->command[i]);
        if (columns(left) > width) width = columns(left);
    }
    text_add(t, "usage: %s COMMAND [OPTION …]\n\nCommands\n", program);
    for (int i = 0; i < table->commands; i++) {
        if (table->command[i].words == NOT_YET) continue;
        command_line(left, &table->command[i]);
        text_add(t, "  ");
        pad(t, left, width + 2);
        text_add(t, "%s\n", table->command[i].summary);
    }
    for (int i = 0; i < table->commands; i++)
        if (table->command[i].words == NOT_YET)
            text_add(t, "%s %s",
                     missing++ ? "," : "\nNot in this version:", table->command[i].name);
    text_add(t, "%s\n'%s COMMAND --help' lists a command's options; --version says what this is.\n",
             missing ? "." : "", program);
    text_add(t, "%s", table->closing);
}

void options_help(Text *t, const OptionTable *table, const char *program, int command) {
    if (command == table->commands) {
        program_help(t, table, program);
    } else {
        const CommandRow *c = &table->command[command];
        text_add(t, "usage: %s %s%s%s [OPTION …]\n\n  %s%s\n", program, c->name,
                 *c->arguments ? " " : "", c->arguments, c->summary,
                 c->words == NOT_YET ? " (not in this version)" : "");
        if (*c->more) text_add(t, "  %s\n", c->more);
        text_add(t, "\nOptions\n");
        for (int i = 0; i < table->options; i++)
            if (option_is_in(&table->option[i], command)) option_help(t, table, i);
        text_add(t,
                 "  --help                    this text\n"
                 "  --version                 what this program is\n");
    }
    table->limits(t, command);
}
