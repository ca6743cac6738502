/* SPDX-License-Identifier: MIT
** SentencePiece's unigram model where several divisions of a text are as likely: which it takes.
** What is expected is what sentencepiece 0.2.3 makes of the same pieces; tests/interop.sh compares
** more of them (ties).
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer_file.h"

enum { NORMAL = 1, UNKNOWN, CONTROL, USER };

static const struct {
    const char *text;
    float score;
    int type;
} pieces[] = {
    { "<unk>", 0, UNKNOWN }, { "<s>", 0, CONTROL }, { "a", -3, NORMAL },
    { "b", -1, NORMAL },     { "c", -2, NORMAL },   { "cacc", -4, NORMAL },
    { "bb", -4, NORMAL },    { "cba", -2, NORMAL }, { "bdacd", -1, USER },
    { "caddc", -1, NORMAL }, { "cc", -2, NORMAL },  { "acdaa", -4, NORMAL },
    { "bac", -1, USER },     { "bcc", -2, USER },   { "cccda", -1, NORMAL },
    { "ca", -2, USER },      { "ad", -2, USER },    { "add", -2, NORMAL },
    { "cdcd", -3, USER },    { "cd", -2, USER },    { "aa", -6, NORMAL },
};

static const struct {
    const char *text;
    int32_t ids[16]; /* -1 behind them */
} expected[] = {
    { "dddbbbdaabacacddd", { 0, 3, 3, 3, 0, 20, 12, 2, 19, 0, -1 } },
    { "dbcaabdbcdcd", { 0, 3, 15, 2, 3, 0, 3, 18, -1 } },
    { "dcdbcacbcabcca", { 0, 19, 3, 15, 4, 3, 15, 13, 2, -1 } },
    { "ddacadb", { 0, 2, 4, 16, 3, -1 } },
    { "cbacccbddddacdb", { 4, 12, 10, 3, 0, 2, 19, 3, -1 } },
    { "cdcccadcadbacdcccdaa", { 19, 4, 10, 16, 4, 16, 3, 2, 19, 14, 2, -1 } },
    { "bcbccacbdccdcd", { 3, 4, 13, 2, 4, 3, 0, 4, 18, -1 } },
    { "cdcddd", { 18, 0, -1 } },
    { "aabaaacbabbbddccdc", { 20, 3, 2, 20, 7, 3, 3, 3, 0, 4, 19, 4, -1 } },
    { "ddbbcbbcbcdcbcacd", { 0, 3, 3, 4, 3, 3, 4, 3, 19, 4, 3, 15, 19, -1 } },
};

/* A field of protobuf with a length of one byte. */
static void add_field(Text *t, int number, const Text *inside) {
    const char head[] = { (char)(number << 3 | 2), (char)inside->length };
    text_bytes(t, head, 2);
    text_bytes(t, inside->at, inside->length);
}

static void add_piece(Text *t, const char *name, float score, int type) {
    Text piece = { 0 };
    const char type_field[] = { 3 << 3, (char)type };
    char head[2] = { 1 << 3 | 2, (char)strlen(name) }, score_field[5] = { 2 << 3 | 5 };
    memcpy(score_field + 1, &score, 4);
    text_bytes(&piece, head, 2);
    text_bytes(&piece, name, strlen(name));
    text_bytes(&piece, score_field, 5);
    text_bytes(&piece, type_field, 2);
    add_field(t, 1, &piece);
    text_free(&piece);
}

/* A unigram model that leaves texts as they are: no dummy prefix, all spaces kept. */
static void make_model(Text *t) {
    static const char unigram[] = { 3 << 3, 1 }, plain[] = { 3 << 3, 0, 4 << 3, 0, 5 << 3, 0 };
    Text trainer = { 0 }, normalizer = { 0 };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        add_piece(t, pieces[i].text, pieces[i].score, pieces[i].type);
    text_bytes(&trainer, unigram, sizeof unigram);
    text_bytes(&normalizer, plain, sizeof plain);
    add_field(t, 2, &trainer);
    add_field(t, 3, &normalizer);
    text_free(&trainer);
    text_free(&normalizer);
}

static void ties(void **state) {
    (void)state;
    Text model = { 0 };
    Tokenizer t;
    Error e = { 0 };
    make_model(&model);
    if (tokenizer_parse(&t, "ties.model", model.at, model.length, &e)) fail_msg("%s", e.text);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const char *text = expected[i].text;
        TokenIds ids = { .width = 4, .grows = true };
        assert_int_equal(token_ids_encode(&ids, &t, text, text, strlen(text), NULL), 0);
        const int32_t *found = ids.at;
        for (int64_t k = 0; k < ids.count; k++)
            if (found[k] != expected[i].ids[k])
                fail_msg("%s: id %d is %d, expected %d", text, (int)k, found[k],
                         expected[i].ids[k]);
        assert_int_equal(expected[i].ids[ids.count], -1);
        free(ids.at);
    }
    tokenizer_free(&t);
    text_free(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(ties) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
