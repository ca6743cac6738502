/* SPDX-License-Identifier: MIT
** tokenizer.json with values that no tokenizer has: of the files beside this one, and of one with
** every part that the reader knows, each value at any depth.  What is accepted encodes and decodes;
** of what is not, a line names the file, and the value or another that it contradicts.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "json_sweep.h"
#include "scratch.h"
#include "tokenizer_promises.h"

/* == Values =============================================================== */

#define NESTED "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((a"
#define CLOSED "))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))"

/* Beside those of all: types, pieces and expressions that others have. */
static const char *const values[] = {
    "\"ByteLevel\"",
    "\"Metaspace\"",
    "\"Sequence\"",
    "\"Split\"",
    "\"Replace\"",
    "\"Prepend\"",
    "\"Strip\"",
    "\"NFC\"",
    "\"NFKD\"",
    "\"Lowercase\"",
    "\"Digits\"",
    "\"Punctuation\"",
    "\"WhitespaceSplit\"",
    "\"CharDelimiterSplit\"",
    "\"Fuse\"",
    "\"ByteFallback\"",
    "\"TemplateProcessing\"",
    "\"BPE\"",
    "\"WordPiece\"",
    "\"Unigram\"",
    "\"Precompiled\"",
    "\"BertNormalizer\"",
    "\"Removed\"",
    "\"MergedWithNext\"",
    "\"never\"",
    "\"first\"",
    "\"a b\"",
    "\"a nothing\"",
    "\"\\u2581\"",
    "\"\\ud83d\\ude00\"",
    "\" \"",
    "\"<s>\"",
    "[\"a\", \"nothing\"]",
    "[\"a\", \"a\", \"a\"]",
    "4194303",
    "4194304",
    "{\"type\": \"NFC\"}",
    "{\"type\": \"ByteLevel\"}",
    "{\"type\": \"Metaspace\"}",
    "{\"type\": \"Sequence\"}",
    "{\"type\": \"Fuse\"}",
    "{\"type\": \"ByteFallback\"}",
    "{\"type\": \"Strip\", \"content\": \" \", \"start\": 1, \"stop\": 0}",
    "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"a*\"}, \"behavior\": \"Removed\"}",
    "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"\"}, \"content\": \"xx\"}",
    "{\"type\": \"Prepend\", \"prepend\": \"\"}",
    "{\"String\": \"\"}",
    "{\"Regex\": \"(\"}",
    "{\"Regex\": \"a\", \"String\": \"a\"}",
    "\"(\"",
    "\")\"",
    "\"[\"",
    "\"[]\"",
    "\"*\"",
    "\"a**\"",
    "\"a{99999}\"",
    "\"(?:a{99999}){99999}\"",
    "\"((a{500}){500}){500}\"",
    "\"(a*)*(a*)*(a*)*b\"",
    "\"(?:(?:(?:a|a)*)*)*b\"",
    "\"\\\\\"",
    "\"\\\\p{\"",
    "\"\\\\p{Nowhere}\"",
    "\"\\\\x{110000}\"",
    "\"\\\\x{d800}\"",
    "\"\\\\1\"",
    "\"\\\\C\"",
    "\"(?R)\"",
    "\"(?<=a*)b\"",
    "\"[^a&&[b&&[c]]]\"",
    "\"[z-a]\"",
    "\"" NESTED CLOSED "\"",
    "\"" NESTED "\"",
    NULL,
};
/* Members that a tokenizer may have, and some that it may not. */
static const char *const members[] = { "normalizer",   "pre_tokenizer", "post_processor",
                                       "decoder",      "truncation",    "padding",
                                       "added_tokens", "strange",       NULL };

/* == A file with everything =============================================== */

#define SPLIT(pattern, behavior, invert)                                              \
    "{\"type\": \"Split\", \"pattern\": " pattern ", \"behavior\": \"" behavior "\"," \
    " \"invert\": " invert "}"
#define NORMALIZER                                                                               \
    "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFD\"},"            \
    " {\"type\": \"NFKC\"}, {\"type\": \"Lowercase\"}, {\"type\": \"Strip\", \"strip_left\":"    \
    " true, \"strip_right\": false}, {\"type\": \"Prepend\", \"prepend\": \"\xe2\x96\x81\"},"    \
    " {\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"\xe2\x96\x81\"}," \
    " {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"a+|(?=b)\"}, \"content\": \"a\"}]}, "
#define SPLITTER                                                                            \
    "\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\":"            \
    " \"WhitespaceSplit\"}, {\"type\": \"Whitespace\"}, {\"type\": \"Punctuation\","        \
    " \"behavior\": \"Contiguous\"}, {\"type\": \"Digits\", \"individual_digits\": false}," \
    " {\"type\": \"CharDelimiterSplit\", \"delimiter\": \"-\"}, " SPLIT(                    \
        "{\"String\": \"b\"}", "MergedWithNext",                                            \
        "false") ", " SPLIT("{\"Regex\": \"a{1,3}+\"}", "MergedWithPrevious",               \
                            "true") ", "                                                    \
                                    "{\"type\": \"Metaspace\", \"replacement\": "           \
                                    "\"\xe2\x96\x81\", "                                    \
                                    "\"prepend_scheme\": \"first\","                        \
                                    " \"add_prefix_space\": true, \"split\": true}]}, "
#define AROUND                                                                                 \
    "\"post_processor\": {\"type\": \"Sequence\", \"processors\": [{\"type\": \"ByteLevel\"}," \
    " {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"<s>\","    \
    " \"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\"}}, {\"SpecialToken\": {\"id\":"          \
    " \"<s>\"}}], \"special_tokens\": {\"<s>\": {\"id\": \"<s>\", \"ids\": [6, 6]}}}]}, "
