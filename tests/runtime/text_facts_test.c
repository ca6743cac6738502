/* SPDX-License-Identifier: MIT
** Which tokens begin and end texts (text_facts.h): one case for each file of a checkpoint that says
** it, and for each two that disagree.  The right answers are those of transformers 5.24 for folders
** of these files.
*/
#include "text_object.h"

static const char begins[] = JSON(
    "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\":"
    " {\"id\": \"<a>\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}],"
    " \"special_tokens\": {\"<a>\": {\"id\": \"<a>\", \"ids\": [0], \"tokens\": [\"<a>\"]}}},");

/* == Rules ================================================================ */

typedef struct Rule {
    const char *object;
    int begin, pad, end;
    const char *ends; /* in their order */
    bool begins;      /* with the post-processor; without it never */
} Rule;

static const Rule rules[] = {
    /* nobody says anything: names of tokens */
    { "{}", 4, -1, 3, "3", true },
    /* one file */
    { "{" CONFIG("\"eos_token_id\": 1, \"bos_token_id\": 2, \"pad_token_id\": 0") "}", 2, 0, 1, "1",
      true },
    { "{" CONFIG("\"eos_token_id\": [2, 1]") "}", 4, -1, 2, "2 1", true },
    { "{" GENERATION("\"eos_token_id\": [1, 3], \"bos_token_id\": 0") "}", 0, -1, 3, "1 3", true },
    { "{" TOKENIZER("\"eos_token\": \"<b>\", \"bos_token\": \"<c>\", \"pad_token\": \"<a>\"") "}",
      2, 0, 1, "1", true },
    { "{" TOKENIZER("\"eos_token\": {\"content\": \"<b>\", \"lstrip\": false}") "}", -1, -1, 1, "1",
      true },
    { "{" MAP("\"eos_token\": {\"content\": \"<c>\"}, \"bos_token\": \"<b>\"") "}", 1, -1, 2, "2",
      true },
    /* names of the class, where no file has one */
    { "{" TOKENIZER("\"tokenizer_class\": \"LlamaTokenizerFast\"") "}", 4, -1, 5, "5", true },
    { "{" TOKENIZER("\"tokenizer_class\": \"Qwen2Tokenizer\"") "}", -1, -1, 3, "3", true },
    /* generation_config before config, also where it has one id and config more */
    { "{" CONFIG("\"eos_token_id\": [1, 2]") ", " GENERATION("\"eos_token_id\": 5") "}", 4, -1, 5,
      "5", true },
    { "{" CONFIG("\"eos_token_id\": 1") ", " GENERATION("\"temperature\": 1.0") "}", 4, -1, 1, "1",
      true },
    { "{" CONFIG("\"eos_token_id\": 1") ", " GENERATION("\"eos_token_id\": null") "}", 4, -1, 1,
      "1", true },
    /* ends of the tokenizer and of the config are united */
    { "{" GENERATION("\"eos_token_id\": [1, 2]") ", " TOKENIZER("\"eos_token\": \"</s>\"") "}", -1,
      -1, 1, "1 2 5", true },
    { "{" CONFIG("\"eos_token_id\": 5") ", " TOKENIZER("\"eos_token\": \"</s>\"") "}", -1, -1, 5,
      "5", true },
    /* special_tokens_map before tokenizer_config, unless that has added_tokens_decoder */
    { "{" TOKENIZER("\"eos_token\": \"<b>\"") ", " MAP("\"eos_token\": \"<c>\"") "}", -1, -1, 2,
      "2", true },
    { "{" TOKENIZER("\"eos_token\": \"<b>\", \"added_tokens_decoder\": {}") ", " MAP(
          "\"eos_token\": \"<c>\"") "}",
      -1, -1, 1, "1", true },
    /* a token between texts: the one that is known by name, if it ends texts */
    { "{" GENERATION("\"eos_token_id\": [2, 3]") "}", 4, -1, 3, "2 3", true },
    /* add_bos_token does not change what tokenizer.json says */
    { "{" TOKENIZER("\"add_bos_token\": false, \"bos_token\": \"<a>\"") "}", 0, -1, 3, "3", true },
    /* ids of others, as tiny models and padded vocabularies have them */
    { "{" CONFIG("\"eos_token_id\": 50256, \"pad_token_id\": -1") "}", 4, -1, 3, "3", true },
    { "{" GENERATION("\"eos_token_id\": [1, 1, 1]") "}", 4, -1, 1, "1", true },
    /* none of them says that there is none */
    { "{" TOKENIZER("\"bos_token\": null, \"eos_token\": null") "}", -1, -1, 3, "3", true },
};

