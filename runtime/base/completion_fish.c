/* SPDX-License-Identifier: MIT
** fish's completion script: functions that say where the cursor is (completion.h), and a line
** for each command, option and kind of word.  fish itself knows the values of options.
*/
#include "completion.h"

#include <string.h>

/* fish takes backslashes for its own in single quotes. */
static void within_quotes(Text *t, const char *s) {
    for (; *s; s++) {
        if (strchr("'\\", *s)) text_add(t, "\\");
        text_bytes(t, s, 1);
    }
}

static void quoted(Text *t, const char *s) {
    text_add(t, "'");
    within_quotes(t, s);
    text_add(t, "'");
}

/* A text for the shell that an option of complete takes, with it. */
static void offers(Text *t, const char *list) {
    Text all = { 0 };
    completion_words(&all, list);
    text_add(t, " -a ");
    quoted(t, all.at ? all.at : "");
    if (all.failed) t->failed = true;
    text_free(&all);
}

/* == Where the cursor is ================================================== */

/* Options whose value is the next word, or all words up to the next option. */
static void values(Text *t, const CompletionLevel *l) {
    for (int i = 0; i < l->table->options; i++) {
        const OptionRow *r = &l->table->option[i];
        char name[32], letter = option_letter(l->table, i);
        if (!completion_takes_value(r) || option_is_optional(r) || !r->commands) continue;
        option_name(name, r);
        text_add(t, "            case");
        for (int c = 0; c < l->table->commands; c++) {
            if (!option_is_in(r, c)) continue;
            text_add(t, " '%s", l->prefix);
            within_quotes(t, l->table->command[c].name);
            text_add(t, " ");
            within_quotes(t, name);
            text_add(t, "'");
            if (letter) text_add(t, " '%s%s -%c'", l->prefix, l->table->command[c].name, letter);
            if (c == l->outer && r->kind == OPTION_IS_PAIR)
                text_add(t, " '%s/ %s'", l->table->command[c].name, name);
        }
        text_add(t, "\n                set wants %s\n",
                 r->kind != OPTION_IS_FILES                 ? "value"
                     : completion_value(r) == WANTS_NOTHING ? "texts"
                                                            : "files");
    }
}

/* Prints the command that the cursor is in, and 0 for its first word, 1 for another, "files" or
** "texts" for those of an option. */
static void place(Text *t, const Completion *c) {
    text_add(t, "function _");
    completion_function(t, c->program);
    text_add(t,
             "_place\n"
             "    set -l in ''\n    set -l n 0\n    set -l wants ''\n"
             "    set -l before (commandline -opc)\n"
             "    for word in $before[2..]\n"
             "        switch \"$in $word\"\n");
    for (int i = 0; i < c->levels; i++)
        values(t, &c->level[i]);
    text_add(t,
             "            case '* -*'\n                set wants ''\n"
             "            case '*'\n"
             "                if test -n \"$wants\"\n"
             "                    test \"$wants\" = value; and set wants ''\n"
             "                else if string match -qr '(^|/)$' -- $in\n"
             "                    set in $in$word\n                    set n 0\n");
    if (c->levels > 1)
        text_add(t,
                 "                else if test \"$in/\" = %s\n"
                 "                    set in %s\n",
                 c->level[1].prefix, c->level[1].prefix);
    text_add(t,
             "                else\n                    set n 1\n                end\n"
             "        end\n    end\n"
             "    test -n \"$wants\"; and set n $wants\n"
             "    echo \"$in $n\"\nend\n");
}

static void functions(Text *t, const Completion *c) {
    place(t, c);
    text_add(t, "function _");
    completion_function(t, c->program);
    text_add(t, "_in\n    contains -- (string replace -r ' [^ ]*$' '' -- (_");
    completion_function(t, c->program);
    text_add(t, "_place)) $argv\nend\nfunction _");
    completion_function(t, c->program);
    text_add(t, "_at\n    contains -- (_");
    completion_function(t, c->program);
    text_add(t, "_place) $argv\nend\nfunction _");
    completion_function(t, c->program);
    text_add(t, "_files\n    string match -q '* files' -- (_");
    completion_function(t, c->program);
    text_add(t, "_place)\nend\nfunction _");
    completion_function(t, c->program);
    text_add(t,
             "_specs\n"
             "    string match -r '^.*(?:/|\\.lua)(?:\\t.*)?$' -- "
             "(complete -C \"'' \"(commandline -ct))\nend\n");
}

