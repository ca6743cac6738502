/* SPDX-License-Identifier: MIT
** Texts that are not UTF-8, with tokenizers of every kind: bytes that belong to no character are
** kept where there are ids of bytes, and are U+FFFD where there are none; both are counted.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "scratch.h"
#include "stray.h"
#include "tokenizer_file.h"

static const struct {
    const char *file;
    bool keeps, changes; /* its normalizer makes other text of some */
} kinds[] = {
    { "gpt2.json", true, false },       { "llama3.json", true, false },
    { "qwen.json", true, true },        { "tekken.json", true, false },
    { "digits.json", true, false },     { "llama2.json", true, false },
    { "metaspace.json", false, false }, { "small.tiktoken", true, false },
    { "bpe.model", true, true },        { "unigram.model", false, true },
    { "unigram.json", false, true },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* And how many of their bytes belong to no character. */
static const struct {
    const char *text;
    int64_t stray;
} texts[] = {
    { "a\xff", 1 },
    { "\xff", 1 },
    { "\xff\xfe\xfd the cat", 3 },
    { "the c\xe9t", 1 },
    { "the \xe4\xbd cat \xf0\x9f\x98", 5 },
    { "caf\xc3\xa9 \xc3 \xa9s", 2 },
    { "\xed\xa0\x80 \xc0\x80", 5 },
    { "the\xe2the \xe2\x96the \xf0the", 4 },
    { "\xf4\x8f\xbe\x80 \xf4\x90\x80\x80 \xf3\xb0\x80\x80", 4 },
    { "the cat's mats \xf4\x8f\xbf\xbf\xf8", 1 },
};
enum { TEXTS = sizeof texts / sizeof *texts };

static void open_kind(Tokenizer *t, const char *name) {
    TiktokenExtra extra = { " ?[^\\s]+|\\s+", NULL, 0 };
    char path[1024];
    size_t n;
    Error e = { 0 };
    print_text(path, sizeof path, SOURCE_DIR "/tests/runtime/tokenizers/%s", name);
    char *bytes = scratch_read(path, &n);
    assert_non_null(bytes);
    int status = strstr(name, ".tiktoken") ? tokenizer_parse_tiktoken(t, name, bytes, n, &extra, &e)
                                           : tokenizer_parse(t, name, bytes, n, &e);
    if (status) fail_msg("%s", e.text);
    free(bytes);
}

static TokenIds encode(const Tokenizer *t, const char *text, size_t length) {
    TokenIds ids = { .width = 4, .grows = true };
    Error e = { 0 };
    if (token_ids_encode(&ids, t, "text", text, length, &e)) fail_msg("%s", e.text);
    return ids;
}

static void add_bytes(Text *to, const Tokenizer *t, const TokenIds *ids) {
    for (int64_t i = 0; i < ids->count; i++) {
        Decoder d = { .specials = true, .begun = true };
        const char *text = "";
        int n = t->kind->decode(t, ((int32_t *)ids->at)[i], &d, &text);
        assert_true(n >= 0);
        text_bytes(to, text, (size_t)n);
        decoder_free(&d);
    }
}

/* The bytes of the ids are the text's, but for a space that some kinds put in front. */
static void check_kept(const Tokenizer *t, const char *name, const char *text,
                       const TokenIds *ids) {
    Text found = { 0 };
    size_t n = strlen(text);
    add_bytes(&found, t, ids);
    text_bytes(&found, "", 0);
    const char *at = found.at;
    if (found.length == n + 1 && *at == ' ') at++, found.length--;
    if (found.length != n || memcmp(at, text, n) != 0)
        fail_msg("%s: expected '%s', found '%.*s'", name, text, (int)found.length, at);
    text_free(&found);
}

/* The same ids as of the text with U+FFFD, of one byte or of several. */
static void check_replaced(const Tokenizer *t, const char *name, const TokenIds *ids) {
    TokenIds one = encode(t, "\xef\xbf\xbd", 3);
    int32_t unknown = ((int32_t *)one.at)[one.count - 1];
    bool found = false;
    for (int64_t i = 0; i < ids->count; i++)
        found |= ((int32_t *)ids->at)[i] == unknown;
    if (!found) fail_msg("%s: expected the id of U+FFFD, %d", name, unknown);
    free(one.at);
}

static void every_kind_counts_and_keeps(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        Tokenizer t;
        open_kind(&t, kinds[k].file);
        assert_int_equal(t.any_bytes, kinds[k].keeps);
        for (int i = 0; i < TEXTS; i++) {
            TokenIds ids = encode(&t, texts[i].text, strlen(texts[i].text));
            if (ids.stray != texts[i].stray)
                fail_msg("%s, text %d: expected %d bytes, found %d", kinds[k].file, i,
                         (int)texts[i].stray, (int)ids.stray);
            if (kinds[k].keeps) check_kept(&t, kinds[k].file, texts[i].text, &ids);
            else check_replaced(&t, kinds[k].file, &ids);
            free(ids.at);
        }
        tokenizer_free(&t);
    }
}

/* Random bytes, and UTF-8, of which none is one: the latter are as without this. */
static void random_bytes_are_kept(void **state) {
    (void)state;
    static const char some[] = "the a\n\xc3\xa9\xe4\xb8\x96\xff\xe2\xf4\x8f\xbe\x80\xf0\x9f";
    uint32_t seed = 5;
    for (int k = 0; k < KINDS; k++) {
        Tokenizer t;
        if (!kinds[k].keeps || kinds[k].changes) continue;
        open_kind(&t, kinds[k].file);
        for (int i = 0; i < 2000; i++) {
            char text[24] = "";
            int n = i % 23;
            for (int c = 0; c < n; c++)
                text[c] = some[(seed = seed * 1664525 + 1013904223) / 65536 % (sizeof some - 1)];
            TokenIds ids = encode(&t, text, (size_t)n);
            check_kept(&t, kinds[k].file, text, &ids);
            free(ids.at);
        }
        tokenizer_free(&t);
    }
}

/* A text with characters of every block of planes 15 and 16 leaves none to stand for bytes. */
static void a_text_of_all_private_characters_is_refused(void **state) {
    (void)state;
    Tokenizer t;
    Text text = { 0 };
    Error e = { 0 };
    TokenIds ids = { .width = 4, .grows = true };
    for (uint32_t c = 0xf0000; c < 0x110000; c += 256) {
        const char one[] = { (char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 63)),
                             (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63)) };
        text_bytes(&text, one, 4);
    }
    open_kind(&t, "gpt2.json");
    assert_int_equal(token_ids_encode(&ids, &t, "text", text.at, text.length, &e), 0);
    assert_int_equal(ids.stray, 0);
    text_bytes(&text, "\xff", 1);
    assert_int_equal(token_ids_encode(&ids, &t, "text", text.at, text.length, &e), STATUS_LIMIT);
    assert_non_null(strstr(e.text, "found 1 bytes that are not UTF-8"));
    free(ids.at);
    text_free(&text);
    tokenizer_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_counts_and_keeps),
        cmocka_unit_test(random_bytes_are_kept),
        cmocka_unit_test(a_text_of_all_private_characters_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
