/* SPDX-License-Identifier: MIT
** Tokenizers of files: what the libraries make of the same files and texts (tokenizers/, written
** by interop/tokenizer_vectors.py), what is refused, and the functions of strata.h.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strata.h"
#include "normalize.h"
#include "tokenizer_file.h"
#define FOLDER SOURCE_DIR "/tests/runtime/tokenizers/"

static char *read_whole(const char *name, size_t *length) {
    char path[512];
    print_text(path, sizeof path, FOLDER "%s", name);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s: cannot open", path);
    fseek(f, 0, SEEK_END);
    *length = (size_t)ftell(f);
    rewind(f);
    char *all = malloc(*length + 1);
    assert_int_equal(fread(all, 1, *length, f), *length);
    all[*length] = 0;
    fclose(f);
    return all;
}

#define CL100K                                                             \
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| " \
    "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"

static void open_file(Tokenizer *t, const char *name) {
    static const char *const specials[] = { "<|endoftext|>" };
    TiktokenExtra extra = { CL100K, specials, 1 };
    size_t length;
    Error e = { 0 };
    char *bytes = read_whole(name, &length);
    int status = strstr(name, ".tiktoken")
        ? tokenizer_parse_tiktoken(t, name, bytes, length, &extra, &e)
        : tokenizer_parse(t, name, bytes, length, &e);
    free(bytes);
    if (status) fail_msg("%s", e.text);
}

/* == Vectors ============================================================== */

static size_t from_hex(const char *hex, char *to) {
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        char two[3] = { hex[2 * i], hex[2 * i + 1], 0 };
        to[i] = (char)strtol(two, NULL, 16);
    }
    return n;
}

static void same_text(const char *name, const char *hex, const char *found, size_t length) {
    char *want = malloc(strlen(hex) + 1);
    size_t n = from_hex(hex, want);
    if (n != length || memcmp(want, found, n) != 0)
        fail_msg("%s: expected '%.*s', found '%.*s'", name, (int)n, want, (int)length, found);
    free(want);
}

static void check_decoding(const Tokenizer *t, const char *name, const char *hex,
                           const TokenIds *ids) {
    Text whole = { 0 }, all = { 0 };
    Decoder d = { 0 };
    assert_int_equal(tokenizer_decode(t, ids->at, ids->count, false, &whole, NULL), 0);
    same_text(name, hex, whole.at, whole.length);
    for (int64_t i = 0; i <= ids->count; i++) {
        int status = i < ids->count ? decoder_push(&d, t, ((int32_t *)ids->at)[i], NULL)
                                    : decoder_end(&d, t, NULL);
        assert_int_equal(status, 0);
        text_bytes(&all, d.text.at, d.text.length);
    }
    if (!strstr(hex, "efbfbd")) same_text(name, hex, all.at, all.length);
    decoder_free(&d);
    text_free(&whole);
    text_free(&all);
}

static void check_vector(const Tokenizer *t, const char *name, const Json *j, const JsonNode *v) {
    const JsonNode *want = json_member(j, v, "ids");
    const char *hex = json_member(j, v, "text")->text;
    char *text = malloc(strlen(hex) + 1);
    size_t n = from_hex(hex, text);
    TokenIds ids = { .width = 4, .grows = true, .template = true };
    Error e;
    if (token_ids_encode(&ids, t, name, text, n, &e)) fail_msg("%s", e.text);
    if (ids.count != want->count)
        fail_msg("%s: '%.*s': expected %u ids, found %d", name, (int)n, text, want->count,
                 (int)ids.count);
    int64_t i = 0, id;
    for (const JsonNode *c = json_first(j, want); c; c = json_next(j, c), i++)
        if (!json_int64(c, &id) || id != ((int32_t *)ids.at)[i])
            fail_msg("%s: '%.*s': expected id %s at %d, found %d", name, (int)n, text, c->text,
                     (int)i, ((int32_t *)ids.at)[i]);
    check_decoding(t, name, json_member(j, v, "decoded")->text, &ids);
    free(ids.at);
    free(text);
}

