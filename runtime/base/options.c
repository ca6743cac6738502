/*
** Parsing of the command line by options.def.  Strict: numbers are whole words in
** their range, an unknown option is an error that names the nearest known one.
**   --name VALUE, --name=VALUE; -o is --output; FILES takes all words up to the next option
*/
#include "options.h"

#include <stdlib.h>
#include <string.h>

const CommandRow command_table[COMMANDS] = {
#define COMMAND(id, name, positional, summary) [COMMAND_##id] = { name, positional, summary },
#include "options.def"
};

const OptionRow option_table[OPTIONS] = {
#define OPTION(id, name, kind, argument, low, high, initial, commands, help) \
    [OPTION_##id] = { name, OPTION_IS_##kind, argument, low, high, initial, commands, help },
#include "options.def"
};

/* Edits that turn one word into the other: Levenshtein, for words of at most 63 bytes. */
static int distance(const char *a, const char *b) {
    int row[64];
    size_t n = strlen(b);
    if (strlen(a) > 63 || n > 63) return 64;
    for (size_t j = 0; j <= n; j++)
        row[j] = (int)j;
    for (size_t i = 0; a[i]; i++) {
        int diagonal = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < n; j++) {
            int best = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (diagonal + 1 < best) best = diagonal + 1;
            row[j + 1] = best;
        }
    }
    return row[n];
}

const char *nearest_name(const char *word, const char *const *candidate, int count) {
    const char *best = NULL;
    int least = 1 + (int)strlen(word) / 3;
    for (int i = 0; i < count; i++) {
        int d = distance(word, candidate[i]);
        if (d <= least && (!best || d < least)) {
            best = candidate[i];
            least = d;
        }
    }
    return best;
}

static int unknown_command(const char *word, Error *e) {
    const char *name[COMMANDS];
    for (int i = 0; i < COMMANDS; i++)
        name[i] = command_table[i].name;
    const char *near = nearest_name(word, name, COMMANDS);
    if (near)
        return error_set(e, STATUS_USAGE, "expected a command, found '%s'; the nearest is '%s'",
                         word, near);
    return error_set(e, STATUS_USAGE, "expected a command, found '%s'; --help lists them", word);
}

static int unknown_option(CommandId command, const char *word, Error *e) {
    const char *name[OPTIONS + 2] = { "help", "version" };
    int n = 2;
    for (int i = 0; i < OPTIONS; i++)
        if (option_table[i].commands >> command & 1) name[n++] = option_table[i].name;
    const char *near = nearest_name(word, name, n), *in = command_table[command].name;
    if (near)
        return error_set(e, STATUS_USAGE, "%s: unknown option '--%s'; the nearest is '--%s'", in,
                         word, near);
    return error_set(e, STATUS_USAGE, "%s: unknown option '--%s'; '%s --help' lists them", in, word,
                     in);
}

static int bad_value(const char *where, const OptionRow *r, const char *text, Error *e) {
    char low[32], high[32];
    if (r->kind == OPTION_IS_NUMBER)
        return error_set(e, STATUS_USAGE, "%s--%s: expected a number from %s to %s, found '%s'",
                         where, r->name, print_double(low, r->low), print_double(high, r->high),
                         text);
    if (r->kind == OPTION_IS_CHOICE)
        return error_set(e, STATUS_USAGE, "%s--%s: expected %s, found '%s'", where, r->name,
                         r->argument, text);
    if (r->kind == OPTION_IS_SEED)
        return error_set(e, STATUS_USAGE, "%s--%s: expected an integer from 0 to %llu, found '%s'",
                         where, r->name, (unsigned long long)UINT64_MAX, text);
    return error_set(e, STATUS_USAGE, "%s--%s: expected %s from %lld to %lld, found '%s'", where,
                     r->name,
                     r->kind == OPTION_IS_COUNTS ? "integers separated by commas," : "an integer",
                     (long long)r->low, (long long)r->high, text);
}