static void check_rule(const Rule *r, const char *file, size_t length, bool begins_texts) {
    Tokenizer t;
    Error e = { 0 };
    Text ends = { 0 };
    if (read_with(&t, file, length, r->object, &e)) fail_msg("%s: %s", r->object, e.text);
    for (int i = 0; i < t.facts.ends; i++)
        text_add(&ends, i ? " %d" : "%d", t.facts.end[i]);
    int begin = begins_texts ? 0 : r->begin;
    if (t.facts.begin != begin || t.facts.pad != r->pad || t.end != r->end
        || strcmp(ends.at ? ends.at : "", r->ends) != 0
        || tokenizer_begins_texts(&t) != begins_texts)
        fail_msg("%s: begin %d, pad %d, between %d, ends %s", r->object, t.facts.begin, t.facts.pad,
                 t.end, ends.at ? ends.at : "");
    text_free(&ends);
    tokenizer_free(&t);
}

static void files_say_what_begins_and_ends_texts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        check_rule(&rules[i], plain, sizeof plain - 1, false);
        check_rule(&rules[i], begins, sizeof begins - 1, true);
    }
}

/* == A begin token ======================================================== */

static void ids_are(const Tokenizer *t, const char *text, const char *expected) {
    TokenIds ids = { .width = 4, .grows = true, .template = true };
    Text found = { 0 };
    Error e = { 0 };
    assert_int_equal(token_ids_encode(&ids, t, "text", text, strlen(text), &e), 0);
    for (int64_t i = 0; i < ids.count; i++)
        text_add(&found, i ? " %d" : "%d", ((int32_t *)ids.at)[i]);
    assert_string_equal(found.at, expected);
    text_free(&found);
    free(ids.at);
}

