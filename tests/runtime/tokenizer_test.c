/* SPDX-License-Identifier: MIT
** Tokenizers: the vocabulary's order, round trips, streaming, what is refused. */
#include "test.h"

#include <string.h>

#include "scratch.h"
#include "tokenizer.h"
#include "utf8.h"

enum { PAD, UNKNOWN, BEGIN, END }; /* ids of chars that are no characters */

static int encode(const Tokenizer *t, const char *text, int32_t *out) {
    int64_t count;
    Error e = { 0 };
    if (tokenizer_encode(t, "prompt", text, strlen(text), out, &count, &e)) fail_msg("%s", e.text);
    return (int)count;
}

/* What the ids decode to, each piece followed by '|' where it is not empty. */
static const char *decode(const Tokenizer *t, const int32_t *id, int n, char *out) {
    Decoder d = { 0 };
    *out = 0;
    for (int i = 0; i <= n; i++) {
        assert_int_equal(i < n ? decoder_push(&d, t, id[i], NULL) : decoder_end(&d, t, NULL), 0);
        assert_int_equal(d.text.length, strlen(d.text.at));
        if (d.text.length) strcat(strcat(out, d.text.at), "|");
    }
    decoder_free(&d);
    return out;
}

static void kinds(void **state) {
    (void)state;
    const TokenizerKind *k;
    Error e = { 0 };
    assert_int_equal(tokenizer_kind("bytes", &k, &e), 0);
    assert_ptr_equal(k, &tokenizer_bytes);
    assert_int_equal(tokenizer_kind("chars", &k, &e), 0);
    assert_ptr_equal(k, &tokenizer_chars);
    assert_int_equal(tokenizer_kind("", &k, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "found a spec without one"));
    assert_int_equal(tokenizer_kind("tokenizer.json", &k, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "not in this version"));
}

static void bytes_need_256_ids(void **state) {
    (void)state;
    Tokenizer t;
    Error e = { 0 };
    int32_t id[16];
    assert_int_equal(tokenizer_learn(&t, &tokenizer_bytes, 255, "", 0, &e), STATUS_USER);
    assert_int_equal(tokenizer_learn(&t, &tokenizer_bytes, 300, "", 0, &e), 0);
    assert_int_equal(t.ids, 256);
    assert_int_equal(encode(&t, "a\xff\xc3\xa9", id), 4);
    assert_true(id[0] == 'a' && id[1] == 0xff && id[2] == 0xc3 && id[3] == 0xa9);
    assert_int_equal(encode(&t, "", id), 0);
}

/* By count, ties by code point; é 3 times, b and a twice, z once; V - 4 of them. */
static void chars_are_ordered_by_count_then_code_point(void **state) {
    (void)state;
    const char *text = "bb\xc3\xa9"
                       "aa\xc3\xa9\xc3\xa9z";
    Tokenizer t;
    Error e = { 0 };
    int32_t id[16];
    char out[64];
    assert_int_equal(tokenizer_learn(&t, &tokenizer_chars, 100, text, strlen(text), &e), 0);
    assert_int_equal(t.ids, 8);
    static const int32_t order[4] = { 4, 5, 6, 7 };
    assert_string_equal(decode(&t, order, 4, out), "\xc3\xa9|a|b|z|");
    assert_int_equal(encode(&t, "z\xc3\xa9q\xf0\x9f\x98\x80", id), 4);
    assert_true(id[0] == 7 && id[1] == 4 && id[2] == UNKNOWN && id[3] == UNKNOWN);
    assert_string_equal(decode(&t, id, 4, out), "z|\xc3\xa9|\xef\xbf\xbd|\xef\xbf\xbd|");
    static const int32_t special[6] = { PAD, BEGIN, 5, END, 99, -1 };
    assert_string_equal(decode(&t, special, 6, out), "a|\xef\xbf\xbd|\xef\xbf\xbd|");
    tokenizer_free(&t);

    assert_int_equal(tokenizer_learn(&t, &tokenizer_chars, 6, text, strlen(text), &e), 0);
    assert_int_equal(t.ids, 6);
    assert_int_equal(encode(&t,
                            "\xc3\xa9"
                            "ab",
                            id),
                     3);
    assert_true(id[0] == 4 && id[1] == 5 && id[2] == UNKNOWN);
    tokenizer_free(&t);
    tokenizer_free(&t);
    assert_int_equal(tokenizer_learn(&t, &tokenizer_chars, 4, text, strlen(text), &e), STATUS_USER);
    assert_non_null(strstr(e.text, "expected at least 5"));
}

