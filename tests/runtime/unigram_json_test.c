/* SPDX-License-Identifier: MIT
** tokenizer.json of type Unigram: what is refused, and scores that no trainer writes. The ids are
** those of tokenizer_file_test.c's vectors.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer_file.h"

#define MODEL(rest) "{\"model\": {\"type\": \"Unigram\", " rest "}"
#define TAIL ", \"decoder\": {\"type\": \"Metaspace\"}}"

static void what_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *file, *said;
    } list[] = {
        { MODEL("\"vocab\": []") "}", "model.vocab: expected from 1 to" },
        { MODEL("\"vocab\": {\"a\": 0}") "}", "model.vocab: expected" },
        { MODEL("\"vocab\": [[\"a\", 0]]") "}",
          "model.unk_id: expected the id of a piece, found nothing" },
        { MODEL("\"unk_id\": 1, \"vocab\": [[\"a\", 0]]") "}",
          "model.unk_id: expected the id of a piece, found \"1\"" },
        { MODEL("\"unk_id\": null, \"vocab\": [[\"a\", 0]]") "}", "model.unk_id: expected" },
        { MODEL("\"unk_id\": 0, \"vocab\": [[\"a\"]]") "}",
          "model.vocab[0]: expected a piece and its score" },
        { MODEL("\"unk_id\": 0, \"vocab\": [[\"a\", \"b\"]]") "}",
          "model.vocab[0]: expected a piece and its score" },
        { MODEL("\"unk_id\": 0, \"vocab\": [[\"a\", 0], [\"a\", 1]]") "}", "expected" },
        { MODEL("\"unk_id\": 0, \"strange\": 0, \"vocab\": [[\"a\", 0]]") "}", "\"strange\"" },
        { MODEL("\"unk_id\": 0, \"byte_fallback\": true, \"vocab\": [[\"a\", 0]]") "}",
          "model.byte_fallback: expected false without a piece of each byte" },
        { "{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, "
          "\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"a\", 0]]}}",
          "model.type: expected BPE beside ByteLevel" },
        { "{\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"a\"}}",
          "normalizer.precompiled_charsmap: expected base64" },
        { "{\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"AAAA\"}}",
          "normalizer: expected a precompiled map of characters" },
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        Tokenizer t;
        Error e = { 0 };
        int status = tokenizer_parse(&t, "file", list[i].file, strlen(list[i].file), &e);
        if (status != STATUS_USER || !strstr(e.text, list[i].said))
            fail_msg("%s: expected '%s', found status %d '%s'", list[i].file, list[i].said, status,
                     e.text);
    }
}

/* Sums that are no numbers any more: every text still becomes ids of it. */
static void scores_of_any_size(void **state) {
    (void)state;
    static const char file[] = MODEL(
        "\"unk_id\": 0, \"vocab\": [[\"u\", 0], [\"a\", 1e308], [\"aa\", -1e308], "
        "[\"b\", 1e308], [\"ab\", -1.7e308]]") TAIL;
    static const char text[] = "aabababbaaacab aab";
    Tokenizer t;
    Error e = { 0 };
    TokenIds ids = { .width = 4, .grows = true };
    if (tokenizer_parse(&t, "file", file, sizeof file - 1, &e)) fail_msg("%s", e.text);
    assert_string_equal(tokenizer_described(&t), "tokenizer.json, unigram");
    assert_int_equal(token_ids_encode(&ids, &t, "text", text, sizeof text - 1, &e), 0);
    assert_true(ids.count > 0 && ids.count <= (int64_t)sizeof text);
    for (int64_t i = 0; i < ids.count; i++)
        assert_true(((int32_t *)ids.at)[i] >= 0 && ((int32_t *)ids.at)[i] < 5);
    free(ids.at);
    tokenizer_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_refused),
                                        cmocka_unit_test(scores_of_any_size) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
