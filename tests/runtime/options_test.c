/* SPDX-License-Identifier: MIT
** Command lines: the tables of programs and of the compiler, strict values, messages and help.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nearest.h"
#include "program_options.h"
#include "strata_options.h"

static int parse_by(const OptionTable *table, Options *o, const char *words, Error *e) {
    static char text[512];
    char *word[32];
    int count = 0;
    *e = (Error){ 0 };
    snprintf(text, sizeof text, "%s", words);
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
        word[count++] = w;
    return options_parse(o, table, count, word, e);
}

static int parse(Options *o, const char *words, Error *e) {
    return parse_by(&program_options, o, words, e);
}

static int parse_strata(Options *o, const char *words, Error *e) {
    return parse_by(&strata_options, o, words, e);
}

static void values(void **state) {
    (void)state;
    Options o;
    Error e;
    assert_int_equal(
        parse(&o,
              "train --data a b --steps=7 --lr 1e-3 --seed 18446744073709551615 --order sequential "
              "--data c --resume",
              &e),
        0);
    assert_int_equal(o.command, COMMAND_TRAIN);
    assert_int_equal(o.value[OPTION_DATA].length, 3);
    assert_string_equal(o.value[OPTION_DATA].list[2], "c");
    assert_int_equal(o.value[OPTION_STEPS].count, 7);
    assert_true(o.value[OPTION_LR].number == 1e-3);
    assert_true(o.value[OPTION_SEED].seed == UINT64_MAX);
    assert_int_equal(o.value[OPTION_ORDER].choice, 1);
    assert_true(o.value[OPTION_RESUME].given);
    assert_false(o.value[OPTION_SAVE_EVERY].given);
    assert_int_equal(o.value[OPTION_SAVE_EVERY].count, 100);
    options_free(&o);
    assert_int_equal(parse(&o, "eval --length 1,22,333", &e), 0);
    assert_int_equal(o.value[OPTION_LENGTH].length, 3);
    assert_int_equal(o.value[OPTION_LENGTH].counts[2], 333);
    options_free(&o);
    assert_int_equal(parse(&o, "generate --prompt - --seed 3", &e), 0);
    assert_string_equal(o.value[OPTION_PROMPT].text, "-");
    assert_int_equal(o.value[OPTION_DRAW].seed, 3);
    options_free(&o);
}

/* Short names are their options', and end the words of another one. */
static void short_names(void **state) {
    (void)state;
    Options o;
    Error e;
    assert_int_equal(parse(&o, "generate --stop a b -w W -p hello", &e), 0);
    assert_string_equal(o.value[OPTION_WEIGHTS].text, "W");
    assert_string_equal(o.value[OPTION_PROMPT].text, "hello");
    assert_int_equal(o.value[OPTION_STOP].length, 2);
    options_free(&o);
    static const char *const lines[] = { "train --data a b -D w=3", "train --data a b -Dw=3",
                                         "train -D w=3 --data a b",
                                         "train --data a b -D w=3 --resume" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(parse(&o, lines[i], &e), 0);
        assert_int_equal(o.value[OPTION_DATA].length, 2);
        assert_int_equal(o.value[OPTION_DEFINE].length, 1);
        assert_string_equal(o.value[OPTION_DEFINE].list[0], "w=3");
        options_free(&o);
    }
    assert_int_equal(parse(&o, "generate --stop a -Dog -w W", &e), 0);
    assert_int_equal(o.value[OPTION_STOP].length, 2);
    options_free(&o);
    Text t = { 0 };
    options_help(&t, &program_options, "m", COMMAND_GENERATE);
    assert_non_null(strstr(t.at, "\n  -w, --weights FILE  "));
    assert_non_null(strstr(t.at, "\n  -p, --prompt TEXT  "));
    text_free(&t);
}