#define DECODER                                                                                 \
    "\"decoder\": {\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Metaspace\","            \
    " \"replacement\": \"\xe2\x96\x81\", \"prepend_scheme\": \"always\", \"add_prefix_space\":" \
    " true}, {\"type\": \"Replace\", \"pattern\": {\"String\": \"b\"}, \"content\": \"B\"},"    \
    " {\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"}]}, "
#define ADDED                                                                              \
    "\"added_tokens\": [{\"id\": 6, \"content\": \"<s>\", \"special\": true}, {\"id\": 7," \
    " \"content\": \"<A>\", \"lstrip\": true, \"rstrip\": true, \"normalized\": true,"     \
    " \"single_word\": true, \"special\": false}], "
#define MODEL                                                                                   \
    "\"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": \"u\", \"fuse_unk\":"     \
    " true, \"byte_fallback\": true, \"ignore_merges\": true, \"continuing_subword_prefix\":"   \
    " \"\", \"end_of_word_suffix\": null, \"vocab\": {\"u\": 0, \"a\": 1, \"\xe2\x96\x81\": 2," \
    " \"\xe2\x96\x81"                                                                           \
    "a\": 3, \"<0xC3>\": 4, \"<0xA9>\": 5, \"b\": 8, \"ab\": 9}, \"merges\":"                   \
    " [\"\xe2\x96\x81 a\", [\"a\", \"b\"]]}"
static const char everything[] = "{" NORMALIZER SPLITTER AROUND DECODER ADDED MODEL "}";

/* == One reading ========================================================== */

/* Is 'place', of n bytes, the value's, one that came in it, or the one that it is in?  Beside a
** type it may be what that type has. */
static bool is_place(const char *place, size_t n, const JsonEdit *x) {
    size_t all = strlen(x->path), up = all;
    while (up && (up == all || !strchr(".[", x->path[up])))
        up--;
    if (!strcmp(x->field, "type") && n > up) return !strncmp(place, x->path, up);
    return n > all ? !strncmp(place, x->path, all) : n >= up && !strncmp(place, x->path, n);
}

/* Does the line have a number or a name that came, or went? */
static bool tells(const char *line, const char *value) {
    for (size_t n; *value; value += n + !n) {
        char word[64];
        n = strcspn(value, "\" ,:{}[]");
        print_text(word, sizeof word, "%.*s", (int)n, value);
        if (n < 3 && (!n || n != strspn(word, "0123456789"))) continue;
        if (strcmp(word, "type") != 0 && strstr(line, word)) return true;
    }
    return false;
}

/* Or does what was found show the value's name, or what went or came? */
static bool shows(const char *found, const JsonEdit *x) {
    const char *begin = strchr(found, '"'), *end = strrchr(found, '"');
    char shown[512];
    if (!begin || end < begin + 2) return false;
    print_text(shown, sizeof shown, "\"%s\"", x->field);
    if (strstr(found, shown)) return true;
    print_text(shown, sizeof shown, "%.*s", (int)(end - begin) - 1, begin + 1);
    return strstr(x->before, shown) || strstr(x->after, shown);
}

static bool is_clear(const Error *e, const JsonEdit *x) {
    if (!sweep_line(e, "file")) return false;
    if (!strncmp(e->text, "file:byte ", 10)) return true; /* no JSON */
    if (!strncmp(e->text, "file: ", 6)) return !*x->path;
    const char *place = e->text + 5, *end = strstr(place, ": expected ");
    return is_place(place, (size_t)(end - place), x) || shows(strstr(end, ", found "), x)
        || tells(place, x->before) || tells(place, x->after);
}

static void attempt(void *user, const JsonEdit *x) {
    Sweep *s = user;
    Error e = { 0 };
    int taken = tokenizer_promises(x->text->at, x->text->length, NULL, &e);
    bool clear = taken || is_clear(&e, x);
    sweep_tried(s, !taken, clear);
    if (!clear) sweep_tell(s, x->path, x->after, &e);
}

static void sweep(const char *name, const char *text) {
    Sweep s;
    const JsonSweep w = { values, members, attempt, &s };
    if (!sweep_open(&s, name, 499)) return;
    Error e = { 0 };
    if (!tokenizer_promises(text, strlen(text), NULL, &e)) fail_msg("%s: %s", name, e.text);
    json_sweep(&w, &s, text);
    sweep_end(&s);
}

static void sweep_file(const char *name) {
    char path[1024];
    size_t n;
    print_text(path, sizeof path, SOURCE_DIR "/tests/runtime/tokenizers/%s.json", name);
    char *text = scratch_read(path, &n);
    assert_non_null(text);
    sweep(name, text);
    free(text);
}

#define CASE(name)                          \
    static void test_##name(void **state) { \
        (void)state;                        \
        sweep_file(#name);                  \
    }
CASE(digits)
CASE(gpt2)
CASE(llama2)
CASE(llama3)
CASE(metaspace)
CASE(qwen)
CASE(tekken)

static void all_parts(void **state) {
    (void)state;
    sweep("all_parts", everything);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_parts),   cmocka_unit_test(test_digits),
        cmocka_unit_test(test_gpt2),   cmocka_unit_test(test_llama2),
        cmocka_unit_test(test_llama3), cmocka_unit_test(test_metaspace),
        cmocka_unit_test(test_qwen),   cmocka_unit_test(test_tekken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
