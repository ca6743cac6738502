/* SPDX-License-Identifier: MIT
** What a shell offers at the cursor, computed from a table.  The first line names the kind:
** "words", "files", "folders", "specs" or "none".  For words, each further line is one word, which
** a tab and a description may follow.  Shells run "PROGRAM __complete WORD ..", where the last
** word is the one being typed (completion_scripts.c), and ignore lines that do not begin with it.
*/
#include "options.h"

#include <string.h>

typedef enum Wanted {
    WANTS_NOTHING,
    WANTS_LIST, /* one of those that the argument lists */
    WANTS_FILE,
    WANTS_FOLDER,
    WANTS_SPEC /* a .lua file, or a folder on the way to it */
} Wanted;

/* Where the cursor is. */
typedef struct Cursor {
    const OptionTable *table, *inner;
    int command; /* -1: none yet */
    int outer;   /* in an inner command line, the command of the table that took it; else -1 */
    int words;   /* of the command, in front of the cursor */
    int pending; /* an option whose value is expected; -1: none */
} Cursor;

/* == What is expected ===================================================== */

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

static Wanted wanted_value(const OptionRow *r) {
    bool file = r->kind == OPTION_IS_FILE || r->kind == OPTION_IS_FILES;
    if (r->kind == OPTION_IS_CHOICE) return WANTS_LIST;
    if (!file && r->kind != OPTION_IS_WORD) return WANTS_NOTHING;
    return wanted_of(r->argument);
}

/* A TEXT among a command's words is a file's name. */
static Wanted wanted_word(const char *argument) {
    return strncmp(argument, "TEXT", 4) == 0 ? WANTS_FILE : wanted_of(argument);
}

static Wanted wanted_rest(const CommandRow *c) {
    const char *last = c->arguments;
    if (c->words == ALL_WORDS) return WANTS_NOTHING;
    for (const char *s = last; (s = strchr(s, ' ')) != NULL && s[1] != '.';)
        last = ++s;
    bool repeats = strstr(last, "...") != NULL;
    return repeats || last != c->arguments ? wanted_word(last) : WANTS_NOTHING;
}

/* == The words in front of the cursor ===================================== */

static const OptionTable *table_of(const Cursor *c) { return c->outer < 0 ? c->table : c->inner; }

/* In front of an inner command stand those of the outer one that are NAME=VALUE. */
static bool takes(const Cursor *c, const OptionTable *t, const OptionRow *r) {
    if (c->command >= 0) return option_is_in(r, c->command) && t == table_of(c);
    return c->outer >= 0 && t == c->table && r->kind == OPTION_IS_PAIR && option_is_in(r, c->outer);
}

/* The table whose options are typed here. */
static const OptionTable *options_of(const Cursor *c) {
    return c->command < 0 && c->outer >= 0 ? c->table : table_of(c);
}

/* An option by its name or letter, in the first 'length' bytes of a word; -1: none that is taken
** here. */
static int completion_find_option(const Cursor *c, const char *word, size_t length) {
    const OptionTable *t = options_of(c);
    for (int i = 0; i < t->options; i++) {
        char name[32], letter[3] = { '-', option_letter(t, i), 0 };
        if (!takes(c, t, &t->option[i])) continue;
        option_name(name, &t->option[i]);
        bool same = strlen(name) == length && !memcmp(name, word, length);
        if (same || (letter[1] && length == 2 && !memcmp(letter, word, 2))) return i;
    }
    return -1;
}

static bool shows(const CommandRow *row) { return row->words != NOT_YET; }

static int find_command(const OptionTable *t, const char *word) {
    for (int i = 0; i < t->commands; i++)
        if (shows(&t->command[i]) && !strcmp(t->command[i].name, word)) return i;
    return t->commands;
}

static bool is_option(const char *word) { return word[0] == '-' && word[1]; }

/* The value of an option is the next word, or all up to the next option. */
static bool takes_next(const OptionRow *r) {
    return r->kind != OPTION_IS_FLAG && !option_is_joined(r) && !option_is_optional(r);
}

