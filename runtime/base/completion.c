/* SPDX-License-Identifier: MIT
** Completion scripts for bash, zsh and fish, from a table: commands, their options,
** and the words of choices; files where an option takes one.
*/
#include "options.h"

#include <string.h>

/* == Text for shells ====================================================== */

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
        || strchr("-_./=+", c) || c & 0x80;
}

/* The program's name as part of a shell function's. */
static void identifier(Text *t, const char *program) {
    text_add(t, "_strata_");
    for (const char *s = program; *s; s++)
        text_add(t, "%c", is_plain(*s) && !strchr("-./=+", *s) && !(*s & 0x80) ? *s : '_');
}

/* Inside single quotes, for bash and zsh. */
static void within_quotes(Text *t, const char *s, size_t length) {
    for (; length--; s++) {
        if (*s == '\'') text_add(t, "'\\''");
        else text_bytes(t, s, 1);
    }
}

static void quoted(Text *t, const char *s) {
    text_add(t, "'");
    within_quotes(t, s, strlen(s));
    text_add(t, "'");
}

/* fish takes backslashes for its own in single quotes. */
static void fish_quoted(Text *t, const char *s) {
    text_add(t, "'");
    for (; *s; s++) {
        if (strchr("'\\", *s)) text_add(t, "\\");
        text_bytes(t, s, 1);
    }
    text_add(t, "'");
}

/* A word that a shell reads back as it is, with a backslash where one is needed. */
static void escaped_word(Text *t, const char *s, size_t length) {
    for (; length--; s++) {
        if (!is_plain(*s)) text_add(t, "\\");
        text_bytes(t, s, 1);
    }
}

/* "a|b" as "a b", each such a word. */
static void words(Text *t, const char *list) {
    for (;; list++) {
        size_t n = strcspn(list, "|");
        escaped_word(t, list, n);
        list += n;
        if (!*list) return;
        text_add(t, " ");
    }
}

/* A script's piece in single quotes. */
static void quoted_words(Text *t, const char *list) {
    Text list_text = { 0 };
    words(&list_text, list);
    if (list_text.failed) t->failed = true;
    within_quotes(t, list_text.at ? list_text.at : "", list_text.length);
    text_free(&list_text);
}

static void quoted_word(Text *t, const char *word) {
    Text one = { 0 };
    escaped_word(&one, word, strlen(word));
    if (one.failed) t->failed = true;
    within_quotes(t, one.at ? one.at : "", one.length);
    text_free(&one);
}

/* == What is completed ==================================================== */

static bool takes_file(const OptionRow *r) {
    return r->kind == OPTION_IS_FILE || r->kind == OPTION_IS_FILES
        || (r->kind == OPTION_IS_WORD && strcmp(r->argument, "FILE") == 0);
}

/* Has it a list of values, in a word of its own? */
static bool has_list(const OptionRow *r) {
    return r->kind == OPTION_IS_CHOICE && !option_is_optional(r) && !option_is_joined(r);
}

static bool is_shown(const CommandRow *c) { return c->words != NOT_YET; }

/* The words that a command takes, where they are listed; "": they are not. */
static const char *listed(const CommandRow *c) {
    return strchr(c->arguments, '|') ? c->arguments : "";
}

/* -O as "-O0 -O1 …", others by their name. */
static void spelled(Text *t, const OptionRow *r) {
    char name[32];
    option_name(name, r);
    if (!option_is_joined(r)) {
        quoted_word(t, name);
        return;
    }
    for (const char *s = r->argument;; s++) {
        size_t n = strcspn(s, "|");
        text_add(t, "%s%.*s", name, (int)n, s);
        s += n;
        if (!*s) return;
        text_add(t, " ");
    }
}

/* == bash ================================================================= */

static void bash_lists(Text *t, const OptionTable *table) {
    char name[32];
    for (int c = 0; c < table->commands; c++)
        for (int i = 0; i < table->options; i++) {
            const OptionRow *r = &table->option[i];
            if (!option_is_in(r, c) || !has_list(r)) continue;
            text_add(t, "    ");
            escaped_word(t, table->command[c].name, strlen(table->command[c].name));
            option_name(name, r);
            escaped_word(t, name, strlen(name));
            text_add(t, ") COMPREPLY=($(compgen -W '");
            quoted_words(t, r->argument);
            text_add(t, "' -- \"$word\")); return ;;\n");
        }
}

