/* SPDX-License-Identifier: MIT
** Training of byte-level BPE: the merges that the package 'tokenizers' 0.23.3 makes of text.txt
** (merges.json), those of the definition on random words, ids, ties.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "bpe_file.h"
#include "random.h"
#include "scratch.h"
#include "training_words.h"

#define FOLDER SOURCE_DIR "/tests/tokenizer/"

static void add(WordCounts *w, const char *word, int64_t times) {
    assert_true(words_add(w, word, strlen(word), times) >= 0);
}

/* "LEFT RIGHT" of a merge. */
static const char *merge_text(const BpeVocabulary *v, int64_t i, char out[512]) {
    print_text(out, 512, "%s %s", words_text(&v->token, v->merge[i].left),
               words_text(&v->token, v->merge[i].right));
    return out;
}

static void train(BpeVocabulary *v, const WordCounts *w, int64_t size) {
    Error e = { 0 };
    assert_int_equal(bpe_begin(v, NULL, 0, &e), 0);
    if (bpe_train(v, w, size, &e)) fail_msg("%s", e.text);
}

static void bytes_are_spelt_as_gpt2_does(void **state) {
    (void)state;
    static const struct {
        int byte;
        const char *text;
    } known[] = { { '!', "!" },  { ' ', "Ġ" },  { '\n', "Ċ" }, { 0, "Ā" },   { 0xad, "Ń" },
                  { 0xa1, "¡" }, { 0xff, "ÿ" }, { 0x7f, "ġ" }, { 0xa0, "ł" } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char text[2];
        int n = bpe_byte_text(known[i].byte, text);
        assert_int_equal(n, strlen(known[i].text));
        assert_memory_equal(text, known[i].text, (size_t)n);
    }
}

static void ids_are_special_tokens_then_bytes_then_merges(void **state) {
    (void)state;
    static const char *const special[] = { "<end>", "!" };
    BpeVocabulary v;
    WordCounts w = { 0 };
    Error e = { 0 };
    add(&w, "ab", 2);
    assert_int_equal(bpe_begin(&v, special, 2, &e), 0);
    assert_int_equal(bpe_train(&v, &w, 300, &e), 0);
    assert_string_equal(words_text(&v.token, 0), "<end>");
    assert_string_equal(words_text(&v.token, 1), "!");
    assert_string_equal(words_text(&v.token, 2), "\""); /* '!' is a token already */
    assert_int_equal(v.token.words, 2 + 255 + 1);
    assert_string_equal(words_text(&v.token, 257), "ab");
    assert_int_equal(v.text_tokens, 2);
    bpe_free(&v);
    words_free(&w);
}