static bool read_choice(const char *list, const char *text, int *choice) {
    size_t n = strlen(text);
    for (int i = 0;; i++) {
        size_t part = strcspn(list, "|");
        if (part == n && memcmp(list, text, n) == 0) {
            *choice = i;
            return true;
        }
        if (!list[part]) return false;
        list += part + 1;
    }
}

/* "128,256": every item a count in the row's range. */
static bool read_counts(OptionValue *v, const OptionRow *r, const char *text) {
    int items = 1;
    for (const char *s = text; *s; s++)
        items += *s == ',';
    free(v->counts);
    v->counts = calloc((size_t)items, sizeof *v->counts);
    v->length = 0;
    while (v->counts && v->length < items) {
        char word[32];
        size_t n = strcspn(text, ",");
        if (n >= sizeof word) return false;
        memcpy(word, text, n);
        word[n] = 0;
        if (!parse_int64(word, (int64_t)r->low, (int64_t)r->high, &v->counts[v->length++]))
            return false;
        text += n + 1;
    }
    return v->counts != NULL;
}

static int set_value(OptionValue *v, const OptionRow *r, const char *where, const char *text,
                     Error *e) {
    bool good = true;
    switch (r->kind) {
    case OPTION_IS_COUNT:
        good = parse_int64(text, (int64_t)r->low, (int64_t)r->high, &v->count);
        break;
    case OPTION_IS_SEED: good = parse_uint64(text, &v->seed); break;
    case OPTION_IS_NUMBER: good = parse_double(text, r->low, r->high, &v->number); break;
    case OPTION_IS_CHOICE: good = read_choice(r->argument, text, &v->choice); break;
    case OPTION_IS_COUNTS: good = read_counts(v, r, text); break;
    default: v->text = text; break;
    }
    if (good && r->kind == OPTION_IS_FILE && !*text)
        return error_set(e, STATUS_USAGE, "%s--%s: expected a file's name, found nothing", where,
                         r->name);
    return good ? STATUS_OK : bad_value(where, r, text, e);
}

static int add_file(OptionValue *v, const OptionRow *r, const char *where, const char *text,
                    Error *e) {
    if (!*text)
        return error_set(e, STATUS_USAGE, "%s--%s: expected a file's name, found nothing", where,
                         r->name);
    const char **more = realloc(v->list, (size_t)(v->length + 1) * sizeof *more);
    if (!more) return error_memory(e, "arguments", (size_t)(v->length + 1) * sizeof *more);
    v->list = more;
    v->list[v->length++] = text;
    return STATUS_OK;
}

static int find_option(CommandId command, const char *name, size_t length) {
    for (int i = 0; i < OPTIONS; i++)
        if ((option_table[i].commands >> command & 1) && strlen(option_table[i].name) == length
            && memcmp(option_table[i].name, name, length) == 0)
            return i;
    return OPTIONS;
}

/* One option at argv[i]; *used words are consumed. */
static int parse_option(Options *o, int argc, char **argv, int i, int *used, Error *e) {
    const char *name = strcmp(argv[i], "-o") == 0 ? "output" : argv[i] + 2,
               *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    char where[32];
    print_text(where, sizeof where, "%s: ", command_table[o->command].name);
    int id = find_option(o->command, name, length);
    if (id == OPTIONS) {
        char word[64];
        print_text(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), name);
        return unknown_option(o->command, word, e);
    }
    const OptionRow *r = &option_table[id];
    OptionValue *v = &o->value[id];
    v->given = true;
    *used = 1;
    if (r->kind == OPTION_IS_FLAG)
        return equals ? error_set(e, STATUS_USAGE, "%s--%s: expected no value, found '%s'", where,
                                  r->name, equals + 1)
                      : STATUS_OK;
    if (equals)
        return r->kind == OPTION_IS_FILES ? add_file(v, r, where, equals + 1, e)
                                          : set_value(v, r, where, equals + 1, e);
    const char *next = i + 1 < argc ? argv[i + 1] : NULL;
    if (!next || (strncmp(next, "--", 2) == 0 && next[2]))
        return error_set(e, STATUS_USAGE, "%s--%s: expected %s, found %s%s", where, r->name,
                         r->argument, next ? next : "nothing",
                         next && r->kind == OPTION_IS_TEXT ? "; write --prompt=TEXT" : "");
    if (r->kind != OPTION_IS_FILES) {
        *used = 2;
        return set_value(v, r, where, next, e);
    }
    int status = STATUS_OK;
    for (; !status && i + *used < argc && strncmp(argv[i + *used], "--", 2) != 0
         && strcmp(argv[i + *used], "-o") != 0;
         ++*used)
        status = add_file(v, r, where, argv[i + *used], e);
    return status;
}

