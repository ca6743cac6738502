/* SPDX-License-Identifier: MIT
** What the command generate does besides drawing, and what it and others say of text that the
** vocabulary has no characters for.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock_model.h"
#include "program_run.h"

static Folder folder;
static Ran ran;

static const strata_api *model(int32_t vocab) {
    MockOptions o = { .tokenizer = "chars", .vocab = vocab, .context = 16, .batch = 2 };
    return mock_api(&o);
}

static void run(int32_t vocab, int status, const char *words) {
    program_run(&ran, model(vocab), &folder, NULL, words);
    if (ran.status != status)
        fail_msg("'%s': status %d, expected %d\n%s%s", words, ran.status, status, ran.out, ran.err);
}

static void says(const char *text, const char *in) {
    if (!strstr(in, text)) fail_msg("expected '%s' in '%s'", text, in);
}

static int open_folder(void **state) {
    (void)state;
    char text[1201];
    for (int i = 0; i < 1200; i++)
        text[i] = "abcdefgh "[i % 9];
    text[1200] = '\n';
    folder_open(&folder);
    folder_write(&folder, "text", text, sizeof text);
    folder_write(&folder, "japanese", "\xe6\x97\xa5\xe6\x9c\xac a", 8);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

/* B9: a vocabulary that has no room for all of them, a prompt and a text of others. */
static void unknown_characters_are_told(void **state) {
    (void)state;
    run(8, 0, "train --data text --steps 2 --val japanese --out few");
    says("666 characters of the text, 55 %, are not among the 4 of the vocabulary", ran.out);
    says("2 characters of --val, 50 %, are not", ran.out);
    run(8, 0,
        "generate --weights few --prompt \xc3\xa9"
        "a --max-tokens 1");
    says("note: 1 characters of the prompt, 50 %, are not among the 4 of the vocabulary", ran.err);
    run(8, 0, "generate --weights few --prompt \xc3\xa9 --max-tokens 1");
    says("note: 1 characters of the prompt, 100 %, are not among the 4 of the vocabulary", ran.err);
    run(8, 0, "eval --weights few --data japanese");
    says("2 characters of the text, 50 %, are not among the 4", ran.out);
    run(8, 0, "eval --weights few --data japanese --json");
    says("\"unknown_characters\": 2", ran.out);
    run(24, 0, "train --data text --steps 2 --out all");
    assert_null(strstr(ran.out, "characters of"));
    run(24, 0, "generate --weights all --prompt a --max-tokens 1");
    assert_string_equal(ran.err, "");
}

/* Text up to a stop, several texts, tokens that do not come again, a line's end at the end. */
static void stops_samples_and_penalties(void **state) {
    (void)state;
    run(24, 0, "train --data text --steps 300 --lr 0.1 --out w");
    run(24, 0, "generate --weights w --prompt ab --temperature 0 --max-tokens 8");
    assert_string_equal(ran.out, "cdefgh a\n");
    run(24, 0, "generate --weights w --prompt ab --temperature 0 --max-tokens 8 --stop xyz gh f");
    assert_string_equal(ran.out, "cde\n");
    run(24, 0, "generate --weights w --prompt ab --temperature 0 --max-tokens 8 --stop ghx h\1ab");
    assert_string_equal(ran.out, "cdefgh a\n"); /* begun, but not there */
    run(24, 0, "generate --weights w --prompt ab --temperature 0 --max-tokens 8 --stop c");
    assert_string_equal(ran.out, "");
    run(24, 0, "generate --weights w --prompt ab --temperature 0 --max-tokens 2 --samples 3");
    assert_string_equal(ran.out, "cd\n---\ncd\n---\ncd\n");
    char plain[256]; /* where nothing is sure, another text */
    run(24, 0, "train --data text --steps 3 --out raw");
    run(24, 0, "generate --weights raw --prompt abcd --max-tokens 12 --seed 1");
    snprintf(plain, sizeof plain, "%.200s", ran.out);
    run(24, 0, "generate --weights raw --prompt abcd --max-tokens 12 --seed 1 --repeat-penalty 1");
    assert_string_equal(ran.out, plain);
    run(24, 0, "generate --weights raw --prompt abcd --max-tokens 12 --seed 1 --repeat-penalty 50");
    assert_string_not_equal(ran.out, plain);
    run(24, 0, "generate --weights w --prompt ab --temperature 9 --max-tokens 8 --min-p 0.9");
    assert_string_equal(ran.out, "cdefgh a\n");
    char one[256];
    run(24, 0, "generate --weights w --prompt ab --temperature 9 --max-tokens 5 --seed 6");
    snprintf(one, sizeof one, "%.200s", ran.out);
    run(24, 0,
        "generate --weights w --prompt ab --temperature 9 --max-tokens 5 --seed 5 --samples 2");
    const char *second = strstr(ran.out, "\n---\n");
    assert_non_null(second);
    assert_string_equal(second + 5, one); /* the second is that of the next seed */
}

/* Beyond the context, which the mock model refuses to pass. */
static void contexts_slide(void **state) {
    (void)state;
    char words[400], text[128];
    run(24, 0, "train --data text --steps 300 --lr 0.1 --out w --overwrite");
    run(24, 1, "generate --weights w --prompt ab --temperature 0 --max-tokens 15");
    run(24, 0, "generate --weights w --prompt ab --temperature 0 --max-tokens 60 --slide");
    assert_string_equal(ran.out, "cdefgh abcdefgh abcdefgh abcdefgh abcdefgh abcdefgh abcdefgh\n");
    run(24, 0, "generate --weights w --prompt ab --temperature 0 --slide"); /* the context */
    assert_string_equal(ran.out, "cdefgh abcdefgh \n");
    for (int i = 1; i < 80; i++) {
        snprintf(
            text, sizeof text, "%.*s", i,
            "abcdefghabcdefghabcdefghabcdefghabcdefghabcdefghabcdefghabcdefghabcdefghabcdefgh");
        snprintf(words, sizeof words,
                 "generate --weights w --prompt %s --temperature 0 --slide --max-tokens 1", text);
        run(24, 0, words);
        assert_int_equal(ran.out[0], "abcdefgh "[(i - 1) % 8 + 1]);
    }
    program_run(&ran, model(24), &folder, text, "generate --weights w --slide --max-tokens 1");
    assert_int_equal(ran.status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_characters_are_told),
        cmocka_unit_test(stops_samples_and_penalties),
        cmocka_unit_test(contexts_slide),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