static void vectors(void **state) {
    (void)state;
    Json j;
    size_t length;
    int files = 0, texts = 0;
    char *bytes = read_whole("vectors.json", &length);
    assert_int_equal(json_parse(&j, "vectors.json", bytes, length, 1 << 20, NULL), 0);
    for (const JsonNode *f = json_first(&j, j.node); f; f = json_next(&j, f), files++) {
        Tokenizer t;
        open_file(&t, f->key);
        for (const JsonNode *v = json_first(&j, f); v; v = json_next(&j, v), texts++)
            check_vector(&t, f->key, &j, v);
        tokenizer_free(&t);
    }
    assert_int_equal(files, 11);
    assert_int_equal(texts, 358);
    json_free(&j);
    free(bytes);
}

/* == Long words =========================================================== */

/* 1 MB without a place to divide it: in time that more than n log n does not have. */
static void long_words(void **state) {
    (void)state;
    static const char *const name[] = { "gpt2.json", "llama2.json", "bpe.model", "unigram.model" };
    enum { LENGTH = 1 << 20 };
    char *text = malloc(LENGTH);
    for (int i = 0; i < LENGTH; i++)
        text[i] = "theca"[(int64_t)i * i % 5];
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        Tokenizer t;
        TokenIds ids = { .width = 4, .grows = true };
        Text back = { 0 };
        open_file(&t, name[i]);
        assert_int_equal(token_ids_encode(&ids, &t, name[i], text, LENGTH, NULL), 0);
        assert_int_equal(tokenizer_decode(&t, ids.at, ids.count, false, &back, NULL), 0);
        assert_int_equal(back.length, LENGTH);
        assert_memory_equal(back.at, text, LENGTH);
        text_free(&back);
        free(ids.at);
        tokenizer_free(&t);
    }
    free(text);
}

/* == What is refused ====================================================== */

#define MODEL \
    "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": "
#define DECODER ", \"decoder\": {\"type\": \"Fuse\"}"
#define WHOLE MODEL "[\"a b\"]}" DECODER

#define A16 "aaaaaaaaaaaaaaaa"
#define A64 A16 A16 A16 A16
#define GROWS                                                                                   \
    "{\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, \"content\": \"" A64 A64 A64 A64 \
    "\"}"
#define BEGIN "{\"SpecialToken\": {\"id\": \"b\"}}, "
#define BEGINS BEGIN BEGIN BEGIN BEGIN BEGIN BEGIN BEGIN BEGIN
#define IDS "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "

static const struct {
    const char *file, *said;
} refused[] = {
    { "{" MODEL "[]}, \"decoder\": {\"type\": \"Sequence\", \"decoders\": [" GROWS ", " GROWS
      ", " GROWS ", " GROWS ", " GROWS "]}}",
      "decoder: expected at most 256 bytes as the text of id 0, found more" },
    { "{" WHOLE
      ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [" BEGINS BEGINS BEGINS
          BEGINS BEGINS BEGINS BEGINS BEGINS
      "{\"Sequence\": {\"id\": \"A\"}}], \"special_tokens\": {\"b\": {\"ids\": [" IDS IDS IDS
          IDS IDS "1]}}}}",
      "post_processor: expected at most 4096 ids around a text, found more" },
    { "", "expected a tokenizer (" },
    { "hello", "expected a tokenizer (" },
    { "{", "expected a string" },
    { "{}", "model: expected an object, found nothing" },
    { "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {}}}", "found \"WordPiece\": not in this" },
    { "{" MODEL "[\"a b\"]}}", "decoder: expected one" },
    { "{" MODEL "[\"a c\"]}" DECODER "}", "model.merges[0]: expected pieces of the vocabulary" },
    { "{" MODEL "[\"a\"]}" DECODER "}", "model.merges[0]: expected two pieces" },
    { "{" MODEL "[[\"a\", \"b\", \"a\"]]}" DECODER "}", "model.merges[0]: expected two pieces" },
    { "{" MODEL "[], \"dropout\": 0.1}" DECODER "}", "model.dropout: expected none" },
    { "{" MODEL "[], \"end_of_word_suffix\": \"</w>\"}" DECODER "}",
      "end_of_word_suffix: expected" },
    { "{" MODEL "[], \"strange\": 1}" DECODER "}", "found \"strange\": not in this version" },
    { "{" MODEL "[], \"unk_token\": \"u\"}" DECODER "}", "unk_token: expected a piece" },
    { "{\"model\": {\"vocab\": {\"a\": 0, \"b\": 0}, \"merges\": []}}",
      "model.vocab.b: expected an id of its own, found 0, that of" },
    { "{\"model\": {\"vocab\": {\"a\": 0, \"a\": 1}, \"merges\": []}}", "found the key twice" },
    { "{\"model\": {\"vocab\": {\"a\": -1}, \"merges\": []}}", "model.vocab.a: expected an id" },
    { "{\"model\": {\"vocab\": {\"a\": 99999999}, \"merges\": []}}",
      "expected an id from 0 to 4194303" },
    { "{" WHOLE ", \"normalizer\": {\"type\": \"Precompiled\"}}",
      "normalizer.precompiled_charsmap: expected a string" },
    { "{" WHOLE ", \"normalizer\": {\"type\": \"NFC\", \"x\": 1}}", "found \"x\": not in this" },
    { "{" WHOLE ", \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}}", "\"BertPreTokenizer\"" },
    { "{" WHOLE ", \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"(\"}}}",
      "expected a regular expression" },
    { "{" WHOLE ", \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"\\\\R\"}}}",
      "knows of regular expressions" },
    { "{" WHOLE ", \"pre_tokenizer\": {\"type\": \"ByteLevel\"}}", "expected ByteLevel, as the" },
    { "{" WHOLE ", \"post_processor\": {\"type\": \"BertProcessing\"}}", "\"BertProcessing\"" },
    { "{" WHOLE ", \"added_tokens\": [{\"id\": 1, \"content\": \"x\"}]}", "the piece of id 1" },
    { "{" WHOLE ", \"added_tokens\": [{\"id\": 3}]}",
      "added_tokens[0].content: expected a string" },
    { "{" MODEL "[]}, \"decoder\": {\"type\": \"CTC\"}}", "found \"CTC\": not in this version" },
    { "{\"version\": \"2.0\", " WHOLE "}", "version: expected 1.0, found \"2.0\"" },
    { "{" MODEL "[]}, \"decoder\": {\"type\": \"Metaspace\", \"prepend_scheme\": \"last\"}}",
      "decoder.prepend_scheme: expected always, first or never" },
    { "{" MODEL "[]}, \"decoder\": {\"type\": \"Metaspace\", \"replacement\": \"ab\"}}",
      "decoder.replacement: expected one character" },
    { "{" WHOLE ", \"pre_tokenizer\": {\"type\": \"CharDelimiterSplit\", \"delimiter\": \"\"}}",
      "pre_tokenizer.delimiter: expected one character" },
    { "{" WHOLE
      ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"Sequence\":"
      " {\"id\": \"B\"}}]}}",
      "post_processor.single[0].Sequence.id: expected A, found \"B\"" },
    { "YQ== 0\n", "expected as many ranks as a known vocabulary has" },
    { "YQ== 0\nYg= 1\n", "line 2: expected a piece" },
    { "YQ== 0\nYg== 1x\n", "line 2: expected a piece" },
    { "\n\x05\n\x01"
      "a\x18\x09",
      "pieces[0].type: expected a type from 1 to 6" },
    { "\n\x03\n\x01"
      "a",
      "expected an unknown piece, found none" },
    { "\n\x7f", "model: expected a field" },
};

static void what_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        Tokenizer t;
        Error e = { 0 };
        int status = tokenizer_parse(&t, "file", refused[i].file, strlen(refused[i].file), &e);
        if (!status || strncmp(e.text, "file", 4) != 0 || !strstr(e.text, refused[i].said))
            fail_msg("%s: expected '%s', found status %d '%s'", refused[i].file, refused[i].said,
                     status, e.text);
        assert_null(t.kind);
    }
}