static void chars_refuse_invalid_utf8(void **state) {
    (void)state;
    static const char *const bad[] = {
        "ab\xff", "ab\xc3",    "ab\xc0\x80", "ab\xed\xa0\x80", "ab\xf4\x90\x80\x80",
        "ab\x80", "ab\xe2\x82"
    };
    Tokenizer t, good;
    Error e = { 0 };
    int32_t id[16];
    int64_t count;
    assert_int_equal(tokenizer_learn(&good, &tokenizer_chars, 10, "ab", 2, &e), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(tokenizer_learn(&t, &tokenizer_chars, 10, bad[i], strlen(bad[i]), &e),
                         STATUS_USER);
        assert_int_equal(
            tokenizer_encode(&good, "--prompt", bad[i], strlen(bad[i]), id, &count, &e),
            STATUS_USER);
        assert_non_null(strstr(e.text, "--prompt:byte 2: expected UTF-8"));
    }
    tokenizer_free(&good);
}

/* The pieces are whole characters; what can be none is one U+FFFD for each maximal part. */
static void bytes_decode_as_a_stream(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *pieces;
    } row[] = {
        { "ab", "a|b|" },
        { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9|\xe2\x82\xac|\xf0\x9f\x98\x80|" },
        { "\xff", "\xef\xbf\xbd|" },
        { "\x80\x80", "\xef\xbf\xbd|\xef\xbf\xbd|" },
        { "\xe2\x82"
          "a",
          "\xef\xbf\xbd"
          "a|" },
        { "\xe2\x82\xff", "\xef\xbf\xbd\xef\xbf\xbd|" },
        { "\xe2\x82", "\xef\xbf\xbd|" },
        { "\xc0\x80", "\xef\xbf\xbd|\xef\xbf\xbd|" },
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd|" },
        { "\xf0\x9f\xf0\x9f\x98\x80", "\xef\xbf\xbd|\xf0\x9f\x98\x80|" },
        { "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd|" },
        { "\xf5", "\xef\xbf\xbd|" },
    };
    Tokenizer t;
    assert_int_equal(tokenizer_learn(&t, &tokenizer_bytes, 256, "", 0, NULL), 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int32_t id[16];
        char out[128];
        int n = encode(&t, row[i].bytes, id);
        assert_string_equal(decode(&t, id, n, out), row[i].pieces);
    }
    static const int32_t beyond[3] = { 0xe2, 300, 'a' };
    char out[64];
    assert_string_equal(decode(&t, beyond, 3, out), "\xef\xbf\xbd\xef\xbf\xbd|a|");
}

/* Writes a code point as UTF-8; returns its bytes. */
static size_t put_character(char *to, int32_t p) {
    size_t n = p < 0x80 ? 1 : p < 0x800 ? 2 : p < 0x10000 ? 3 : 4;
    static const int lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = n; --i > 0; p >>= 6)
        to[i] = (char)(0x80 | (p & 63));
    to[0] = (char)(lead[n] | p);
    return n;
}

/* Every code point: encoded, decoded, the same. */
static void all_characters_round_trip(void **state) {
    (void)state;
    for (int32_t from = 0; from < 0x110000; from += 0x8000) {
        static char text[4 * 0x8000];
        size_t n = 0;
        Tokenizer t;
        for (int32_t p = from; p < from + 0x8000; p++) {
            bool surrogate = p >= 0xd800 && p < 0xe000;
            if (!surrogate) n += put_character(text + n, p);
        }
        if (!n) continue;
        assert_int_equal(tokenizer_learn(&t, &tokenizer_chars, 0x10000, text, n, NULL), 0);
        Decoder d = { 0 };
        for (size_t i = 0; i < n;) {
            int32_t id;
            int64_t count;
            int32_t point;
            int bytes = utf8_next(text + i, n - i, &point);
            assert_true(bytes > 0);
            assert_int_equal(
                tokenizer_encode(&t, "text", text + i, (size_t)bytes, &id, &count, NULL), 0);
            assert_int_equal(decoder_push(&d, &t, id, NULL), 0);
            assert_int_equal(d.text.length, bytes);
            assert_memory_equal(d.text.at, text + i, bytes);
            i += (size_t)bytes;
        }
        decoder_free(&d);
        tokenizer_free(&t);
    }
}

