/* SPDX-License-Identifier: MIT
** zsh's completion script: a function for each command line (completion.h), which leaves
** options, values and words to _arguments.
*/
#include "completion.h"

#include <string.h>

/* Inside single quotes, what describes a command or an option. */
static void described(Text *t, const char *s) {
    for (; *s; s++) {
        if (strchr("[]:\\", *s)) text_add(t, "\\");
        completion_within_quotes(t, s, 1);
    }
}

/* Inside single quotes: what completes a word. */
static void action(Text *t, const Completion *c, Wanted w, const char *list) {
    switch (w) {
    case WANTS_NOTHING: text_add(t, " "); break;
    case WANTS_LIST:
        text_add(t, "(");
        completion_quoted_words(t, list);
        text_add(t, ")");
        break;
    case WANTS_FILE: text_add(t, "_files"); break;
    case WANTS_FOLDER: text_add(t, "_files -/"); break;
    case WANTS_SPEC:
        completion_function(t, c->program);
        text_add(t, "_spec");
        break;
    }
}

/* -O: each of its words excludes the others. */
static void joined(Text *t, const OptionTable *table, int option) {
    const OptionRow *r = &table->option[option];
    text_add(t, "'(");
    completion_option(t, table, option);
    text_add(t, ")'{");
    for (const char *s = r->argument; *s; s += *s == '|') {
        text_add(t, "%s-%s%.*s", s > r->argument ? "," : "", r->name, (int)strcspn(s, "|"), s);
        s += strcspn(s, "|");
    }
    text_add(t, "}'[");
    described(t, r->help);
    text_add(t, "]'");
}

/* "--steps=": the value is joined with = or is the next word. */
static void option_words(Text *t, const OptionTable *table, int option) {
    const OptionRow *r = &table->option[option];
    char name[32], letter = option_letter(table, option);
    bool flag = r->kind == OPTION_IS_FLAG, repeats = r->kind == OPTION_IS_PAIR;
    option_name(name, r);
    if (letter) text_add(t, "'(-%c %s)'{-%c,", letter, name, letter);
    else text_add(t, "'%s", repeats ? "*" : "");
    described(t, name);
    text_add(t, "%s%s[",
             option_is_optional(r)     ? "=-"
                 : flag || !r->name[1] ? ""
                                       : "=",
             letter ? "}'" : "");
}

static void option_spec(Text *t, const Completion *c, const OptionTable *table, int option) {
    const OptionRow *r = &table->option[option];
    text_add(t, " \\\n            ");
    if (option_is_joined(r)) {
        joined(t, table, option);
        return;
    }
    option_words(t, table, option);
    described(t, r->help);
    text_add(t, "]");
    if (r->kind != OPTION_IS_FLAG) {
        text_add(t, option_is_optional(r) ? "::" : r->kind == OPTION_IS_FILES ? "'$many':" : ":");
        described(t, r->kind == OPTION_IS_CHOICE ? r->name : option_argument(r));
        text_add(t, ":");
        action(t, c, completion_value(r), option_argument(r));
    }
    text_add(t, "'");
}

/* The words of a command; behind the outer one's first stands another command line. */
static void command_words(Text *t, const Completion *c, const CommandRow *row, bool outer) {
    Wanted first = completion_first(row), rest = completion_rest(row);
    if (*row->arguments) {
        text_add(t, " '1:%s:",
                 first == WANTS_LIST       ? "word"
                     : first == WANTS_SPEC ? "spec"
                                           : "file");
        action(t, c, first, row->arguments);
        text_add(t, "'");
    }
    if (outer) {
        text_add(t, " '*:::command:");
        completion_function(t, c->program);
        text_add(t, "_1'");
    } else if (rest != WANTS_NOTHING) {
        text_add(t, " '*:%s:", rest == WANTS_SPEC ? "spec" : "file");
        action(t, c, rest, "");
        text_add(t, "'");
    }
}

static void command_names(Text *t, const OptionTable *table) {
    text_add(t, "()\n{\n    local -a commands\n    commands=(\n");
    for (int k = 0; k < table->commands; k++) {
        if (!completion_shows(&table->command[k])) continue;
        text_add(t, "        '");
        described(t, table->command[k].name);
        text_add(t, ":");
        described(t, table->command[k].summary);
        text_add(t, "'\n");
    }
    text_add(t,
             "    )\n    if (( CURRENT == 1 )); then\n"
             "        _describe command commands\n        return\n    fi\n");
}

/* A function of a command line: words[1] is its command.  An option of several words has all up to
** the next option, which is only one where its "-" is not typed yet. */
static void level(Text *t, const Completion *c, int which) {
    const CompletionLevel *l = &c->level[which];
    completion_function(t, c->program);
    text_add(t, "_%d", which);
    command_names(t, l->table);
    text_add(t,
             "    local many=':*-*'\n    [[ $PREFIX = -* ]] && many=\n"
             "    case $words[1] in\n");
    for (int k = 0; k < l->table->commands; k++) {
        const CommandRow *row = &l->table->command[k];
        if (!completion_shows(row)) continue;
        text_add(t, "    ");
        completion_word(t, row->name, strlen(row->name));
        text_add(t, ")\n        _arguments");
        for (int i = 0; i < l->table->options; i++)
            if (option_is_in(&l->table->option[i], k)) option_spec(t, c, l->table, i);
        command_words(t, c, row, k == l->outer);
        text_add(t, " '--help[this text]' ;;\n");
    }
    text_add(t, "    esac\n}\n");
}

void completion_zsh(Text *t, const Completion *c) {
    text_add(t, "#compdef %s\n", c->program);
    completion_function(t, c->program);
    text_add(t, "_spec()\n{\n    _path_files -g '*.lua(-.) *(-/)'\n}\n");
    for (int i = 0; i < c->levels; i++)
        level(t, c, i);
    completion_function(t, c->program);
    text_add(t, "()\n{\n    shift words\n    (( CURRENT-- ))\n    ");
    completion_function(t, c->program);
    text_add(t, "_0\n}\ncompdef ");
    completion_function(t, c->program);
    text_add(t, " ");
    completion_quoted(t, c->program);
    text_add(t, "\n");
}
