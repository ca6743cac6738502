/*
** The command line: the table, strict values, messages, help and completions.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

static int parse(Options *o, const char *words, Error *e) {
    static char text[512];
    char *word[32];
    int count = 0;
    *e = (Error){ 0 };
    snprintf(text, sizeof text, "%s", words);
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
        word[count++] = w;
    return options_parse(o, count, word, e);
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

static void mistakes(void **state) {
    (void)state;
    static const struct {
        const char *words;
        int status;
        const char *says;
    } row[] = {
        { "", 2, "expected a command, found nothing" },
        { "tran", 2, "nearest is 'train'" },
        { "frobnicate", 2, "--help lists them" },
        { "--data x", 2, "expected a command before '--data'" },
        { "train --stesp 3", 2, "nearest is '--steps'" },
        { "train --zzzzzzzz 3", 2, "lists them" },
        { "train --temperature 1", 2, "unknown option '--temperature'" },
        { "train x", 2, "expected an option, found 'x'" },
        { "train --steps", 2, "--steps: expected N, found nothing" },
        { "train --steps --resume", 2, "found --resume" },
        { "train --steps 1e3", 2, "expected an integer from 0 to 1000000000000, found '1e3'" },
        { "train --steps -1", 2, "found '-1'" },
        { "train --steps 3x", 2, "found '3x'" },
        { "train --batch 0", 2, "from 1 to 1048576, found '0'" },
        { "train --batch 99999999999999999999", 2, "found '99999999999999999999'" },
        { "train --lr nan", 2, "expected a number" },
        { "train --lr 0x1p3", 2, "expected a number" },
        { "train --lr 1,5", 2, "expected a number" },
        { "train --seed -1", 2, "18446744073709551615" },
        { "train --order up", 2, "expected random|sequential, found 'up'" },
        { "train --val-share 1", 2, "--val-share: expected a number" },
        { "train --resume=yes", 2, "expected no value, found 'yes'" },
        { "train --out=", 2, "expected a file's name, found nothing" },
        { "eval --length 1,,2", 2, "integers separated by commas" },
        { "eval --length 0", 2, "integers separated by commas" },
        { "eval --length 11111111111111111111111111111111111111", 2,
          "integers separated by commas" },
        { "generate --prompt --seed", 2, "write --prompt=TEXT" },
        { "generate --top-p 1.5", 2, "from 0 to 1, found '1.5'" },
        { "completion", 2, "expected bash|zsh|fish, found nothing" },
        { "completion bash zsh", 2, "found 'zsh'" },
        { "bench --threads 1025", 2, "from 1 to 1024" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Options o;
        Error e;
        int status = parse(&o, row[i].words, &e);
        if (status != row[i].status || e.status != status || !strstr(e.text, row[i].says))
            fail_msg("'%s' gave %d, '%s'", row[i].words, status, e.text);
        options_free(&o);
    }
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

/* Help and every completion name each option of each command. */
static void texts_are_complete(void **state) {
    (void)state;
    static const char *const shell[] = { "bash", "zsh", "fish" };
    Error e = { 0 };
    for (int k = 0; k < 3; k++) {
        Text t = { 0 };
        assert_int_equal(options_completion(&t, "model", shell[k], &e), 0);
        assert_int_equal(text_status(&t, &e), 0);
        for (int i = 0; i < OPTIONS; i++)
            assert_non_null(strstr(t.at, option_table[i].name));
        for (int c = 0; c < COMMANDS; c++)
            assert_non_null(strstr(t.at, command_table[c].name));
        text_free(&t);
    }
    for (int c = 0; c <= COMMANDS; c++) {
        Text t = { 0 };
        options_help(&t, "model", (CommandId)c);
        assert_non_null(strstr(t.at, "100000 tensors"));
        for (int i = 0; i < OPTIONS && c < COMMANDS; i++)
            if (option_table[i].commands >> c & 1)
                assert_non_null(strstr(t.at, option_table[i].name));
        text_free(&t);
    }
    Text t = { 0 };
    assert_int_equal(options_completion(&t, "model", "tcsh", &e), STATUS_USAGE);
    text_free(&t);
}

/* The bash script is bash, and completes what it should. */
static void bash_completes(void **state) {
    (void)state;
    if (access("/bin/bash", X_OK) != 0) {
        print_message("bash is not installed: its completion script was not run\n");
        skip();
    }
    Text t = { 0 };
    Error e = { 0 };
    assert_int_equal(options_completion(&t, "it's a model", "bash", &e), 0);
    char name[] = "/tmp/strata-completion-XXXXXX", command[512], line[4][64] = { "" };
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    static const char tail[] =
        "COMP_WORDS=(m tr); COMP_CWORD=1; _strata_it_s_a_model; echo \"${COMPREPLY[*]}\"\n"
        "COMP_WORDS=(m train --res); COMP_CWORD=2; _strata_it_s_a_model; echo \"${COMPREPLY[*]}\"\n"
        "COMP_WORDS=(m train --order se); COMP_CWORD=3; _strata_it_s_a_model; echo "
        "\"${COMPREPLY[*]}\"\n"
        "COMP_WORDS=(m completion z); COMP_CWORD=2; _strata_it_s_a_model; echo "
        "\"${COMPREPLY[*]}\"\n";
    assert_true(write(fd, t.at, t.length) == (ssize_t)t.length);
    assert_true(write(fd, tail, sizeof tail - 1) == (ssize_t)sizeof tail - 1);
    close(fd);
    snprintf(command, sizeof command, "cd / && /bin/bash --norc %s 2>&1", name);
    FILE *f = popen(command, "r");
    for (int i = 0; i < 4; i++)
        if (!fgets(line[i], sizeof line[i], f)) line[i][0] = 0;
    pclose(f);
    unlink(name);
    text_free(&t);
    assert_string_equal(line[0], "train\n");
    assert_string_equal(line[1], "--resume\n");
    assert_string_equal(line[2], "sequential\n");
    assert_string_equal(line[3], "zsh\n");
}

static void nearest(void **state) {
    (void)state;
    static const char *const name[] = { "steps", "seed", "batch" };
    assert_string_equal(nearest_name("step", name, 3), "steps");
    assert_string_equal(nearest_name("sede", name, 3), "seed");
    assert_null(nearest_name("wombat-herding", name, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),           cmocka_unit_test(mistakes),
        cmocka_unit_test(help_and_version), cmocka_unit_test(texts_are_complete),
        cmocka_unit_test(bash_completes),   cmocka_unit_test(nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
