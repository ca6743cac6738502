/* SPDX-License-Identifier: MIT
** Parsing of a command line by a table.  Strict: numbers are whole words in their
** range, an unknown option is an error that names the nearest known one.
**   --name VALUE, --name=VALUE; -n VALUE; FILES takes all words up to the next option
*/
#include "options.h"

#include <stdlib.h>
#include <string.h>

/* == Messages ============================================================= */

/* "TITLE COMMAND": where a mistake is. */
const char *option_place(char to[64], const OptionTable *t, int command) {
    print_text(to, 64, "%s%s%s", t->title, *t->title ? " " : "", t->command[command].name);
    return to;
}

/* "a whole number", of what the option's name says if that is a plural: "of steps". */
static int whole_number(char to[192], const OptionRow *r) {
    const char *dash = strrchr(r->name, '-'), *noun = dash ? dash + 1 : r->name;
    size_t n = strlen(noun);
    bool plural = n > 1 && noun[n - 1] == 's';
    return print_text(to, 192, "a whole number%s%s", plural ? " of " : "", plural ? noun : "");
}

static bool is_whole(const char *text) {
    return *text && !text[strspn(text + (*text == '-'), "0123456789") + (*text == '-')];
}

/* What an option takes, as messages say it: the range where 'text' is outside of it. */
static void options_wanted(char to[192], const OptionRow *r, const char *text) {
    char low[32], high[32];
    double any;
    int n;
    switch (r->kind) {
    case OPTION_IS_NUMBER:
        n = print_text(to, 192, "a number");
        if (parse_double(text, -__builtin_inf(), __builtin_inf(), &any))
            print_text(to + n, 192 - (size_t)n, " from %s to %s", print_double(low, r->low),
                       print_double(high, r->high));
        break;
    case OPTION_IS_SIZE:
        print_text(to, 192, "a size from %lldM to %lldG, such as 500M", (long long)r->low >> 20,
                   (long long)r->high >> 30);
        break;
    case OPTION_IS_SEED:
    case OPTION_IS_COUNT:
        n = whole_number(to, r);
        if (!is_whole(text)) break;
        if (r->kind == OPTION_IS_SEED)
            print_text(to + n, 192 - (size_t)n, " from 0 to %llu", (unsigned long long)UINT64_MAX);
        else
            print_text(to + n, 192 - (size_t)n, " from %lld to %lld", (long long)r->low,
                       (long long)r->high);
        break;
    case OPTION_IS_COUNTS:
        print_text(to, 192, "whole numbers separated by commas, from %lld to %lld",
                   (long long)r->low, (long long)r->high);
        break;
    case OPTION_IS_FILE:
    case OPTION_IS_FILES:
        print_text(to, 192, strncmp(option_argument(r), "TEXT", 4) ? "a file's name" : "a text");
        break;
    default: print_text(to, 192, "%s", option_argument(r)); break;
    }
}

static int bad_value(const Options *o, const OptionRow *r, const char *text, Error *e) {
    char in[64], name[32], what[192];
    options_wanted(what, r, text);
    bool file = r->kind == OPTION_IS_FILE || r->kind == OPTION_IS_FILES;
    option_place(in, o->table, o->command);
    option_name(name, r);
    if (file || r->kind == OPTION_IS_WORD)
        return error_set(e, STATUS_USAGE, "%s: %s: expected %s, found %s", in, name, what,
                         file ? "nothing" : "an empty word");
    return error_set(e, STATUS_USAGE, "%s: %s: expected %s, found '%s'", in, name, what, text);
}

static int no_value(const Options *o, const OptionRow *r, const char *next, Error *e) {
    char in[64], name[32], write[64] = "";
    option_name(name, r);
    if (next && r->kind == OPTION_IS_TEXT)
        print_text(write, sizeof write, "; write %s=%s", name, r->argument);
    return error_set(e, STATUS_USAGE, "%s: %s: expected %s, found %s%s",
                     option_place(in, o->table, o->command), name, option_argument(r),
                     next ? next : "nothing", write);
}

/* == Values =============================================================== */

/* "width=64" */
static bool is_pair(const char *text) {
    const char *mark = strchr(text, '=');
    return mark && mark > text && strlen(text) <= OPTION_PAIR;
}

static int add_word_to(OptionValue *v, const char *text, Error *e) {
    const char **more = realloc(v->list, (size_t)(v->length + 1) * sizeof *more);
    if (!more) return error_memory(e, "arguments", (size_t)(v->length + 1) * sizeof *more);
    v->list = more;
    v->list[v->length++] = text;
    return STATUS_OK;
}