/* Every beginning of a file is refused or read, and nothing else. */
static void cut_files(void **state) {
    (void)state;
    static const char *const name[] = { "qwen.json", "bpe.model", "unigram.model" };
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        size_t length;
        char *bytes = read_whole(name[i], &length);
        for (size_t n = 0; n + 3 < length; n += 1 + n % 7) {
            Tokenizer t;
            char *part = malloc(n ? n : 1);
            memcpy(part, bytes, n);
            if (!tokenizer_parse(&t, "part", part, n, NULL)) tokenizer_free(&t);
            free(part);
        }
        free(bytes);
    }
}

/* A character that becomes 90, each of which becomes 250: refused before it takes the memory. */
static void growing_texts(void **state) {
    (void)state;
    enum { LENGTH = 4096 };
    char many[91] = "", more[251] = "", given[LENGTH], one[] = "a", two[] = "b";
    const char *text = given;
    size_t length = LENGTH;
    Error e = { 0 };
    memset(many, 'b', 90), memset(more, 'c', 250), memset(given, 'a', LENGTH);
    for (int pattern = 0; pattern < 2; pattern++, text = given, length = LENGTH) {
        Normalizer x = { .step = { { NORMALIZE_REPLACE, one, many, { 0 }, false, false },
                                   { NORMALIZE_REPLACE, two, more, { 0 }, false, false } },
                         .count = 2 };
        NormalizeWork work = { 0 };
        for (int i = 0; i < 2 && pattern; i++)
            assert_int_equal(
                pattern_open(&x.step[i].pattern, i ? "b" : "a", PATTERN_RUST, "pattern", &e), 0);
        const PatternPlace place = { "text", text, length, 0, 0 };
        assert_int_equal(normalize(&x, &work, &place, &text, &length, &e), STATUS_LIMIT);
        assert_non_null(strstr(e.text, "text: expected normalization to at most"));
        assert_in_range(work.text[0].room + work.text[1].room, LENGTH, 1 << 22);
        normalize_done(&work);
        for (int i = 0; i < 2; i++)
            pattern_free(&x.step[i].pattern);
    }
}

/* == strata.h ============================================================= */

static void for_programs(void **state) {
    (void)state;
    strata_tokenizer *t, *none;
    char message[256], text[64];
    int32_t room[64];
    strata_ids ids = { room, 64, 0 };
    strata_text back = { text, sizeof text, 0 };
    assert_int_equal(strata_tokenizer_read(FOLDER "llama3.json", &t, message, sizeof message), 0);
    assert_int_equal(strata_tokenizer_ids(t), 342);
    assert_int_equal(strata_tokenizer_end(t), 341);
    assert_int_equal(strata_tokenizer_find(t, "<|begin_of_text|>"), 340);
    assert_true(strata_tokenizer_find(t, "\xc4\xa0the") > 255);
    assert_int_equal(strata_tokenizer_find(t, "nothing of it"), -1);
    assert_int_equal(strata_tokenizer_find(t, ""), -1);
    assert_int_equal(
        strata_tokenizer_encode(t, "the cat", 7, STRATA_TEMPLATE, &ids, message, sizeof message),
        0);
    assert_int_equal(room[0], 340);
    size_t all = ids.count;
    ids.room = 1;
    room[1] = -7;
    assert_int_equal(strata_tokenizer_encode(t, "the cat", 7, 0, &ids, NULL, 0), 0);
    assert_int_equal(ids.count, all - 1);
    assert_int_equal(room[1], -7); /* beyond the room */
    ids.room = 64;
    strata_tokenizer_encode(t, "<|end_of_text|>", 15, 0, &ids, NULL, 0);
    assert_true(ids.count == 1 && room[0] == 341);
    strata_tokenizer_encode(t, "<|end_of_text|>", 15, STRATA_PLAIN, &ids, NULL, 0);
    assert_true(ids.count > 1);
    room[0] = 341;
    assert_int_equal(strata_tokenizer_decode(t, room, 1, 0, &back, NULL, 0), 0);
    assert_int_equal(back.length, 0);
    strata_tokenizer_decode(t, room, 1, STRATA_SPECIALS, &back, NULL, 0);
    assert_true(back.length == 15 && !memcmp(text, "<|end_of_text|>", 15));
    assert_int_equal(strata_tokenizer_encode(NULL, "", 0, 0, &ids, message, sizeof message), 1);
    assert_non_null(strstr(message, "expected a pointer"));
    assert_int_equal(strata_tokenizer_read("/none", &none, message, sizeof message), 1);
    assert_null(none);
    strata_tokenizer_free(t);
}