static void of_equally_frequent_pairs_the_smallest_is_merged(void **state) {
    (void)state;
    static const char *const expected[] = { "c d", "a b", "a c", "b a", "x y" };
    BpeVocabulary v;
    WordCounts w = { 0 };
    char text[512];
    add(&w, "xy", 3), add(&w, "ba", 3), add(&w, "ac", 3), add(&w, "ab", 3), add(&w, "cd", 4);
    train(&v, &w, 300);
    assert_int_equal(v.merges, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(merge_text(&v, i, text), expected[i]);
    bpe_free(&v);
    words_free(&w);
}

/* == The definition ======================================================= */

enum { WORDS = 60, LENGTH = 24, SIZE = 256 + 80 };

typedef struct PlainWord {
    int32_t token[LENGTH];
    int length;
    int64_t times;
} PlainWord;

/* Counts all pairs anew; -1: there is none. */
static int64_t best_pair(const PlainWord *word, int32_t ids, int32_t best[2]) {
    static int64_t count[SIZE][SIZE];
    int64_t most = 0;
    memset(count, 0, sizeof count);
    for (int w = 0; w < WORDS; w++)
        for (int i = 0; i + 1 < word[w].length; i++)
            count[word[w].token[i]][word[w].token[i + 1]] += word[w].times;
    for (int32_t a = 0; a < ids; a++)
        for (int32_t b = 0; b < ids; b++)
            if (count[a][b] > most) most = count[a][b], best[0] = a, best[1] = b;
    return most;
}

static void merge_plainly(PlainWord *x, int32_t left, int32_t right, int32_t made) {
    int n = 0;
    for (int i = 0; i < x->length; i++) {
        bool both = x->token[i] == left && i + 1 < x->length && x->token[i + 1] == right;
        x->token[n++] = both ? made : x->token[i];
        i += both;
    }
    x->length = n;
}

/* Words of few letters, so that pairs overlap; the letters' ids are their bytes' ranks. */
static void draw_words(PlainWord *word, WordCounts *w, uint32_t seed) {
    for (int i = 0; i < WORDS; i++) {
        PlainWord *x = &word[i];
        char text[LENGTH + 1] = "";
        uint32_t row = (uint32_t)i;
        x->length = 1 + (int)random_below(seed, 0, row, LENGTH);
        x->times = 1 + (int64_t)random_below(seed, 1, row, 5);
        for (int k = 0; k < x->length; k++) {
            text[k] = (char)('a' + random_below(seed, 2 + (uint64_t)k, row, 2 + seed % 4));
            x->token[k] = text[k] - 33;
        }
        int64_t before = w->words;
        assert_true(words_add(w, text, (size_t)x->length, x->times) >= 0);
        if (w->words == before) x->length = 0; /* it was there: its count grew */
    }
    for (int64_t i = 0, k = 0; i < WORDS; i++)
        if (word[i].length) word[i].times = w->word[k++].count;
}

static void merges_are_those_of_the_definition(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed <= 60; seed++) {
        PlainWord word[WORDS];
        WordCounts w = { 0 };
        BpeVocabulary v;
        int32_t best[2];
        draw_words(word, &w, seed);
        train(&v, &w, SIZE);
        int64_t tokens = 0;
        for (int64_t i = 0; i < v.merges; i++) {
            const BpeMerge *m = &v.merge[i];
            assert_true(best_pair(word, SIZE, best) > 0);
            assert_int_equal(m->left, best[0]);
            assert_int_equal(m->right, best[1]);
            for (int k = 0; k < WORDS; k++)
                merge_plainly(&word[k], m->left, m->right, m->made);
        }
        for (int k = 0; k < WORDS; k++)
            tokens += word[k].length ? word[k].length * word[k].times : 0;
        assert_int_equal(v.text_tokens, tokens);
        if (v.token.words < SIZE) assert_int_equal(best_pair(word, SIZE, best), 0);
        bpe_free(&v);
        words_free(&w);
    }
}

/* == Against 'tokenizers' ================================================= */

static void train_file(const char *file, const BpePattern *pattern, BpeVocabulary *v) {
    static const char *const special[] = { "<|endoftext|>" };
    TrainingText x = {
        .file = &file, .files = 1, .special = special, .specials = 1, .pattern = pattern
    };
    WordCounts w = { 0 };
    Error e = { 0 };
    if (training_words(&x, &w, &e)) fail_msg("%s", e.text);
    assert_int_equal(bpe_begin(v, special, 1, &e), 0);
    if (bpe_train(v, &w, 330, &e)) fail_msg("%s", e.text);
    words_free(&w);
}

static void merges_are_those_of_tokenizers(void **state) {
    (void)state;
    Json j;
    Error e = { 0 };
    size_t n;
    char *file = scratch_read(FOLDER "merges.json", &n), text[512];
    assert_non_null(file);
    if (json_parse(&j, "merges.json", file, n, 10000, &e)) fail_msg("%s", e.text);
    for (int p = 0; p < 3; p++) {
        const JsonNode *list = json_member(&j, j.node, bpe_pattern[p].name);
        BpeVocabulary v;
        int64_t i = 0;
        train_file(FOLDER "text.txt", &bpe_pattern[p], &v);
        assert_int_equal(v.merges, list->count);
        for (const JsonNode *m = json_first(&j, list); m; m = json_next(&j, m))
            assert_string_equal(merge_text(&v, i++, text), m->text);
        bpe_free(&v);
    }
    json_free(&j);
    free(file);
}

/* == Texts ================================================================ */

