/* SPDX-License-Identifier: MIT
** Words of a command line that the table does not have: suggests what they may mean.
*/
#include "options.h"

#include "nearest.h"

#include <string.h>

static bool unknown_is_named(const OptionRow *r, const char *name, size_t n) {
    return strlen(r->name) == n && !strncmp(r->name, name, n);
}

/* The first of the names, with bars, that the command has; NULL: none. */
static const OptionRow *first_of(const Options *o, const char *names) {
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, "|");
        for (int i = 0; i < o->table->options; i++)
            if (option_is_in(&o->table->option[i], o->command)
                && unknown_is_named(&o->table->option[i], at, n))
                return &o->table->option[i];
        at += n + (at[n] == '|');
    }
    return NULL;
}

static const struct {
    const char *word, *options, *text;
} other_words[] = {
#define OTHER(word, options) { word, options, NULL },
#define SAID(word, with, text) { word, with, text },
#include "other_words.def"
};

/* What other programs call so; false: nothing does. */
static bool other_word(const Options *o, const char *word, char to[192]) {
    char name[32];
    for (size_t i = 0; i < sizeof other_words / sizeof *other_words; i++) {
        if (strcmp(word, other_words[i].word) != 0) continue;
        const OptionRow *r = first_of(o, other_words[i].options);
        if (!r && *other_words[i].options) continue;
        if (other_words[i].text) print_text(to, 192, "%s", other_words[i].text);
        else print_text(to, 192, "that is '%s' here", option_name(name, r));
        return true;
    }
    return false;
}

/* The only option of the command, or the shortest, that begins so. */
static const char *begun(const char *asked, const char *const *name, int n) {
    const char *found = NULL;
    size_t length = strlen(asked);
    if (length < 4) return NULL; /* "--" and two letters */
    for (int i = 0; i < n; i++)
        if (!strncmp(name[i], asked, length) && (!found || strlen(name[i]) < strlen(found)))
            found = name[i];
    return found;
}

/* --help and --version are meant only by words that are nearly them. */
static const char *nearly_asked(const char *asked) {
    if (name_distance(asked, "--help") <= 1) return "--help";
    return name_distance(asked, "--version") <= 1 ? "--version" : NULL;
}

int option_unknown(const Options *o, const char *word, const char *in, Error *e) {
    char text[OPTIONS_MOST][32], asked[64], other[192];
    const char *name[OPTIONS_MOST];
    int n = 0;
    for (int i = 0; i < o->table->options; i++)
        if (option_is_in(&o->table->option[i], o->command)) {
            name[n] = option_name(text[n], &o->table->option[i]);
            n++;
        }
    print_text(asked, sizeof asked, "%.*s", (int)strcspn(word, "="), word);
    const char *near = begun(asked, name, n);
    if (!near && other_word(o, asked + strspn(asked, "-"), other))
        return error_set(e, STATUS_USAGE, "%s: unknown option '%s'; %s", in, asked, other);
    if (!near) near = nearly_asked(asked);
    if (!near) near = nearest_name(asked, name, n);
    if (near)
        return error_set(e, STATUS_USAGE, "%s: unknown option '%s'; the nearest is '%s'", in, asked,
                         near);
    if (!n) return error_set(e, STATUS_USAGE, "%s: unknown option '%s'", in, asked);
    return error_set(e, STATUS_USAGE, "%s: unknown option '%s'; '%s --help' lists them", in, asked,
                     in);
}

static bool unknown_ends_in(const char *word, const char *end) {
    size_t n = strlen(word), k = strlen(end);
    return n > k && !strcmp(word + n - k, end);
}

int command_unknown(const OptionTable *t, const char *word, Error *e) {
    const char *name[COMMANDS_MOST], *mark = *t->title ? "'" : "";
    for (int i = 0; i < t->commands; i++)
        name[i] = t->command[i].name;
    const char *near = word ? nearest_name(word, name, t->commands) : NULL;
    if (!near && word && word[0] == '-') near = nearly_asked(word);
    char found[64] = "nothing", lists[128];
    if (word) print_text(found, sizeof found, "'%.60s'", word);
    print_text(lists, sizeof lists, "%s%s%s--help%s lists them", mark, t->title,
               *t->title ? " " : "", mark);
    if (word && *t->title && unknown_ends_in(word, ".lua"))
        print_text(lists, sizeof lists, "'%s build %.60s' compiles a spec", t->title, word);
    return error_set(e, STATUS_USAGE, "%s%sexpected a command, found %s; %s%s%s", t->title,
                     *t->title ? ": " : "", found, near ? "the nearest is '" : lists,
                     near ? near : "", near ? "'" : "");
}

int word_unexpected(const Options *o, const char *word, const char *in, Error *e) {
    char name[32];
    const OptionRow *r =
        first_of(o, unknown_ends_in(word, ".safetensors") ? "weights|init" : "data|prompt");
    if (!r && o->words)
        return error_set(e, STATUS_USAGE, "%s: expected one word, %s, found two, '%s' and '%s'", in,
                         o->table->command[o->command].arguments, o->word[0], word);
    if (!r) return error_set(e, STATUS_USAGE, "%s: expected an option, found '%s'", in, word);
    return error_set(e, STATUS_USAGE, "%s: expected an option, found '%s'; write %s %s", in, word,
                     option_name(name, r), word);
}
