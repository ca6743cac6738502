/* SPDX-License-Identifier: MIT
** Long texts of one kind, and a tokenizer's file: what looked at the same text again and again for
** each token is done in one pass; what a regular expression cannot take apart is told by its byte
** in the whole text.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "data_words.h"
#include "scratch.h"
#include "tokenizer_file.h"

#define MODEL                                                                                   \
    "\"decoder\": {\"type\": \"Fuse\"}, "                                                       \
    "\"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": \"u\", \"fuse_unk\": "    \
    "false, "                                                                                   \
    "\"byte_fallback\": false, \"ignore_merges\": false, \"continuing_subword_prefix\": null, " \
    "\"end_of_word_suffix\": null, \"vocab\": {\"u\": 0, \"a\": 1, \" \": 2, \"x\": 3}, "       \
    "\"merges\": []}}"
#define ADDED(content, more)                                                                     \
    "\"added_tokens\": [{\"id\": 4, \"content\": \"" content "\", \"single_word\": false, " more \
    ", \"normalized\": false, \"special\": false}], "

static void open_tokenizer(Tokenizer *t, const char *file) {
    Error e = { 0 };
    if (tokenizer_parse(t, "t.json", file, strlen(file), &e)) fail_msg("%s", e.text);
}

/* == White space that added tokens take =================================== */

enum { SPACES = 4 << 20 };

static void check_spaces(const char *more, int64_t expected, int32_t last) {
    char file[1024], *text = malloc(SPACES + 2);
    Tokenizer t;
    TokenIds ids = { .width = 4, .grows = true };
    Error e = { 0 };
    assert_non_null(text);
    memset(text, ' ', SPACES);
    text[0] = text[SPACES + 1] = 'x';
    text[SPACES] = ' ';
    print_text(file, sizeof file, "{%s" MODEL, more);
    open_tokenizer(&t, file);
    if (token_ids_encode(&ids, &t, "text", text, SPACES + 2, &e)) fail_msg("%s", e.text);
    assert_int_equal(ids.count, expected);
    assert_int_equal(((int32_t *)ids.at)[ids.count - 2], last);
    free(ids.at), free(text);
    tokenizer_free(&t);
}

/* An odd byte of space behind pairs of them. */
static void spaces_are_taken_in_one_pass(void **state) {
    (void)state;
    enum { PAIRS = SPACES / 2 };
    check_spaces(ADDED("  ", "\"lstrip\": false, \"rstrip\": false"), PAIRS + 2, 4);
    check_spaces(ADDED("  ", "\"lstrip\": true, \"rstrip\": false"), PAIRS + 2, 4);
    check_spaces(ADDED("  ", "\"lstrip\": false, \"rstrip\": true"), PAIRS + 2, 4);
    check_spaces(ADDED("  ", "\"lstrip\": true, \"rstrip\": true"), PAIRS + 2, 4);
}

/* == Where a text cannot be taken apart =================================== */

enum { RUN = 300000 };

#define SPLIT                                                                                   \
    "\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"(?=.*b)a|[^a]+|a\"}, " \
    "\"behavior\": \"Isolated\", \"invert\": false}, "
#define NORMALIZER                                                                             \
    "\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"(?=.*b)a|[^a]+|a\"}, " \
    "\"content\": \"x\"}, "
#define MADE "\"normalizer\": {\"type\": \"Prepend\", \"prepend\": \"x\"}, "
#define CUT ADDED("<c>", "\"lstrip\": false, \"rstrip\": false")

/* "....<c>..aaaa": the byte that is told is the first 'a' or one behind it, or the place that the
** part begins which became another text. */
static void refused(const char *file, const char *before, uint64_t given, const char *words,
                    uint64_t least, uint64_t most) {
    Tokenizer t;
    TokenIds ids = { .width = 4, .grows = true, .before = given };
    Error e = { 0 };
    size_t n = strlen(before);
    char *text = malloc(n + RUN);
    assert_non_null(text);
    memcpy(text, before, n), memset(text + n, 'a', RUN);
    open_tokenizer(&t, file);
    assert_int_equal(token_ids_encode(&ids, &t, "text", text, n + RUN, &e), STATUS_LIMIT);
    const char *found = strstr(e.text, words);
    if (!found) fail_msg("expected '%s', found '%s'", words, e.text);
    assert_in_range(strtoull(found + strlen(words), NULL, 10), least, most);
    free(ids.at), free(text);
    tokenizer_free(&t);
}

static void places_are_of_the_whole_text(void **state) {
    (void)state;
    static const char at[] = "limits at byte ", from[] = "in what is made of it from byte ";
    refused("{" SPLIT MODEL, "", 0, at, 0, RUN);
    refused("{" SPLIT MODEL, "xxxxxxx", 0, at, 7, 7 + RUN);
    refused("{" CUT SPLIT MODEL, "xxxx<c>xx", 1000000, at, 1000009, 1000009 + RUN);
    refused("{" CUT NORMALIZER MODEL, "xxxx<c>xx", 1000000, at, 1000009, 1000009 + RUN);
    refused("{" CUT MADE SPLIT MODEL, "xxxx<c>xx", 1000000, from, 1000007, 1000007);
}

/* A second piece of a file, and the line of a JSON document. */
static void files_and_lines_are_told(void **state) {
    enum { PIECE = 4 << 20 };
    char path[SCRATCH_PATH];
    Tokenizer t;
    char *text = malloc(PIECE + RUN);
    assert_non_null(text);
    memset(text, 'x', PIECE), memset(text + PIECE, 'a', RUN);
    scratch_write(scratch_path(state, "long", path), text, PIECE + RUN);
    static const char head[] = "{\"text\": \"x\"}\n\n{\"text\": \"";
    memcpy(text, head, sizeof head - 1);
    memset(text + sizeof head - 1, 'a', RUN);
    memcpy(text + sizeof head - 1 + RUN, "\"}\n", 3);
    scratch_write(scratch_path(state, "lines.jsonl", path), text, sizeof head + 2 + RUN);
    free(text);
    open_tokenizer(&t, "{" SPLIT MODEL);
    for (int i = 0; i < 2; i++) {
        DataNames names;
        DataWords words = data_names(&names, state, i ? "@/lines.jsonl" : "@/long");
        DataFiles f;
        Data d;
        Error e = { 0 };
        assert_int_equal(data_files_open(&f, &words, &e), 0);
        assert_int_equal(data_tokens(&d, &f, &t, 8, false, &e), STATUS_LIMIT);
        data_files_free(&f);
        const char *found = strstr(e.text, "limits at byte ");
        if (!found || (i && !strstr(e.text, "lines.jsonl:3: "))) fail_msg("found '%s'", e.text);
        uint64_t least = i ? 0 : PIECE;
        assert_in_range(strtoull(found + 15, NULL, 10), least, least + RUN);
    }
    tokenizer_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(spaces_are_taken_in_one_pass),
                                        cmocka_unit_test(places_are_of_the_whole_text),
                                        cmocka_unit_test(files_and_lines_are_told) };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