static int set_initial(Options *o, Error *e) {
    for (int i = 0; i < OPTIONS; i++)
        if (option_table[i].initial[0]) {
            int status = set_value(&o->value[i], &option_table[i], "", option_table[i].initial, e);
            if (status)
                return error_set(e, STATUS_INTERNAL, "--%s: its initial value is wrong",
                                 option_table[i].name);
        }
    return STATUS_OK;
}

/* --help and --version win wherever they stand; -h too. */
static bool asked(int argc, char **argv, const char *option, const char *shorter) {
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], option) == 0 || (shorter && strcmp(argv[i], shorter) == 0)) return true;
    return false;
}

static int parse_words(Options *o, int argc, char **argv, Error *e) {
    const CommandRow *c = &command_table[o->command];
    for (int i = 0, used = 1; i < argc; i += used, used = 1) {
        if ((strncmp(argv[i], "--", 2) == 0 && argv[i][2]) || strcmp(argv[i], "-o") == 0) {
            int status = parse_option(o, argc, argv, i, &used, e);
            if (status) return status;
        } else if (*c->positional && !o->positional) {
            o->positional = argv[i];
        } else {
            return error_set(e, STATUS_USAGE, "%s: expected an option, found '%s'", c->name,
                             argv[i]);
        }
    }
    if (*c->positional && !o->positional)
        return error_set(e, STATUS_USAGE, "%s: expected %s, found nothing", c->name, c->positional);
    return STATUS_OK;
}

int options_parse(Options *o, int argc, char **argv, Error *e) {
    *o = (Options){ .command = COMMANDS };
    int status = set_initial(o, e);
    if (status) return status;
    int first = argc > 0 && (strcmp(argv[0], "help") == 0);
    o->help = first || asked(argc, argv, "--help", "-h");
    o->version = asked(argc, argv, "--version", NULL);
    const char *word = first < argc ? argv[first] : NULL;
    for (int i = 0; word && i < COMMANDS; i++)
        if (strcmp(word, command_table[i].name) == 0) o->command = (CommandId)i;
    if (o->command == COMMANDS && word && word[0] != '-') return unknown_command(word, e);
    if (o->help || o->version) return STATUS_OK;
    if (o->command == COMMANDS)
        return word
            ? error_set(e, STATUS_USAGE, "expected a command before '%s'; --help lists them", word)
            : error_set(e, STATUS_USAGE, "expected a command, found nothing; --help lists them");
    return parse_words(o, argc - 1, argv + 1, e);
}

void options_free(Options *o) {
    for (int i = 0; i < OPTIONS; i++) {
        free(o->value[i].list);
        free(o->value[i].counts);
        o->value[i].list = NULL;
        o->value[i].counts = NULL;
    }
}

int options_require(const Options *o, OptionId id, Error *e) {
    if (o->value[id].given) return STATUS_OK;
    return error_set(e, STATUS_USAGE, "%s: expected --%s %s, found nothing",
                     command_table[o->command].name, option_table[id].name,
                     option_table[id].argument);
}
