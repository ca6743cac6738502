/* SPDX-License-Identifier: MIT
** Every option of every command, alone: refused for want of what it needs, or one of those that
** stand alone; and those that say nothing beside another's value.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program_options.h"
#include "strata_options.h"

/* Options that say something without another one, or whose command looks itself: with the word
** behind it (tokenizer train), with a spec's routes, with a file that is read. */
static const struct {
    const char *command, *options;
} program_alone[] = {
    { "info", "D json" },
    { "train",
      "data tokenizer bos out steps minutes batch accumulate lr seed data-seed order init resume "
      "overwrite weights-only val val-share quiet save-every log dry-run tensorboard D threads" },
    { "eval", "data field weights tokenizer bos batch length rope beside D changed json threads" },
    { "generate",
      "weights tokenizer bos prompt max-tokens slide temperature top-k top-p min-p repeat-penalty "
      "stop samples seed draft D changed threads" },
    { "chat",
      "weights tokenizer bos max-tokens temperature top-k top-p min-p repeat-penalty seed draft "
      "template system D changed threads" },
    { "logits", "weights tokens out overwrite as-generated D changed threads" },
    { "gradients", "weights tokens out overwrite D changed threads" },
    { "bench", "batch length train prefill decode steps blas routed-share D json threads" },
    { "probe",
      "data field weights tokenizer bos before length tokens output D changed json threads" },
    { "score", "weights bos prefix D changed json threads" },
    { "completion", "" },
};

static const struct {
    const char *command, *options;
} strata_alone[] = {
    { "build",
      "o emit cpu target precision weights cache inference blas O two-phase chunk memory no-pass "
      "check no-kernel-cache prefix depfile overwrite D max-memory max-seconds" },
    { "check", "D max-memory max-seconds" },
    { "completion", "" },
    { "inspect",
      "precision weights cache blas no-pass graph passes folded kernels memory cost routed-share "
      "length header matrix json inference two-phase o cpu D max-memory max-seconds" },
    { "compare", "measure blas o json cpu D max-memory max-seconds" },
    { "import", "o keep residual route importer overwrite" },
    { "export", "weights to type check changed overwrite D max-memory max-seconds" },
    { "tokenizer", "vocab pattern special o json bare bos show-special field overwrite" },
    { "tokens", "bos o spec tokenizer field overwrite D" },
    { "weights", "o match changed overwrite D max-memory max-seconds" },
    { "quantize", "changed o weights spec overwrite D max-memory max-seconds" },
    { "init", "overwrite" },
    { "doctor", "measure" },
    { "run", "D max-memory max-seconds" },
};