static int options_take(Options *o, int option, const char *text, Error *e) {
    const OptionRow *r = &o->table->option[option];
    OptionValue *v = &o->value[option];
    bool list = r->kind == OPTION_IS_FILES || r->kind == OPTION_IS_PAIR;
    if (list
        && (r->kind == OPTION_IS_PAIR ? is_pair(text) && v->length < OPTION_PAIRS : *text != 0))
        return add_word_to(v, text, e);
    return !list && option_read(v, r, text) ? STATUS_OK : bad_value(o, r, text, e);
}

/* == Words ================================================================ */

static bool is_option(const char *word) { return word[0] == '-' && word[1]; }

/* The option of the command that "-w" stands for; t->options: none. */
static int find_letter(const Options *o, const char *word) {
    const OptionTable *t = o->table;
    bool short_name = word[0] == '-' && word[1] && !word[2];
    for (int i = 0; short_name && i < t->letters; i++)
        if (t->letter[i].letter == word[1]
            && option_is_in(&t->option[t->letter[i].option], o->command))
            return t->letter[i].option;
    return t->options;
}

/* Is 'word' this option?  *value: what is joined to it, NULL where nothing is. */
static bool options_is_row(const OptionRow *r, const char *word, const char **value) {
    size_t n = strlen(r->name), dashes = n > 1 ? 2 : 1;
    if (strncmp(word, "--", dashes) != 0 || strncmp(word + dashes, r->name, n) != 0) return false;
    const char *rest = word + dashes + n;
    *value = NULL;
    if (!*rest) return true;
    if (n == 1) *value = r->kind == OPTION_IS_CHOICE || r->kind == OPTION_IS_PAIR ? rest : NULL;
    else *value = *rest == '=' ? rest + 1 : NULL;
    return *value != NULL;
}

/* An option whose name is one letter: "-D", "-DNAME=VALUE".  A text may begin like the latter. */
static bool options_is_letter(const Options *o, const char *word) {
    const char *value;
    for (int i = 0; i < o->table->options; i++) {
        const OptionRow *r = &o->table->option[i];
        if (!r->name[1] && option_is_in(r, o->command) && options_is_row(r, word, &value)
            && (!value || (r->kind == OPTION_IS_PAIR && strchr(value, '='))))
            return true;
    }
    return find_letter(o, word) < o->table->options;
}

/* Ends the words of an option that takes several, and is no option's value. */
static bool ends_words(const Options *o, const char *word) {
    return strncmp(word, "--", 2) == 0 || options_is_letter(o, word);
}

static int find_option_options(const Options *o, const char *word, const char **value) {
    const OptionTable *t = o->table;
    int by_letter = find_letter(o, word);
    *value = NULL;
    if (by_letter < t->options) return by_letter;
    for (int i = 0; i < t->options; i++)
        if (option_is_in(&t->option[i], o->command) && options_is_row(&t->option[i], word, value))
            return i;
    return t->options;
}

/* One option at o->argv[i]; *used words are consumed. */
static int parse_option(Options *o, int i, int *used, Error *e) {
    const char *value;
    int id = find_option_options(o, o->argv[i], &value);
    char in[64], name[32];
    if (id == o->table->options)
        return option_unknown(o, o->argv[i], option_place(in, o->table, o->command), e);
    const OptionRow *r = &o->table->option[id];
    o->value[id].given = i + 1;
    if (r->kind == OPTION_IS_FLAG)
        return value
            ? error_set(e, STATUS_USAGE, "%s: %s: expected no value, found '%s'",
                        option_place(in, o->table, o->command), option_name(name, r), value)
            : STATUS_OK;
    if (value) return options_take(o, id, value, e);
    if (option_is_optional(r)) return STATUS_OK;
    const char *next = i + 1 < o->argc && !option_is_joined(r) ? o->argv[i + 1] : NULL;
    if (!next || (ends_words(o, next) && strcmp(next, "--") != 0)) return no_value(o, r, next, e);
    int status = options_take(o, id, next, e);
    for (*used = 2; !status && r->kind == OPTION_IS_FILES && i + *used < o->argc
         && !ends_words(o, o->argv[i + *used]);
         ++*used)
        status = options_take(o, id, o->argv[i + *used], e);
    return status;
}