static void strata_values(void **state) {
    (void)state;
    Options o;
    Error e;
    assert_int_equal(parse_strata(&o, "build a.lua --emit=ir -O3 --cpu x86-64-v3 -o out", &e), 0);
    assert_int_equal(o.command, STRATA_COMMAND_BUILD);
    assert_int_equal(o.words, 1);
    assert_string_equal(o.word[0], "a.lua");
    assert_null(o.word[1]);
    assert_int_equal(o.value[STRATA_OPTION_EMIT].choice, 4);
    assert_int_equal(o.value[STRATA_OPTION_LEVEL].choice, 3);
    assert_string_equal(o.value[STRATA_OPTION_CPU].text, "x86-64-v3");
    assert_string_equal(o.value[STRATA_OPTION_OUTPUT].text, "out");
    assert_string_equal(o.value[STRATA_OPTION_KEEP].text, "auto");
    options_free(&o);
    assert_int_equal(parse_strata(&o, "inspect --memory a.lua", &e), 0);
    assert_true(o.value[STRATA_OPTION_MEMORY].given);
    assert_null(o.value[STRATA_OPTION_MEMORY].text);
    assert_string_equal(o.word[0], "a.lua");
    options_free(&o);
    assert_int_equal(parse_strata(&o, "inspect a.lua --cost --memory=fast", &e), 0);
    assert_string_equal(o.value[STRATA_OPTION_MEMORY].text, "fast");
    assert_true(o.value[STRATA_OPTION_COST].given < o.value[STRATA_OPTION_MEMORY].given);
    options_free(&o);
    assert_int_equal(parse_strata(&o, "run a.lua train --steps 3", &e), 0);
    assert_int_equal(o.words, 4);
    assert_string_equal(o.word[2], "--steps");
    options_free(&o);
    assert_int_equal(parse_strata(&o, "run --max-memory 500M a.lua train --max-seconds 3", &e), 0);
    assert_int_equal(o.words, 4);
    assert_int_equal(o.value[STRATA_OPTION_MAX_MEMORY].count, 500 << 20);
    assert_int_equal(o.value[STRATA_OPTION_MAX_SECONDS].count, 600);
    options_free(&o);
    assert_int_equal(parse_strata(&o, "compare a b --rounds 5", &e), 0);
    assert_int_equal(o.words, 2);
    assert_int_equal(o.value[STRATA_OPTION_ROUNDS].count, 5);
    options_free(&o);
}

typedef struct Mistake {
    const char *words;
    int status;
    const char *says;
} Mistake;

static void check_mistakes(const OptionTable *table, const Mistake *row, int rows) {
    for (int i = 0; i < rows; i++) {
        Options o;
        Error e;
        int status = parse_by(table, &o, row[i].words, &e);
        if (status != row[i].status || e.status != status || !strstr(e.text, row[i].says))
            fail_msg("'%s' gave %d, '%s'", row[i].words, status, e.text);
        options_free(&o);
    }
}