/* A character of three bytes, of three ids: it comes with the last one. */
static void whole_characters(void **state) {
    (void)state;
    strata_tokenizer *t;
    size_t length, bytes;
    int32_t room[64];
    strata_ids ids = { room, 64, 0 };
    char *file = read_whole("gpt2.json", &length);
    assert_int_equal(strata_tokenizer_parse(file, length, &t, NULL, 0), 0);
    free(file);
    assert_int_equal(strata_tokenizer_encode(t, "\xe2\x82\xac", 3, 0, &ids, NULL, 0), 0);
    assert_int_equal(ids.count, 3);
    strata_decoder *d = strata_decoder_new(t, STRATA_CONTINUES);
    assert_string_equal(strata_decoder_push(d, room[0], &bytes), "");
    assert_string_equal(strata_decoder_push(d, room[1], &bytes), "");
    assert_string_equal(strata_decoder_push(d, room[2], &bytes), "\xe2\x82\xac");
    assert_int_equal(bytes, 3);
    assert_string_equal(strata_decoder_end(d, &bytes), "");
    strata_decoder_push(d, room[0], NULL);
    assert_string_equal(strata_decoder_push(d, room[0], NULL), "\xef\xbf\xbd");
    assert_string_equal(strata_decoder_end(d, NULL), "\xef\xbf\xbd");
    strata_decoder_free(d);
    strata_tokenizer_free(t);
}

/* What files of a checkpoint say: several ends, a beginning that is not put in front; none. */
static void begin_and_ends(void **state) {
    (void)state;
    strata_tokenizer *t;
    size_t length;
    int32_t room[4] = { -7, -7, -7, -7 };
    char *file = read_whole("gpt2.json", &length), *told;
    int n = asprintf(&told,
                     "{\"strata\": {\"generation_config\": {\"bos_token_id\": 9, "
                     "\"eos_token_id\": [5, 340, 3]}},%.*s",
                     (int)length - 1, file + 1);
    assert_int_equal(strata_tokenizer_parse(told, (size_t)n, &t, NULL, 0), 0);
    assert_int_equal(strata_tokenizer_begin(t), 9);
    assert_int_equal(strata_tokenizer_ends(t, NULL, 0), 3);
    assert_int_equal(strata_tokenizer_ends(t, room, 2), 3);
    assert_int_equal(room[0], 5);
    assert_int_equal(room[1], 340);
    assert_int_equal(room[2], -7); /* beyond the room */
    assert_int_equal(strata_tokenizer_ends(t, room, 4), 3);
    assert_int_equal(room[2], 3);
    assert_int_equal(room[3], -7);
    assert_int_equal(strata_tokenizer_end(t), 340); /* the usual name, of those */
    strata_tokenizer_free(t);
    free(told);
    free(file);
    assert_int_equal(strata_tokenizer_ends(NULL, room, 4), 0);
    assert_int_equal(strata_tokenizer_begin(NULL), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),          cmocka_unit_test(long_words),
        cmocka_unit_test(what_is_refused),  cmocka_unit_test(cut_files),
        cmocka_unit_test(growing_texts),    cmocka_unit_test(for_programs),
        cmocka_unit_test(whole_characters), cmocka_unit_test(begin_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