/* A text of many pieces, and then one line longer than a piece, has the words of the whole: a cut
** elsewhere would make one that the text has once. */
static void pieces_of_a_text_are_no_boundaries(void **state) {
    char path[SCRATCH_PATH];
    static const char line[] = "one two  \nthree\n\nfour  five!\nsix <|endoftext|>7 \neight\n\n \n";
    static const char *const special[] = { "<|endoftext|>" };
    const char *file = scratch_path(state, "long.txt", path);
    const size_t length = sizeof line - 1, lines = (9u << 20) / length, rest = 9u << 20;
    char *text = malloc(lines * length + rest);
    assert_non_null(text);
    for (size_t i = 0; i < lines * length + rest; i++)
        text[i] = i < lines * length ? line[i % length] : "xy z"[i % 4];
    scratch_write(file, text, lines * length + rest);
    TrainingText x = {
        .file = &file, .files = 1, .special = special, .specials = 1, .pattern = &bpe_pattern[0]
    };
    WordCounts w = { 0 };
    Error e = { 0 };
    if (training_words(&x, &w, &e)) fail_msg("%s", e.text);
    assert_int_equal(x.bytes, lines * length + rest);
    for (int64_t i = 0; i < w.words; i++) {
        assert_null(strstr(words_text(&w, i), "endoftext"));
        if (!strpbrk(words_text(&w, i), "xyz")) assert_true(w.word[i].count >= (int64_t)lines - 1);
    }
    words_free(&w);
    free(text);
}

/* Special tokens stand everywhere, but the first, which would be sought to the end each time; of
** those that begin at one place the longest counts, up to the text's last byte. */
static void special_tokens_are_found_in_one_pass(void **state) {
    enum { TIMES = 600000 };
    char path[SCRATCH_PATH];
    static const char *const special[] = { "<|endoftext|>", "<a>", "<a>b", "b<a>bcd", "<a><" };
    const char *file = scratch_path(state, "specials.txt", path);
    char *text = malloc(8 * TIMES + 4);
    assert_non_null(text);
    for (int i = 0; i < TIMES; i++)
        memcpy(text + 8 * i, i % 2 ? "<a>bx<a>" : "y<a>z<a>", 8);
    memcpy(text + 8 * TIMES, "b<a>", 4); /* not the longer one, whose rest is behind the text */
    scratch_write(file, text, 8 * TIMES + 4);
    free(text);
    TrainingText x = {
        .file = &file, .files = 1, .special = special, .specials = 5, .pattern = &bpe_pattern[0]
    };
    WordCounts w = { 0 };
    Error e = { 0 };
    if (training_words(&x, &w, &e)) fail_msg("%s", e.text);
    int64_t letters[128] = { 0 };
    for (int64_t i = 0; i < w.words; i++)
        for (const char *c = words_text(&w, i); *c; c++)
            letters[*c & 127] += w.word[i].count;
    /* "y", "z" and, between "<a><" and the next, "a>bx" */
    assert_int_equal(letters['y'], TIMES / 2);
    assert_int_equal(letters['z'], TIMES / 2);
    assert_int_equal(letters['x'], TIMES / 2);
    assert_int_equal(letters['<'], 0);
    assert_int_equal(letters['b'], TIMES / 2);
    words_free(&w);
}

static void texts_that_are_none_are_refused(void **state) {
    char path[SCRATCH_PATH];
    const char *file = scratch_path(state, "bad.txt", path);
    TrainingText x = { .file = &file, .files = 1, .pattern = &bpe_pattern[0] };
    WordCounts w = { 0 };
    Error e = { 0 };
    scratch_write(file, "a\xff", 2);
    assert_int_equal(training_words(&x, &w, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "byte 1: expected UTF-8"));
    scratch_write(file, "", 0);
    assert_int_equal(training_words(&x, &w, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "found an empty file"));
    words_free(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_spelt_as_gpt2_does),
        cmocka_unit_test(ids_are_special_tokens_then_bytes_then_merges),
        cmocka_unit_test(of_equally_frequent_pairs_the_smallest_is_merged),
        cmocka_unit_test(merges_are_those_of_the_definition),
        cmocka_unit_test(merges_are_those_of_tokenizers),
        cmocka_unit_test(pieces_of_a_text_are_no_boundaries),
        cmocka_unit_test(special_tokens_are_found_in_one_pass),
        cmocka_unit_test(texts_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