static void mistakes(void **state) {
    (void)state;
    static const Mistake row[] = {
        { "", 2, "expected a command, found nothing" },
        { "tran", 2, "nearest is 'train'" },
        { "frobnicate", 2, "--help lists them" },
        { "--data x", 2, "expected a command before '--data'" },
        { "train --stesp 3", 2, "nearest is '--steps'" },
        { "generate --temp 1", 2, "nearest is '--temperature'" },
        { "eval --temp 1", 2, "'eval --help' lists them" },
        { "train --zzzzzzzz 3", 2, "lists them" },
        { "train --temperature 1", 2, "unknown option '--temperature'" },
        { "train x", 2, "expected an option, found 'x'" },
        { "train --steps", 2, "--steps: expected N, found nothing" },
        { "train --steps --resume", 2, "found --resume" },
        { "train --steps 1e3", 2, "expected a whole number of steps, found '1e3'" },
        { "train --steps -1", 2, "found '-1'" },
        { "train --steps 3x", 2, "found '3x'" },
        { "train --batch 0", 2, "from 1 to 1048576, found '0'" },
        { "train --batch 99999999999999999999", 2, "found '99999999999999999999'" },
        { "train --lr nan", 2, "expected a number" },
        { "train --lr 0x1p3", 2, "expected a number" },
        { "train --lr 1,5", 2, "expected a number" },
        { "train --seed -1", 2, "18446744073709551615" },
        { "train --order up", 2, "expected random|sequential|shuffled, found 'up'" },
        { "train --val-share 1", 2, "--val-share: expected a number" },
        { "train --resume=yes", 2, "expected no value, found 'yes'" },
        { "train --out=", 2, "expected a file's name, found nothing" },
        { "eval --length 1,,2", 2, "whole numbers separated by commas" },
        { "eval --length 0", 2, "whole numbers separated by commas" },
        { "eval --length 11111111111111111111111111111111111111", 2,
          "whole numbers separated by commas" },
        { "generate --prompt --seed", 2, "write --prompt=TEXT" },
        { "generate --top-p 1.5", 2, "from 0 to 1, found '1.5'" },
        { "completion", 2, "expected bash|zsh|fish, found nothing" },
        { "completion bash zsh", 2, "found two, 'bash' and 'zsh'" },
        { "bench --threads 1025", 2, "from 1 to 1024" },
    };
    check_mistakes(&program_options, row, sizeof row / sizeof *row);
}

static void strata_mistakes(void **state) {
    (void)state;
    static const Mistake row[] = {
        { "", 2, "strata: expected a command, found nothing; 'strata --help' lists them" },
        { "bild", 2, "strata: expected a command, found 'bild'; the nearest is 'build'" },
        { "--verson", 2,
          "strata: expected a command, found '--verson'; the nearest is '--version'" },
        { "--cpu x", 2, "expected a command before '--cpu'" },
        { "build --emmit exe", 2, "strata build: unknown option '--emmit'; the nearest is" },
        { "build -x", 2, "unknown option '-x'; 'strata build --help' lists them" },
        { "build -o=x", 2, "unknown option '-o'" },
        { "build --profile", 2, "unknown option '--profile'" },
        { "build -O", 2, "-O: expected 0|1|2|3, found nothing" },
        { "build -O 2", 2, "-O: expected 0|1|2|3, found nothing" },
        { "build -O4", 2, "-O: expected 0|1|2|3, found '4'" },
        { "build -O=2", 2, "-O: expected 0|1|2|3, found '=2'" },
        { "build --check=yes", 2, "--check: expected no value, found 'yes'" },
        { "build --cpu --check", 2, "--cpu: expected NAME, found --check" },
        { "build --cpu=", 2, "--cpu: expected NAME, found an empty word" },
        { "build -o", 2, "-o: expected FILE, found nothing" },
        { "build --emit dll", 2, "--emit: expected exe|obj|static|shared|ir|asm, found 'dll'" },
        { "inspect --memory=", 2, "--memory: expected small|fast|auto, found ''" },
        { "inspect --memory=tiny", 2, "--memory: expected small|fast|auto, found 'tiny'" },
        { "inspect --chunk 64", 2, "'strata inspect --help' lists them" },
        { "check --json", 2, "strata check: unknown option '--json'" },
        { "build --max-memory 100", 2, "expected a size from 1M to 1048576G, such as 500M" },
        { "build --max-memory 0G", 2, "--max-memory: expected a size from 1M to 1048576G" },
        { "check --max-memory 9999999999G", 2, ", found '9999999999G'" },
        { "inspect --max-memory 1e3M", 2, ", found '1e3M'" },
        { "run --max-seconds 0", 2, "expected a whole number of seconds from 1 to 1000000" },
        { "run --max-second 1 x y", 2, "'--max-second'; the nearest is '--max-seconds'" },
        { "compare --rounds 0", 2, "expected a whole number of rounds from 1 to 1000, found '0'" },
    };
    check_mistakes(&strata_options, row, sizeof row / sizeof *row);
}