/* Is 'name' one of the words? */
static bool holds(const char *words, const char *name) {
    size_t n = strlen(name);
    for (const char *at = words; (at = strstr(at, name)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

/* A value that the option takes; NULL: none is typed. */
static const char *value_of(const OptionRow *r, char to[64]) {
    static const char *const texts[] = { "1", "1.5", "0.5", "1G", "1000", "x", "a=b" };
    OptionValue any = { 0 };
    if (r->kind == OPTION_IS_FLAG || option_is_optional(r)) return NULL;
    snprintf(to, 64, "%.*s", (int)strcspn(r->argument, "|"), r->argument);
    if (r->kind == OPTION_IS_CHOICE) return to;
    if (r->kind == OPTION_IS_PAIR) return "a=b";
    if (r->kind == OPTION_IS_FILES) return "x";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (option_read(&any, r, texts[i])) {
            free(any.counts);
            return texts[i];
        }
    fail_msg("expected a value of %s", r->name);
    return NULL;
}

/* Types each option's words in 'word', at most 4. */
static int type(const OptionRow *r, char *word, char value[64], char *line[]) {
    const char *given = value_of(r, value);
    if (given && given != value) snprintf(value, 64, "%s", given);
    if (!given)
        return snprintf(word, 64, "%s%s", r->name[1] ? "--" : "-", r->name), line[0] = word, 1;
    if (option_is_joined(r)) return snprintf(word, 64, "-%s%s", r->name, value), line[0] = word, 1;
    snprintf(word, 64, "%s%s", r->name[1] ? "--" : "-", r->name);
    line[0] = word, line[1] = value;
    return 2;
}

/* The option alone; whether it is refused, by a message that names what it needs. */
static bool is_refused(const OptionTable *t, int command, const OptionRow *r) {
    char name[64], word[64], value[64], *line[4] = { name };
    Options o;
    Error e = { 0 };
    snprintf(name, sizeof name, "%s", t->command[command].name);
    int n = 1 + type(r, word, value, line + 1);
    if (t->command[command].words == ONE_WORD) line[n++] = (char *)"bash";
    if (options_parse(&o, t, n, line, &e)) fail_msg("%s %s: %s", name, word, e.text);
    bool refused = options_need(&o, &e) != 0;
    if (refused) {
        assert_int_equal(e.status, STATUS_USAGE);
        assert_non_null(strstr(e.text, ": expected -"));
        assert_non_null(strstr(e.text, " with it, found n"));
    }
    options_free(&o);
    return refused;
}

static void walk(const OptionTable *t, int command, const char *alone) {
    int counted = 0;
    for (int i = 0; i < t->options; i++) {
        const OptionRow *r = &t->option[i];
        if (!option_is_in(r, command)) continue;
        bool refused = is_refused(t, command, r), stands = holds(alone, r->name);
        if (refused == stands)
            fail_msg("%s --%s: expected what it needs in the table, or that it stands alone, "
                     "found %s",
                     t->command[command].name, r->name, refused ? "both" : "neither");
        counted += stands;
    }
    for (const char *at = alone; *at; at += strspn(at, " "), counted--)
        at += strcspn(at, " ");
    assert_int_equal(counted, 0); /* the list has no option that the command lacks */
}

static void programs(void **state) {
    (void)state;
    assert_int_equal(sizeof program_alone / sizeof *program_alone, COMMANDS);
    for (int c = 0; c < COMMANDS; c++) {
        assert_string_equal(program_alone[c].command, program_options.command[c].name);
        walk(&program_options, c, program_alone[c].options);
    }
}

static void strata(void **state) {
    (void)state;
    assert_int_equal(sizeof strata_alone / sizeof *strata_alone, STRATA_COMMANDS);
    for (int c = 0; c < STRATA_COMMANDS; c++) {
        assert_string_equal(strata_alone[c].command, strata_options.command[c].name);
        walk(&strata_options, c, strata_alone[c].options);
    }
}

/* A row for each command that it names, in which both options are; of a value that can be. */
static void rows_are_good(void **state) {
    (void)state;
    const OptionTable *const tables[] = { &program_options, &strata_options };
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < tables[k]->needs; i++) {
            const OptionNeed *n = &tables[k]->need[i];
            for (int c = 0; c < tables[k]->commands; c++) {
                if (!(n->commands >> c & 1)) continue;
                assert_true(option_is_in(&tables[k]->option[n->option], c));
                for (int j = 0; j < OPTION_OTHERS && n->other[j] >= 0; j++)
                    assert_true(option_is_in(&tables[k]->option[n->other[j]], c));
            }
            OptionValue v = { 0 };
            if (n->idle) assert_true(option_read(&v, &tables[k]->option[n->other[0]], n->idle));
        }
}

static const char *noted(const OptionTable *t, const char *words) {
    static char text[512], found[1024];
    char *word[32];
    int count = 0;
    Options o;
    Error e = { 0 };
    Text notes = { 0 };
    snprintf(text, sizeof text, "%s", words);
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
        word[count++] = w;
    assert_int_equal(options_parse(&o, t, count, word, &e), 0);
    options_idle(&o, &notes);
    snprintf(found, sizeof found, "%s", notes.at ? notes.at : "");
    text_free(&notes);
    options_free(&o);
    return found;
}

static void idle(void **state) {
    (void)state;
    assert_string_equal(noted(&program_options, "generate --temperature 0.0 --top-k 4 --seed 1"),
                        "note: generate: --top-k says nothing beside --temperature 0\n"
                        "note: generate: --seed says nothing beside --temperature 0\n");
    assert_string_equal(noted(&program_options, "generate --temperature 1e-9 --top-k 4"), "");
    assert_string_equal(noted(&program_options, "generate --temperature 0 --repeat-penalty 2"), "");
    assert_string_equal(noted(&program_options, "train --order sequential --data-seed 1"),
                        "note: train: --data-seed says nothing beside --order sequential\n");
    assert_string_equal(noted(&program_options, "train --data-seed 1"), "");
    assert_string_equal(noted(&strata_options, "build a.lua --prefix p"),
                        "note: strata build: --prefix says nothing beside --emit exe\n");
    assert_string_equal(noted(&strata_options, "build a.lua --prefix p --emit obj"), "");
}

static void any_of_several(void **state) {
    (void)state;
    static const char *const good[] = { "--val", "--val-share", "--resume" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char *line[] = { (char *)"train", (char *)"--no-best", (char *)good[i], (char *)"0.5" };
        Options o;
        Error e = { 0 };
        assert_int_equal(options_parse(&o, &program_options, i == 2 ? 3 : 4, line, &e), 0);
        assert_int_equal(options_need(&o, &e), 0);
        options_free(&o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs),      cmocka_unit_test(strata),         cmocka_unit_test(idle),
        cmocka_unit_test(rows_are_good), cmocka_unit_test(any_of_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
