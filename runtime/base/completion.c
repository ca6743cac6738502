/* SPDX-License-Identifier: MIT
** Completion scripts from a table: what is completed where, and its text for shells.  Each
** shell has a file of its own.
*/
#include "completion.h"

#include <string.h>

/* == Text for shells ====================================================== */

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
        || strchr("-_./=+", c) || c & 0x80;
}

void completion_function(Text *t, const char *program) {
    text_add(t, "_strata_");
    for (const char *s = program; *s; s++)
        text_add(t, "%c", is_plain(*s) && !strchr("-./=+", *s) && !(*s & 0x80) ? *s : '_');
}

void completion_within_quotes(Text *t, const char *s, size_t length) {
    for (; length--; s++) {
        if (*s == '\'') text_add(t, "'\\''");
        else text_bytes(t, s, 1);
    }
}

void completion_quoted(Text *t, const char *s) {
    text_add(t, "'");
    completion_within_quotes(t, s, strlen(s));
    text_add(t, "'");
}

void completion_word(Text *t, const char *s, size_t length) {
    for (; length--; s++) {
        if (!is_plain(*s)) text_add(t, "\\");
        text_bytes(t, s, 1);
    }
}

void completion_words(Text *t, const char *list) {
    for (;; list++) {
        size_t n = strcspn(list, "| ");
        completion_word(t, list, n);
        list += n;
        if (*list != '|') return;
        text_add(t, " ");
    }
}

void completion_quoted_words(Text *t, const char *list) {
    Text all = { 0 };
    completion_words(&all, list);
    if (all.failed) t->failed = true;
    completion_within_quotes(t, all.at ? all.at : "", all.length);
    text_free(&all);
}

static void quoted_word(Text *t, const char *word) {
    Text one = { 0 };
    completion_word(&one, word, strlen(word));
    if (one.failed) t->failed = true;
    completion_within_quotes(t, one.at ? one.at : "", one.length);
    text_free(&one);
}

/* == What is completed ==================================================== */

/* Of an argument as --help has it: "SPEC", "[DIR]", "DIR|FILE", "list|strip". */
static Wanted wanted_of(const char *argument) {
    size_t n = strcspn(argument, " ");
    char word[64];
    print_text(word, sizeof word, "%.*s", (int)n, argument + (*argument == '['));
    if (strstr(word, "SPEC") || strstr(word, ".lua")) return WANTS_SPEC;
    if (strstr(word, "FILE")) return WANTS_FILE;
    if (strchr(word, '|')) return WANTS_LIST;
    return strncmp(word, "DIR", 3) == 0 ? WANTS_FOLDER : WANTS_NOTHING;
}

Wanted completion_value(const OptionRow *r) {
    bool file = r->kind == OPTION_IS_FILE || r->kind == OPTION_IS_FILES;
    if (r->kind == OPTION_IS_CHOICE) return option_is_joined(r) ? WANTS_NOTHING : WANTS_LIST;
    if (!file && r->kind != OPTION_IS_WORD) return WANTS_NOTHING;
    return wanted_of(r->argument);
}

bool completion_takes_value(const OptionRow *r) {
    return r->kind != OPTION_IS_FLAG && !option_is_joined(r);
}

/* A TEXT among a command's words is a file's name. */
static Wanted wanted_word(const char *argument) {
    return strncmp(argument, "TEXT", 4) == 0 ? WANTS_FILE : wanted_of(argument);
}

Wanted completion_first(const CommandRow *c) { return wanted_word(c->arguments); }

Wanted completion_rest(const CommandRow *c) {
    const char *last = c->arguments;
    if (c->words == ALL_WORDS) return WANTS_NOTHING;
    for (const char *s = last; (s = strchr(s, ' ')) != NULL && s[1] != '.';)
        last = ++s;
    bool repeats = strstr(last, "...") != NULL;
    return repeats || last != c->arguments ? wanted_word(last) : WANTS_NOTHING;
}

bool completion_shows(const CommandRow *c) { return c->words != NOT_YET; }

void completion_option(Text *t, const OptionTable *table, int option) {
    const OptionRow *r = &table->option[option];
    char name[32], letter = option_letter(table, option);
    option_name(name, r);
    if (!option_is_joined(r)) {
        if (letter) text_add(t, "-%c ", letter);
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

void completion_commands(Text *t, const OptionTable *table) {
    for (int c = 0; c < table->commands; c++)
        if (completion_shows(&table->command[c])) {
            quoted_word(t, table->command[c].name);
            text_add(t, " ");
        }
    text_add(t, "--help --version");
}

/* Where a program's words stand behind a spec, there its command line begins. */
static int levels(CompletionLevel level[2], const OptionTable *table, const OptionTable *inner) {
    level[0] = (CompletionLevel){ table, "", -1 };
    for (int c = 0; inner && c < table->commands; c++)
        if (table->command[c].words == ALL_WORDS) {
            level[0].outer = c;
            level[1] = (CompletionLevel){ inner, "", -1 };
            print_text(level[1].prefix, sizeof level[1].prefix, "%s/", table->command[c].name);
            return 2;
        }
    return 1;
}

int options_completion(Text *t, const OptionTable *table, const OptionTable *inner,
                       const char *program, const char *shell, Error *e) {
    static const struct {
        const char *shell;
        void (*script)(Text *t, const Completion *c);
    } scripts[] = {
        { "bash", completion_bash },
        { "zsh", completion_zsh },
        { "fish", completion_fish },
    };
    Completion c = { .program = program };
    c.levels = levels(c.level, table, inner);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (strcmp(shell, scripts[i].shell) == 0) {
            scripts[i].script(t, &c);
            return STATUS_OK;
        }
    return error_set(e, STATUS_USAGE, "%s%scompletion: expected bash, zsh or fish, found '%s'",
                     table->title, *table->title ? " " : "", shell);
}