static void help_and_version(void **state) {
    (void)state;
    Options o;
    Error e;
    assert_int_equal(parse(&o, "train --zzz --help", &e), 0);
    assert_true(o.help && o.command == COMMAND_TRAIN);
    assert_int_equal(parse(&o, "--help", &e), 0);
    assert_true(o.help && o.command == COMMANDS);
    assert_int_equal(parse(&o, "help bench", &e), 0);
    assert_true(o.help && o.command == COMMAND_BENCH);
    assert_int_equal(parse(&o, "info --version", &e), 0);
    assert_true(o.version);
}

/* Behind the command of the program that is run, options are that program's. */
static void help_of_a_program(void **state) {
    (void)state;
    static const char *const own[] = { "run --help",
                                       "run m.lua -h",
                                       "help run",
                                       "run m.lua -D help=1 --help",
                                       "run -D a=1 m.lua --help",
                                       "run --max-seconds 9 m.lua --help generate" };
    static const char *const its[] = { "run m.lua generate --help", "run m.lua info -h",
                                       "run -D a=1 m.lua generate --help",
                                       "run m.lua -D a=1 generate --help" };
    Options o;
    Error e;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        assert_int_equal(parse_strata(&o, own[i], &e), 0);
        assert_true(o.help && o.command == STRATA_COMMAND_RUN);
        options_free(&o);
    }
    for (size_t i = 0; i < sizeof its / sizeof *its; i++) {
        assert_int_equal(parse_strata(&o, its[i], &e), 0);
        assert_false(o.help);
        options_free(&o);
    }
    assert_int_equal(parse_strata(&o, "compare a.lua b.lua --help", &e), 0);
    assert_true(o.help);
    assert_int_equal(parse_strata(&o, "run m.lua info --version", &e), 0);
    assert_false(o.version);
    options_free(&o);
}

static const OptionTable *const tables[] = { &program_options, &strata_options };
enum { TABLES = 2 };

/* Help names each option of each command, ends with the limits, and keeps back no help. */
static void help_is_complete(void **state) {
    (void)state;
    for (int k = 0; k < TABLES; k++)
        for (int c = 0; c <= tables[k]->commands; c++) {
            Text t = { 0 }, end = { 0 };
            options_help(&t, tables[k], "model", c);
            tables[k]->limits(&end, c);
            assert_string_equal(t.at + t.length - end.length, end.at ? end.at : "");
            for (int i = 0; i < tables[k]->options && c < tables[k]->commands; i++) {
                const OptionRow *r = &tables[k]->option[i];
                char name[32];
                if (!option_is_in(r, c)) continue;
                assert_non_null(strstr(t.at, option_name(name, r)));
                assert_non_null(strstr(t.at, r->help));
            }
            text_free(&t);
            text_free(&end);
        }
}

static void nearest(void **state) {
    (void)state;
    static const char *const name[] = { "steps", "seed", "batch" };
    assert_string_equal(nearest_name("step", name, 3), "steps");
    assert_string_equal(nearest_name("sede", name, 3), "seed");
    assert_null(nearest_name("wombat-herding", name, 3));
    static const char *const brief[] = { "-o", "-D", "k" };
    assert_null(nearest_name("-x", brief, 3)); /* no letter is the same */
    assert_null(nearest_name("z", brief, 3));
    assert_int_equal(name_distance("", "abc"), 3);
    assert_int_equal(name_distance("kitten", "sitting"), 3);
    assert_int_equal(name_distance("sede", "seed"), 1); /* swapped */
    char wide[65];
    memset(wide, 'a', 64);
    wide[64] = 0;
    assert_int_equal(name_distance(wide, "a"), NAME_FAR);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(short_names),
        cmocka_unit_test(strata_values),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(strata_mistakes),
        cmocka_unit_test(help_and_version),
        cmocka_unit_test(help_of_a_program),
        cmocka_unit_test(help_is_complete),
        cmocka_unit_test(nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