static void completion_pass(Cursor *c, const char *word) {
    if (c->pending >= 0) {
        bool many = options_of(c)->option[c->pending].kind == OPTION_IS_FILES;
        if (!many) c->pending = -1;
        if (!many || !is_option(word)) return;
        c->pending = -1;
    }
    if (is_option(word)) {
        c->pending = completion_find_option(c, word, strlen(word));
        if (c->pending >= 0 && !takes_next(&options_of(c)->option[c->pending])) c->pending = -1;
    } else if (c->command < 0) {
        c->command = find_command(table_of(c), word);
    } else if (c->outer < 0 && c->inner && c->command < c->table->commands
               && c->table->command[c->command].words == ALL_WORDS) {
        c->outer = c->command;
        c->command = -1;
        c->words = 0;
    } else {
        c->words++;
    }
}

/* == What is offered ====================================================== */

static void kind(Text *t, Wanted w) {
    static const char *const name[] = {
        [WANTS_NOTHING] = "none",   [WANTS_LIST] = "words", [WANTS_FILE] = "files",
        [WANTS_FOLDER] = "folders", [WANTS_SPEC] = "specs",
    };
    text_add(t, "%s\n", name[w]);
}

/* "a|b", up to a space, behind what is typed already. */
static void list(Text *t, const char *before, size_t length, const char *choices) {
    for (;; choices++) {
        size_t n = strcspn(choices, "| ");
        text_add(t, "%.*s%.*s\n", (int)length, before, (int)n, choices);
        choices += n;
        if (*choices != '|') return;
    }
}

static void expected(Text *t, Wanted w, const char *choices) {
    kind(t, w);
    if (w == WANTS_LIST) list(t, "", 0, choices);
}

static void offer_options(Text *t, const Cursor *c) {
    const OptionTable *of = options_of(c);
    kind(t, WANTS_LIST);
    for (int i = 0; i < of->options; i++) {
        const OptionRow *r = &of->option[i];
        char name[32];
        if (!takes(c, of, r)) continue;
        option_name(name, r);
        if (option_is_joined(r)) list(t, name, strlen(name), r->argument);
        else text_add(t, "%s\t%s\n", name, r->help);
    }
    text_add(t, "--help\t%s\n", c->command < 0 ? "commands" : "this command");
    if (c->command < 0 && c->outer < 0) text_add(t, "--version\twhich version this is\n");
}

static void offer_commands(Text *t, const OptionTable *of) {
    kind(t, WANTS_LIST);
    for (int i = 0; i < of->commands; i++)
        if (shows(&of->command[i]))
            text_add(t, "%s\t%s\n", of->command[i].name, of->command[i].summary);
}

/* "--name=va" */
static void offer_joined(Text *t, const Cursor *c, const char *word, size_t name) {
    int i = completion_find_option(c, word, name);
    const OptionRow *r = i < 0 ? NULL : &options_of(c)->option[i];
    Wanted w = r ? wanted_value(r) : WANTS_NOTHING;
    kind(t, w);
    if (w == WANTS_LIST) list(t, word, name + 1, option_argument(r));
}

static void completion_offer(Text *t, const Cursor *c, const char *word) {
    const OptionTable *of = options_of(c);
    const OptionRow *r = c->pending < 0 ? NULL : &of->option[c->pending];
    size_t name = strcspn(word, "=");
    if (r && !(r->kind == OPTION_IS_FILES && *word == '-')) {
        expected(t, wanted_value(r), option_argument(r));
    } else if (*word == '-' && word[name]) {
        offer_joined(t, c, word, name);
    } else if (*word == '-') {
        offer_options(t, c);
    } else if (c->command < 0) {
        offer_commands(t, table_of(c));
    } else if (c->command == table_of(c)->commands) {
        kind(t, WANTS_NOTHING);
    } else {
        const CommandRow *row = &table_of(c)->command[c->command];
        expected(t, c->words ? wanted_rest(row) : wanted_word(row->arguments), row->arguments);
    }
}

bool options_complete(Text *t, const OptionTable *table, const OptionTable *inner, int argc,
                      char **argv) {
    Cursor c = { table, inner, -1, -1, 0, -1 };
    if (argc < 2 || strcmp(argv[1], "__complete") != 0) return false;
    for (int i = 2; i < argc - 1; i++)
        completion_pass(&c, argv[i]);
    completion_offer(t, &c, argc > 2 ? argv[argc - 1] : "");
    return true;
}