static int set_initial(Options *o, Error *e) {
    for (int i = 0; i < o->table->options; i++) {
        const OptionRow *r = &o->table->option[i];
        if (r->initial[0] && !option_read(&o->value[i], r, r->initial))
            return error_set(e, STATUS_INTERNAL, "--%s: its initial value is wrong", r->name);
    }
    return STATUS_OK;
}

/* --help and --version win wherever they stand among our own words; -h too. */
static bool asked(int argc, char **argv, const char *option, const char *shorter) {
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], option) == 0 || (shorter && strcmp(argv[i], shorter) == 0)) return true;
    return false;
}

static int options_add_word(Options *o, char *word, Error *e) {
    CommandWords takes = o->table->command[o->command].words;
    char in[64];
    if (takes == NO_WORDS || (takes == ONE_WORD && o->words))
        return word_unexpected(o, word, option_place(in, o->table, o->command), e);
    o->word[o->words++] = word;
    return STATUS_OK;
}

static int parse_words(Options *o, Error *e) {
    const CommandRow *c = &o->table->command[o->command];
    char in[64];
    option_place(in, o->table, o->command);
    if (c->words == NOT_YET) return error_set(e, STATUS_USER, "%s: not in this version", in);
    size_t bytes = (size_t)(o->argc + 1) * sizeof *o->word;
    o->word = calloc(1, bytes);
    if (!o->word) return error_memory(e, "arguments", bytes);
    for (int i = 0, used = 1; i < o->argc; i += used, used = 1) {
        bool option = (c->words != ALL_WORDS || !o->words) && is_option(o->argv[i]);
        int status = option ? parse_option(o, i, &used, e) : options_add_word(o, o->argv[i], e);
        if (status) return status;
    }
    if (c->words == ONE_WORD && !o->words)
        return error_set(e, STATUS_USAGE, "%s: expected %s, found nothing", in, c->arguments);
    return STATUS_OK;
}

/* Where the words of another program's command begin, after a first word and options: the options
** behind it are that program's. */
static int passed_on(const Options *o) {
    const OptionTable *t = o->table;
    bool passes = o->command < t->commands && t->command[o->command].words == ALL_WORDS;
    for (int i = 0, words = 0; passes && i < o->argc; i++) {
        const char *value;
        if (!is_option(o->argv[i])) {
            if (words++) return i;
            continue;
        }
        int id = find_option_options(o, o->argv[i], &value);
        i += id < t->options && t->option[id].kind != OPTION_IS_FLAG && !value;
    }
    return o->argc;
}

/* Is 'word' an option of some command? */
static bool is_known(const OptionTable *t, const char *word) {
    const char *value;
    for (int i = 0; i < t->options; i++)
        if (options_is_row(&t->option[i], word, &value)) return true;
    return false;
}

int options_parse(Options *o, const OptionTable *table, int argc, char **argv, Error *e) {
    *o = (Options){ .table = table, .command = table->commands };
    int status = set_initial(o, e);
    if (status) return status;
    int first = argc > 0 && strcmp(argv[0], "help") == 0;
    const char *word = first < argc ? argv[first] : NULL;
    for (int i = 0; word && i < table->commands; i++)
        if (strcmp(word, table->command[i].name) == 0) o->command = i;
    bool none = o->command == table->commands;
    if (none && word && word[0] != '-') return command_unknown(table, word, e);
    if (!none) o->argc = argc - first - 1, o->argv = argv + first + 1;
    int own = none ? argc : first + 1 + passed_on(o);
    o->help = first || asked(own, argv, "--help", "-h");
    o->version = asked(own, argv, "--version", NULL);
    if (o->help || o->version) return STATUS_OK;
    if (none && word && is_known(table, word))
        return error_set(e, STATUS_USAGE, "%s%sexpected a command before '%s'; --help lists them",
                         table->title, *table->title ? ": " : "", word);
    if (none) return command_unknown(table, word, e);
    return parse_words(o, e);
}

void options_free(Options *o) {
    for (int i = 0; i < OPTIONS_MOST; i++) {
        free(o->value[i].list);
        free(o->value[i].counts);
        o->value[i].list = NULL;
        o->value[i].counts = NULL;
    }
    free(o->word);
    o->word = NULL;
}

int options_require(const Options *o, int option, Error *e) {
    const OptionRow *r = &o->table->option[option];
    char in[64], name[32];
    if (o->value[option].given) return STATUS_OK;
    return error_set(e, STATUS_USAGE, "%s: expected %s %s, found nothing",
                     option_place(in, o->table, o->command), option_name(name, r), r->argument);
}
