/* SPDX-License-Identifier: MIT
** Sampling and chat templates of text_facts.h, what is refused of its object, and the object in all
** forms of files.
*/
#include "text_object.h"

#include <math.h>

#include "chat_template.h"

/* == Sampling and templates =============================================== */

static void sampling_is_what_the_newer_file_says(void **state) {
    Tokenizer t;
    Error e = { 0 };
    (void)state;
    if (read_with(&t, plain, sizeof plain - 1,
                  "{" CONFIG("\"temperature\": 0.5, \"top_k\": 9") ", " GENERATION(
                      "\"temperature\": 0.6, \"top_p\": 0.9, \"top_k\": 50.0, \"min_p\": null,"
                      "\"repetition_penalty\": 1.1, \"do_sample\": true") "}",
                  &e))
        fail_msg("%s", e.text);
    const TextFacts *f = &t.facts;
    assert_true(f->sampled && !f->greedy && isnan(f->sampling[SAMPLING_MIN_P]));
    assert_true(f->sampling[SAMPLING_TEMPERATURE] == 0.6 && f->sampling[SAMPLING_TOP_P] == 0.9);
    assert_true(f->sampling[SAMPLING_TOP_K] == 50 && f->sampling[SAMPLING_PENALTY] == 1.1);
    tokenizer_free(&t);
    if (read_with(&t, plain, sizeof plain - 1, "{" CONFIG("\"top_k\": 9, \"do_sample\": false") "}",
                  &e))
        fail_msg("%s", e.text);
    assert_true(f->greedy && f->sampling[SAMPLING_TOP_K] == 9);
    tokenizer_free(&t);
}

static void templates_are_the_file_before_the_member(void **state) {
    static const struct {
        const char *object, *template;
    } cases[] = {
        { "{}", NULL },
        { "{" TOKENIZER("\"chat_template\": \"\\u0041\\n\\ud83d\\ude00\"") "}",
          "A\n\xf0\x9f\x98\x80" },
        { "{" TOKENIZER("\"chat_template\": \"old\"") ", \"chat_template\": \"new\"}", "new" },
        { "{" TOKENIZER("\"chat_template\": [{\"name\": \"rag\", \"template\": \"r\"},"
                        "{\"name\": \"default\", \"template\": \"d\"}]") "}",
          "d" },
        { "{" TOKENIZER("\"chat_template\": null") "}", NULL },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Tokenizer t;
        Error e = { 0 };
        if (read_with(&t, plain, sizeof plain - 1, cases[i].object, &e)) fail_msg("%s", e.text);
        if (!cases[i].template) assert_null(t.facts.template);
        else assert_string_equal(t.facts.template, cases[i].template);
        tokenizer_free(&t);
    }
}

static void templates_have_forms(void **state) {
    static const struct {
        const char *template, *form, *system;
    } cases[] = {
        { "{{ '<|im_start|>' + m.role }}{{ '<|im_end|>\\n' }}", "chatml", NULL },
        { "{{- '<|im_start|>system\\n' + m[0]['content'] + '<|im_end|>\\n' }}"
          "{{- '<|im_start|>system\\nYou are Qwen.<|im_end|>\\n' }}",
          "chatml", "You are Qwen." },
        { "<|im_start|>system\nBe kind.<|im_end|>\n", "chatml", "Be kind." },
        { "'<|im_start|>' '<|im_sep|>' '<|im_end|>'", NULL, NULL },
        { "<|start_header_id|>user<|end_header_id|>\n\nx<|eot_id|>", "llama3", NULL },
        { "<|start_header_id|>Cutting Knowledge Date<|eot_id|>", NULL, NULL },
        { "<start_of_turn>user<end_of_turn>", "gemma", NULL },
        { "[INST] x [/INST]", "mistral", NULL },
        { "[INST] <<SYS>>\n x [/INST]", NULL, NULL },
        { "<|user|>\nx<|end|>", NULL, NULL },
        { "", NULL, NULL },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ChatTemplate *x = chat_template_family(cases[i].template);
        Text system = { 0 };
        if (!x != !cases[i].form || (x && strcmp(x->name, cases[i].form) != 0))
            fail_msg("%s: found %s", cases[i].template, x ? x->name : "none");
        bool some = x && chat_template_default(x, cases[i].template, &system);
        assert_int_equal(some, cases[i].system != NULL);
        if (some) assert_string_equal(system.at, cases[i].system);
        text_free(&system);
    }
}

/* == What is refused ====================================================== */