static void bash_options(Text *t, const OptionTable *table) {
    for (int c = 0; c < table->commands; c++) {
        const CommandRow *row = &table->command[c];
        if (!is_shown(row)) continue;
        text_add(t, "    ");
        escaped_word(t, row->name, strlen(row->name));
        text_add(t, ") options='");
        if (*listed(row)) quoted_words(t, listed(row));
        for (int i = 0; i < table->options; i++)
            if (option_is_in(&table->option[i], c)) {
                text_add(t, " ");
                spelled(t, &table->option[i]);
            }
        text_add(t, " --help' ;;\n");
    }
}

static void bash_script(Text *t, const OptionTable *table, const char *program) {
    identifier(t, program);
    text_add(t,
             "()\n{\n"
             "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
             "options=\n"
             "    COMPREPLY=()\n"
             "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
             "        COMPREPLY=($(compgen -W '");
    for (int c = 0; c < table->commands; c++)
        if (is_shown(&table->command[c])) {
            quoted_word(t, table->command[c].name);
            text_add(t, " ");
        }
    text_add(t,
             "--help --version' -- \"$word\"))\n"
             "        return\n    fi\n"
             "    case ${COMP_WORDS[1]}$before in\n");
    bash_lists(t, table);
    text_add(t, "    esac\n    case ${COMP_WORDS[1]} in\n");
    bash_options(t, table);
    text_add(t,
             "    esac\n    case $word in\n"
             "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
             "    *) COMPREPLY=($(compgen -W \"${options%%%% -*}\" -- \"$word\") "
             "$(compgen -f -- \"$word\")) ;;\n"
             "    esac\n}\ncomplete -o filenames -F ");
    identifier(t, program);
    text_add(t, " ");
    quoted(t, program);
    text_add(t, "\n");
}

/* == zsh ================================================================== */

/* Inside single quotes, what describes a command or an option. */
static void described(Text *t, const char *s) {
    for (; *s; s++) {
        if (strchr("[]:\\", *s)) text_add(t, "\\");
        within_quotes(t, s, 1);
    }
}

static void zsh_option(Text *t, const OptionRow *r) {
    char name[32];
    bool flag = r->kind == OPTION_IS_FLAG, optional = option_is_optional(r);
    text_add(t, " \\\n            ");
    if (option_is_joined(r)) {
        text_add(t, "'(");
        spelled(t, r);
        text_add(t, ")'{");
        for (const char *s = r->argument; *s; s += *s == '|') {
            text_add(t, "%s-%s%.*s", s > r->argument ? "," : "", r->name, (int)strcspn(s, "|"), s);
            s += strcspn(s, "|");
        }
        text_add(t, "}'[");
    } else {
        text_add(t, "'%s", r->kind == OPTION_IS_FILES || r->kind == OPTION_IS_PAIR ? "*" : "");
        described(t, option_name(name, r));
        text_add(t, "%s[", optional ? "=-" : flag || !r->name[1] ? "" : "=");
    }
    described(t, r->help);
    text_add(t, "]");
    if (!flag && !option_is_joined(r)) {
        text_add(t, optional ? "::" : ":");
        described(t, r->kind == OPTION_IS_CHOICE ? r->name : option_argument(r));
        text_add(t, ":%s", takes_file(r) ? "_files" : "");
        if (r->kind == OPTION_IS_CHOICE) {
            text_add(t, "(");
            quoted_words(t, option_argument(r));
            text_add(t, ")");
        }
    }
    text_add(t, "'");
}

/* The words of a command: listed ones, specs, or files. */
static void zsh_words(Text *t, const CommandRow *c) {
    if (*listed(c)) {
        text_add(t, " '1:word:(");
        quoted_words(t, listed(c));
        text_add(t, ")'");
    } else if (strncmp(c->arguments, "SPEC", 4) == 0) {
        text_add(t, " '%s:spec:_files -g \"*.lua\"'", c->words == ALL_WORDS ? "1" : "*");
    } else if (*c->arguments) {
        text_add(t, " '*:file:_files%s'", strstr(c->arguments, "DIR") ? " -/" : "");
    }
}