/* == In files ============================================================= */

static int load(void **state, Dtype type, int rank, const int64_t *shape, const void *data,
                int64_t vocab, Tokenizer *t, Error *e) {
    char path[SCRATCH_PATH];
    TensorList l = { 0 };
    Safetensors s;
    scratch_path(state, "tokenizer", path);
    assert_int_equal(tensors_add(&l, "", "tokenizer.chars", type, rank, shape, data, NULL), 0);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, NULL), 0);
    tensors_free(&l);
    assert_int_equal(safetensors_open(&s, path, NULL), 0);
    int status = tokenizer_load(t, &tokenizer_chars, vocab, &s, e);
    safetensors_close(&s);
    return status;
}

static void chars_are_stored_and_loaded(void **state) {
    char path[SCRATCH_PATH];
    const char *text = "to be or not to be \xe2\x82\xac";
    Tokenizer t, back;
    TensorList l = { 0 };
    Safetensors s;
    Error e = { 0 };
    assert_int_equal(tokenizer_learn(&t, &tokenizer_chars, 64, text, strlen(text), &e), 0);
    assert_int_equal(tokenizer_save(&t, &l, &e), 0);
    assert_int_equal(safetensors_write(scratch_path(state, "stored", path), &l, NULL, 0, 0, &e), 0);
    tensors_free(&l);
    assert_int_equal(safetensors_open(&s, path, &e), 0);
    assert_int_equal(tokenizer_load(&back, &tokenizer_chars, 64, &s, &e), 0);
    int32_t a[64], b[64];
    int n = encode(&t, text, a);
    assert_int_equal(encode(&back, text, b), n);
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
    tokenizer_free(&back);
    assert_int_equal(tokenizer_load(&back, &tokenizer_chars, t.ids - 1, &s, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "vocab: expected at least"));
    tokenizer_free(&t);
    safetensors_close(&s);
}

static void bad_stored_vocabularies_are_refused(void **state) {
    Tokenizer t;
    Error e = { 0 };
    static const struct {
        int32_t c[3];
        const char *says;
    } row[] = {
        { { 'a', 'b', 'a' }, "each character once, found 97" },
        { { 'a', -1, 'b' }, "[1]: expected a character, found -1" },
        { { 'a', 'b', 0x110000 }, "expected a character" },
        { { 0xd800, 'b', 'c' }, "expected a character" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(load(state, DTYPE_I32, 1, (int64_t[]){ 3 }, row[i].c, 100, &t, &e),
                         STATUS_USER);
        if (!strstr(e.text, row[i].says))
            fail_msg("expected \"%s\", found \"%s\"", row[i].says, e.text);
        assert_null(t.tables);
    }
    assert_int_equal(load(state, DTYPE_I32, 1, (int64_t[]){ 0 }, row[0].c, 100, &t, &e),
                     STATUS_USER);
    assert_int_equal(load(state, DTYPE_I32, 2, (int64_t[]){ 1, 3 }, row[0].c, 100, &t, &e),
                     STATUS_USER);
    assert_int_equal(load(state, DTYPE_F32, 1, (int64_t[]){ 3 }, row[0].c, 100, &t, &e),
                     STATUS_USER);
    Safetensors none;
    char path[SCRATCH_PATH];
    TensorList l = { 0 };
    assert_int_equal(safetensors_write(scratch_path(state, "none", path), &l, NULL, 0, 0, NULL), 0);
    assert_int_equal(safetensors_open(&none, path, NULL), 0);
    assert_int_equal(tokenizer_load(&t, &tokenizer_chars, 100, &none, &e), STATUS_USER);
    assert_int_equal(tokenizer_load(&t, &tokenizer_bytes, 256, &none, &e), STATUS_OK);
    safetensors_close(&none);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(bytes_need_256_ids),
        cmocka_unit_test(chars_are_ordered_by_count_then_code_point),
        cmocka_unit_test(chars_refuse_invalid_utf8),
        cmocka_unit_test(bytes_decode_as_a_stream),
        cmocka_unit_test(all_characters_round_trip),
        cmocka_unit_test(chars_are_stored_and_loaded),
        cmocka_unit_test(bad_stored_vocabularies_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