/* == Lines ================================================================ */

/* "complete -c PROGRAM -n 'FUNCTION": a test, whose words and quote are still to come. */
static void line(Text *t, const Completion *c, const char *function) {
    text_add(t, "complete -c ");
    quoted(t, c->program);
    text_add(t, " -n '_");
    completion_function(t, c->program);
    text_add(t, "_%s", function);
}

/* A command's word as one of such a test, within its quotes. */
static void tested(Text *t, const CompletionLevel *l, const CommandRow *row, const char *place) {
    Text word = { 0 };
    text_add(&word, " ");
    text_add(&word, "%s", l->prefix);
    completion_word(&word, row->name, strlen(row->name));
    if (*place) text_add(&word, "\\ %s", place);
    within_quotes(t, word.at ? word.at : "");
    if (word.failed) t->failed = true;
    text_free(&word);
}

static void offer_wanted(Text *t, const Completion *c, Wanted w, const char *list) {
    switch (w) {
    case WANTS_NOTHING: text_add(t, " -f"); break;
    case WANTS_LIST:
        text_add(t, " -f");
        offers(t, list);
        break;
    case WANTS_FILE: text_add(t, " -F"); break;
    case WANTS_FOLDER: text_add(t, " -f -a '(__fish_complete_directories)'"); break;
    case WANTS_SPEC:
        text_add(t, " -f -a '(_");
        completion_function(t, c->program);
        text_add(t, "_specs)'");
        break;
    }
}

static void option_line(Text *t, const Completion *c, const CompletionLevel *l, int option) {
    const OptionRow *r = &l->table->option[option];
    char letter = option_letter(l->table, option);
    Wanted w = completion_value(r);
    line(t, c, "in");
    for (int k = 0; k < l->table->commands; k++)
        if (option_is_in(r, k)) tested(t, l, &l->table->command[k], "");
    if (option_is_joined(r)) text_add(t, "; and string match -q -- \\'-*\\' (commandline -ct)");
    text_add(t, "'");
    if (option_is_joined(r)) {
        text_add(t, " -f -a '");
        completion_option(t, l->table, option);
        text_add(t, "'");
    } else {
        if (letter) text_add(t, " -s %c", letter);
        text_add(t, r->name[1] ? " -l " : " -s ");
        quoted(t, r->name);
        if (completion_takes_value(r) && !option_is_optional(r)) text_add(t, " -r");
        offer_wanted(t, c, w, option_argument(r));
    }
    text_add(t, " -d ");
    quoted(t, r->help);
    text_add(t, "\n");
}

static void command_lines(Text *t, const Completion *c, const CompletionLevel *l,
                          const CommandRow *row) {
    Wanted wanted[] = { completion_first(row), completion_rest(row) };
    line(t, c, "at");
    text_add(t, " %s\\\\ 0' -f", l->prefix);
    offers(t, row->name);
    text_add(t, " -d ");
    quoted(t, row->summary);
    text_add(t, "\n");
    for (int i = 0; i < 2; i++) {
        if (wanted[i] == WANTS_NOTHING) continue;
        line(t, c, "at");
        tested(t, l, row, i ? "1" : "0");
        text_add(t, "'");
        offer_wanted(t, c, wanted[i], row->arguments);
        text_add(t, "\n");
    }
}

static void level(Text *t, const Completion *c, const CompletionLevel *l) {
    for (int k = 0; k < l->table->commands; k++)
        if (completion_shows(&l->table->command[k])) command_lines(t, c, l, &l->table->command[k]);
    for (int i = 0; i < l->table->options; i++)
        if (l->table->option[i].commands) option_line(t, c, l, i);
}

void completion_fish(Text *t, const Completion *c) {
    functions(t, c);
    text_add(t, "complete -c ");
    quoted(t, c->program);
    text_add(t, " -f\n");
    line(t, c, "files");
    text_add(t, "' -F\n");
    for (int i = 0; i < c->levels; i++)
        level(t, c, &c->level[i]);
}