static void zsh_script(Text *t, const OptionTable *table, const char *program) {
    text_add(t, "#compdef %s\n", program);
    identifier(t, program);
    text_add(t, "()\n{\n    local -a commands\n    commands=(\n");
    for (int c = 0; c < table->commands; c++) {
        if (!is_shown(&table->command[c])) continue;
        text_add(t, "        '");
        described(t, table->command[c].name);
        text_add(t, ":");
        described(t, table->command[c].summary);
        text_add(t, "'\n");
    }
    text_add(t,
             "    )\n    if (( CURRENT == 2 )); then\n"
             "        _describe command commands\n        return\n    fi\n"
             "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
             "    case $command in\n");
    for (int c = 0; c < table->commands; c++) {
        if (!is_shown(&table->command[c])) continue;
        text_add(t, "    ");
        escaped_word(t, table->command[c].name, strlen(table->command[c].name));
        text_add(t, ")\n        _arguments");
        for (int i = 0; i < table->options; i++)
            if (option_is_in(&table->option[i], c)) zsh_option(t, &table->option[i]);
        zsh_words(t, &table->command[c]);
        text_add(t, " '--help[this text]' ;;\n");
    }
    text_add(t, "    esac\n}\ncompdef ");
    identifier(t, program);
    text_add(t, " ");
    quoted(t, program);
    text_add(t, "\n");
}

/* == fish ================================================================= */

/* "complete -c PROGRAM -n 'is it one of these commands'" */
static void fish_line(Text *t, const OptionTable *table, const char *program, uint32_t commands) {
    Text test = { 0 };
    text_add(&test, "__fish_seen_subcommand_from");
    for (int c = 0; c < table->commands; c++)
        if (commands >> c & 1) {
            text_add(&test, " ");
            escaped_word(&test, table->command[c].name, strlen(table->command[c].name));
        }
    text_add(t, "complete -c ");
    fish_quoted(t, program);
    text_add(t, " -n ");
    fish_quoted(t, test.at ? test.at : "");
    if (test.failed) t->failed = true;
    text_free(&test);
}

static void fish_words(Text *t, const char *list) {
    Text all = { 0 };
    words(&all, list);
    text_add(t, " -a ");
    fish_quoted(t, all.at ? all.at : "");
    if (all.failed) t->failed = true;
    text_free(&all);
}

static void fish_option(Text *t, const OptionTable *table, const char *program,
                        const OptionRow *r) {
    fish_line(t, table, program, r->commands);
    if (option_is_joined(r)) {
        text_add(t, " -f -a '");
        spelled(t, r);
        text_add(t, "'");
    } else {
        text_add(t, r->name[1] ? " -l " : " -s ");
        fish_quoted(t, r->name);
        text_add(t,
                 takes_file(r)                                            ? " -r -F"
                     : r->kind == OPTION_IS_FLAG || option_is_optional(r) ? " -f"
                                                                          : " -x");
    }
    text_add(t, " -d ");
    fish_quoted(t, r->help);
    if (has_list(r)) fish_words(t, r->argument);
    text_add(t, "\n");
}

static void fish_script(Text *t, const OptionTable *table, const char *program) {
    for (int c = 0; c < table->commands; c++) {
        const CommandRow *row = &table->command[c];
        if (!is_shown(row)) continue;
        text_add(t, "complete -c ");
        fish_quoted(t, program);
        text_add(t, " -n __fish_use_subcommand -f");
        fish_words(t, row->name);
        text_add(t, " -d ");
        fish_quoted(t, row->summary);
        text_add(t, "\n");
        if (!*listed(row)) continue;
        fish_line(t, table, program, 1u << c);
        text_add(t, " -f");
        fish_words(t, listed(row));
        text_add(t, "\n");
    }
    for (int i = 0; i < table->options; i++)
        fish_option(t, table, program, &table->option[i]);
}

int options_completion(Text *t, const OptionTable *table, const char *program, const char *shell,
                       Error *e) {
    if (strcmp(shell, "bash") == 0) bash_script(t, table, program);
    else if (strcmp(shell, "zsh") == 0) zsh_script(t, table, program);
    else if (strcmp(shell, "fish") == 0) fish_script(t, table, program);
    else
        return error_set(e, STATUS_USAGE, "%s%scompletion: expected bash, zsh or fish, found '%s'",
                         table->title, *table->title ? " " : "", shell);
    return STATUS_OK;
}