static void what_is_wrong_is_refused(void **state) {
    static const struct {
        const char *object, *words;
    } cases[] = {
        { "[]", "strata: expected an object" },
        { "{\"other\": {}}", "t:strata.other: expected a member that is known" },
        { "{\"config\": 1}", "t:strata.config: expected an object, found \"1\"" },
        { "{\"chat_template\": {}}", "t:strata.chat_template: expected a text" },
        { "{" CONFIG("\"eos_token_id\": \"2\"") "}", "config.eos_token_id: expected an id" },
        { "{" CONFIG("\"eos_token_id\": [1, 2.5]") "}", "config.eos_token_id[1]: expected an id" },
        { "{" CONFIG("\"bos_token_id\": 4294967296") "}", "config.bos_token_id: expected an id" },
        { "{" GENERATION("\"temperature\": -1") "}", "temperature: expected a number from 0 to" },
        { "{" GENERATION("\"temperature\": 1e999") "}", "temperature: expected a number" },
        { "{" GENERATION("\"temperature\": \"nan\"") "}", "temperature: expected a number" },
        { "{" GENERATION("\"top_p\": 1.5") "}", "top_p: expected a number from 0 to 1" },
        { "{" GENERATION("\"top_k\": 1.5") "}", "top_k: expected a number" },
        { "{" GENERATION("\"do_sample\": 1") "}", "do_sample: expected true or false" },
        { "{" TOKENIZER("\"chat_template\": 3") "}", "chat_template: expected a text" },
        { "{" TOKENIZER("\"added_tokens_decoder\": {\"-1\": {\"content\": \"x\"}}") "}",
          "expected an id as its name" },
        { "{" TOKENIZER("\"added_tokens_decoder\": {\"99999999999\": {\"content\": \"x\"}}") "}",
          "expected an id as its name" },
        { "{\"added_tokens\": {\"x\": -5}}", "added_tokens.x: expected an id" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Tokenizer t;
        Error e = { 0 };
        if (read_with(&t, plain, sizeof plain - 1, cases[i].object, &e) != STATUS_USER)
            fail_msg("%s: not refused", cases[i].object);
        if (!strstr(e.text, cases[i].words)) fail_msg("%s: %s", cases[i].object, e.text);
    }
}

static void what_is_too_large_is_refused(void **state) {
    Text object = { 0 };
    Tokenizer t;
    Error e = { 0 };
    (void)state;
    text_add(&object,
             "{"
             "\"chat_template\": \"");
    for (int i = 0; i <= TEXT_TEMPLATE; i++)
        text_bytes(&object, "x", 1);
    text_add(&object, "\"}");
    assert_int_equal(read_with(&t, plain, sizeof plain - 1, object.at, &e), STATUS_LIMIT);
    text_clear(&object);
    text_add(&object, "{\"generation_config\": {\"eos_token_id\": [0");
    for (int i = 1; i < 300; i++)
        text_add(&object, ", %d", i % 8);
    text_add(&object, "]}}"); /* few tokens, often */
    assert_int_equal(read_with(&t, plain, sizeof plain - 1, object.at, &e), 0);
    assert_int_equal(t.facts.ends, 8);
    tokenizer_free(&t);
    text_free(&object);
}

/* == Files ================================================================ */

static void files_are_what_they_were_without_it(void **state) {
    static const char *const names[] = { "bpe.model",   "unigram.model", "llama2.json",
                                         "llama3.json", "gpt2.json",     "small.tiktoken" };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length, from, to;
        char *bytes = read_whole(names[i], &length);
        Text object = { 0 }, with = { 0 }, again = { 0 }, without = { 0 };
        Error e = { 0 };
        text_add(&object, "{\"chat_template\": \"}]\\\\\\\"{,\"}");
        assert_false(text_object_span(bytes, length, &from, &to));
        assert_int_equal(text_object_put(&with, names[i], bytes, length, &object, &e), 0);
        assert_true(text_object_span(with.at, with.length, &from, &to));
        /* twice is once */
        assert_int_equal(text_object_put(&again, names[i], with.at, with.length, &object, &e), 0);
        assert_int_equal(again.length, with.length);
        assert_memory_equal(again.at, with.at, with.length);
        assert_int_equal(text_object_put(&without, names[i], with.at, with.length, NULL, &e), 0);
        bool line = strstr(names[i], "tiktoken") && bytes[length - 1] != '\n';
        assert_int_equal(without.length, length + line);
        assert_memory_equal(without.at, bytes, length);
        text_free(&object), text_free(&with), text_free(&again), text_free(&without);
        free(bytes);
    }
}

static void a_member_is_found_where_it_stands(void **state) {
    static const struct {
        const char *file, *without;
    } cases[] = {
        { "{\"strata\": {}}", "{}" },
        { "{ \"strata\": {\"a\": [1, {}]} , \"b\": 1}", "{  \"b\": 1}" },
        { "{\"a\": \"\\\"strata\\\": {\", \"strata\": {\"x\": \"}\"}, \"b\": 2}\n",
          "{\"a\": \"\\\"strata\\\": {\", \"b\": 2}\n" },
        { "{\"a\": {\"strata\": 1}}", "{\"a\": {\"strata\": 1}}" },
        { "{\"a\": 1,\"strata\":1  }", "{\"a\": 1  }" },
        { "{", "{" },
        { "{\"strata", "{\"strata" },
        { "{\"strata\"", "{\"strata\"" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Text out = { 0 };
        Error e = { 0 };
        size_t n = strlen(cases[i].file);
        char *exact = malloc(n); /* nothing behind it may be read */
        memcpy(exact, cases[i].file, n);
        text_object_put(&out, "t", exact, n, NULL, &e);
        if (i < 5) assert_string_equal(out.at, cases[i].without);
        text_free(&out);
        free(exact);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampling_is_what_the_newer_file_says),
        cmocka_unit_test(templates_are_the_file_before_the_member),
        cmocka_unit_test(templates_have_forms),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(what_is_too_large_is_refused),
        cmocka_unit_test(files_are_what_they_were_without_it),
        cmocka_unit_test(a_member_is_found_where_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