static void a_command_puts_it_in_front_or_leaves_it_out(void **state) {
    static const struct {
        const char *file;
        size_t size;
        BeginChoice choice;
        const char *ids;
    } cases[] = {
        { plain, sizeof plain, BEGIN_AUTO, "6 7" },
        { plain, sizeof plain, BEGIN_NO, "6 7" },
        { plain, sizeof plain, BEGIN_YES, "4 6 7" },
        { begins, sizeof begins, BEGIN_AUTO, "0 6 7" },
        { begins, sizeof begins, BEGIN_YES, "0 6 7" },
        { begins, sizeof begins, BEGIN_NO, "6 7" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Tokenizer t;
        Error e = { 0 };
        assert_int_equal(tokenizer_parse(&t, "t", cases[i].file, cases[i].size - 1, &e), 0);
        assert_int_equal(tokenizer_put_begin(&t, cases[i].choice, "--bos", &e), 0);
        ids_are(&t, "xy", cases[i].ids);
        tokenizer_free(&t);
    }
}

static void a_text_that_has_it_is_known(void **state) {
    Tokenizer t;
    Error e = { 0 };
    (void)state;
    assert_int_equal(tokenizer_parse(&t, "t", begins, sizeof begins - 1, &e), 0);
    assert_true(tokenizer_spells_begin(&t, "<a>x", 4));
    assert_false(tokenizer_spells_begin(&t, "<b>x", 4));
    assert_false(tokenizer_spells_begin(&t, "x<a>", 4));
    assert_false(tokenizer_spells_begin(&t, "", 0));
    tokenizer_free(&t);
    const TokenizerKind *bytes;
    assert_int_equal(tokenizer_kind("bytes", &bytes, &e), 0);
    assert_int_equal(tokenizer_learn(&t, bytes, 256, "", 0, &e), 0);
    assert_int_equal(tokenizer_put_begin(&t, BEGIN_NO, "--bos", &e), 0);
    assert_int_equal(tokenizer_put_begin(&t, BEGIN_YES, "--bos", &e), STATUS_USER);
    assert_non_null(strstr(e.text, "--bos yes: expected a tokenizer with a token that begins"));
    tokenizer_free(&t);
}

/* == SentencePiece ======================================================== */

typedef struct ModelCase {
    const char *object, *text;
    bool begin, end, marked;
} ModelCase;

static const ModelCase models[] = {
    { "{" TOKENIZER("\"tokenizer_class\": \"LlamaTokenizer\"") "}", "<s>a", false, false, false },
    { "{" TOKENIZER("\"tokenizer_class\": \"LlamaTokenizer\", \"legacy\": true") "}", "<s>a", false,
      false, true },
    { "{" TOKENIZER("\"bos_token\": \"<s>\"") "}", "<s>a", false, false, true },
    { "{" TOKENIZER("\"tokenizer_class\": \"LlamaTokenizer\", \"add_bos_token\": true") "}", "a",
      true, false, true },
    { "{" TOKENIZER("\"tokenizer_class\": \"LlamaTokenizer\", \"add_bos_token\": true,"
                    "\"add_eos_token\": true") "}",
      "a", true, true, true },
    { "{" TOKENIZER("\"tokenizer_class\": \"LlamaTokenizer\", \"add_bos_token\": true,"
                    "\"bos_token\": null") "}",
      "a", false, false, true },
};

static void a_model_gets_tokens_as_transformers_has_them(void **state) {
    size_t length;
    char *model = read_whole("bpe.model", &length);
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        Tokenizer t;
        Error e = { 0 };
        Text expected = { 0 };
        if (read_with(&t, model, length, models[i].object, &e)) fail_msg("%s", e.text);
        int32_t s = tokenizer_find(&t, "<s>"), end = tokenizer_find(&t, "</s>");
        bool spelled = *models[i].text == '<';
        int32_t marked = tokenizer_find(&t,
                                        "\xe2\x96\x81"
                                        "a"),
                alone = tokenizer_find(&t, "a");
        assert_true(s >= 0 && end >= 0 && marked >= 0 && alone >= 0);
        if (spelled || models[i].begin) text_add(&expected, "%d ", s);
        text_add(&expected, "%d", models[i].marked ? marked : alone);
        if (models[i].end) text_add(&expected, " %d", end);
        ids_are(&t, models[i].text, expected.at);
        assert_int_equal(t.end, end);
        text_free(&expected);
        tokenizer_free(&t);
    }
    free(model);
}

static void a_model_gets_added_tokens(void **state) {
    size_t length;
    char *model = read_whole("bpe.model", &length), object[400];
    Tokenizer t;
    Error e = { 0 };
    (void)state;
    assert_int_equal(tokenizer_parse(&t, "t", model, length, &e), 0);
    int32_t ids = t.ids;
    tokenizer_free(&t);
    print_text(object, sizeof object,
               "{" TOKENIZER("\"pad_token\": \"<pad>\", \"added_tokens_decoder\": {\"%d\":"
                             "{\"content\": \"<pad>\", \"special\": true}}") "}",
               ids + 1);
    if (read_with(&t, model, length, object, &e)) fail_msg("%s", e.text);
    assert_int_equal(t.ids, ids + 2);
    assert_int_equal(t.facts.pad, ids + 1);
    char expected[32];
    print_text(expected, sizeof expected, "%d", ids + 1);
    ids_are(&t, "<pad>", expected);
    Text shown = { 0 };
    assert_int_equal(tokenizer_decode(&t, &t.facts.pad, 1, true, &shown, &e), 0);
    assert_string_equal(shown.at, "<pad>");
    text_free(&shown);
    tokenizer_free(&t);
    print_text(object, sizeof object, "{\"added_tokens\": {\"<new>\": %d}}", ids);
    if (read_with(&t, model, length, object, &e)) fail_msg("%s", e.text);
    assert_int_equal(tokenizer_find(&t, "<new>"), ids);
    tokenizer_free(&t);
    free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_say_what_begins_and_ends_texts),
        cmocka_unit_test(a_command_puts_it_in_front_or_leaves_it_out),
        cmocka_unit_test(a_text_that_has_it_is_known),
        cmocka_unit_test(a_model_gets_tokens_as_transformers_has_them),
        cmocka_unit_test(a_model_gets_added_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
