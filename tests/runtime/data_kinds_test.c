/* SPDX-License-Identifier: MIT
** What data is read as: compressed files as the text that they stand for, JSON in .json files as
** its texts; what is no text is refused by name.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "data_words.h"
#include "documents.h"
#include "compressed.h"
#include "scratch.h"

enum { ROOM = 1 << 20 };

static int open_file(void **state, DataFiles *f, const char *name, Error *e) {
    char word[64];
    DataNames names;
    snprintf(word, sizeof word, "@/%s", name);
    DataWords words = data_names(&names, state, word);
    return data_files_open(f, &words, e);
}

/* Its documents, <...> each, or the error behind the folder's name. */
static const char *read_as(void **state, const char *name, const void *bytes, size_t n) {
    static char out[4096];
    char path[SCRATCH_PATH];
    DataFiles f;
    DocumentReader r = { 0 };
    DocumentPiece p;
    Error e = { 0 };
    size_t at = 0;
    *out = 0;
    scratch_write(scratch_path(state, name, path), bytes, n);
    int status = open_file(state, &f, name, &e);
    bool opened = !status;
    if (!status) status = documents_open(&r, &f.file[0], "text", true, &e);
    while (!status && !(status = documents_next(&r, &p, &e)) && p.text)
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%.*s%s", p.begins ? "<" : "",
                               (int)p.length, p.text, p.ends ? ">" : "");
    if (status) snprintf(out, sizeof out, "%d %s", status, e.text + strlen(*state) + 1);
    documents_close(&r);
    if (opened) data_files_free(&f);
    return out;
}

static void says(void **state, const char *name, const void *bytes, size_t n, const char *what) {
    const char *found = read_as(state, name, bytes, n);
    if (!strstr(found, what)) fail_msg("%s: expected \"%s\", found \"%s\"", name, what, found);
}

/* == What is no text ====================================================== */

static const struct {
    size_t at, length;
    const char *bytes, *name, *cure;
} kind[] = {
#define KIND(at, bytes, alone, name, cure) { at, sizeof bytes - 1, bytes, name, cure },
#include "text_kinds.def"
};

/* Every kind: by its name, with what to do, whatever the file is called; compressed too. */
static void what_is_no_text_is_refused_by_name(void **state) {
    static const char *const ending[] = { "x", "x.txt", "x.jsonl", "x.json" };
    unsigned char bytes[600], packed[2048];
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        memset(bytes, 1, sizeof bytes);
        memcpy(bytes + kind[i].at, kind[i].bytes, kind[i].length);
        if (stream_form(bytes, sizeof bytes) == STREAM_PLAIN)
            for (size_t k = 0; k < sizeof ending / sizeof *ending; k++) {
                char expected[300];
                snprintf(expected, sizeof expected, "1 %s: expected text, found %s", ending[k],
                         kind[i].name);
                says(state, ending[k], bytes, sizeof bytes, expected);
                if (kind[i].cure) says(state, ending[k], bytes, sizeof bytes, kind[i].cure);
            }
        for (int form = PACK_GZIP; form <= PACK_ZSTD; form++) {
            size_t n = pack(form, bytes, sizeof bytes, packed, sizeof packed);
            says(state, "x", packed, n, kind[i].name);
            says(state, "x", packed, n, " in compressed data");
        }
    }
}

static void words_of_texts_are_no_kinds(void **state) {
    static const char *const text[] = { "PAR1 is a word", "BMX", "ORCs", "MZ",  "RIFF WAVE x",
                                        "GGUF is a form", "ID3", "BZh9", "P K", "OTTO the cat" };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "<%s>", text[i]);
        says(state, "x.txt", text[i], strlen(text[i]), expected);
    }
}

/* Anywhere, of any reader. */
static void a_nul_is_no_text(void **state) {
    enum { LENGTH = 3 << 20 };
    char *text = malloc(LENGTH + 1);
    assert_non_null(text);
    memset(text, 'x', LENGTH);
    says(state, "x", "a\0b", 3, "1 x:byte 1: expected text, found a NUL byte");
    says(state, "x.jsonl", "\0\n", 2, "1 x.jsonl:byte 0: expected text, found a NUL byte");
    text[LENGTH] = 0;
    says(state, "x", text, LENGTH + 1, "1 x:byte 3145728: expected text, found a NUL byte");
    unsigned char *packed = malloc(ROOM);
    assert_non_null(packed);
    size_t n = pack(PACK_ZSTD, (unsigned char *)text, LENGTH + 1, packed, ROOM);
    says(state, "x", packed, n, "x:byte 3145728 of the expanded text: expected text, found a NUL");
    text[9] = (char)0xff, text[LENGTH] = 'x';
    n = pack(PACK_GZIP, (unsigned char *)text, LENGTH + 1, packed, ROOM);
    says(state, "x", packed, n, "x:byte 9 of the expanded text: expected UTF-8, found byte 0xff");
    free(packed), free(text);
}

/* == Compressed =========================================================== */

static void compressed_files_are_their_texts(void **state) {
    static const struct {
        const char *name, *text, *says;
    } row[] = {
        { "a.txt.gz", "one\ntwo", "<one\ntwo>" },
        { "a", "one\ntwo", "<one\ntwo>" }, /* the name says nothing */
        { "a.txt", "one\ntwo", "<one\ntwo>" },
        { "a.jsonl.gz", "{\"text\":\"b\"}\n{\"text\":\"c\"}", "<b><c>" },
        { "a.ndjson.zst", "{\"text\":\"b\"}\n", "<b>" },
        { "a.json.zstd", "[\"b\", {\"text\": \"c\"}]", "<b><c>" },
        { "a.jsonl", "{\"text\":\"b\"}\n", "<b>" },
        { "a.gz", "", "1 a.gz: expected text, found an empty file" },
    };
    unsigned char packed[512];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int form = PACK_GZIP; form < PACK_FORMS; form++) {
            size_t n = pack(form, (const unsigned char *)row[i].text, strlen(row[i].text), packed,
                            sizeof packed);
            assert_string_equal(read_as(state, row[i].name, packed, n), row[i].says);
        }
    /* a name alone makes nothing compressed */
    assert_string_equal(read_as(state, "plain.gz", "text", 4), "<text>");
}

/* Cut at any byte, or with any byte changed: an error that names file and byte, or the text. */
static void damaged_files_are_refused(void **state) {
    static const char text[] = "the quick brown fox jumps over the lazy dog, the lazy dog sleeps";
    unsigned char packed[512], wrong[512];
    for (int form = PACK_GZIP; form <= PACK_ZSTD; form++) {
        size_t n = pack(form, (const unsigned char *)text, sizeof text - 1, packed, sizeof packed);
        for (size_t cut = 4; cut < n; cut++)
            says(state, "a.gz", packed, cut, "found the end of the file");
        for (size_t at = 4; at < n; at++) {
            memcpy(wrong, packed, n);
            wrong[at] ^= 0x55;
            const char *found = read_as(state, "a.gz", wrong, n);
            if (strncmp(found, "1 a.gz:byte ", 12) != 0 && !strstr(found, text)
                && !strstr(found, "in compressed data"))
                fail_msg("byte %zu: %s", at, found);
        }
        memcpy(wrong, packed, n);
        memcpy(wrong + n, "more", 4);
        says(state, "a.gz", wrong, n + 4, form == PACK_GZIP ? "gzip data" : "Zstandard data");
    }
}

static void bombs_are_refused(void **state) {
    enum { PIECE = 16 << 20, PIECES = 80 };
    char path[SCRATCH_PATH];
    char *piece = malloc(PIECE);
    unsigned char *packed = malloc(ROOM);
    Stream s;
    Error e = { 0 };
    size_t got = 1, n = 0;
    assert_true(piece && packed);
    memset(piece, 'x', PIECE);
    size_t one = pack(PACK_ZSTD, (unsigned char *)piece, PIECE, packed, ROOM);
    for (n = one; n < PIECES * one; n += one)
        memcpy(packed + n, packed, one);
    scratch_write(scratch_path(state, "bomb", path), packed, n);
    assert_int_equal(stream_open(&s, path, &e), 0);
    int status = STATUS_OK;
    uint64_t all = 0;
    while (!status && got) {
        status = stream_read(&s, piece, PIECE, &got, &e);
        all += got;
    }
    stream_close(&s);
    assert_int_equal(status, STATUS_LIMIT);
    assert_true(all <= (uint64_t)STREAM_FREE + 2 * PIECE);
    assert_non_null(strstr(e.text, "expected at most 200 bytes of text for a byte of Zstandard"));
    free(piece), free(packed);
}

/* Ids are those of the text; the data is known by the file, not by a text of the same bytes. */
static void tokens_are_the_texts(void **state) {
    static const char text[] = "some text\nand more";
    unsigned char packed[256];
    char path[SCRATCH_PATH];
    size_t n = pack(PACK_GZIP_TWICE, (const unsigned char *)text, sizeof text - 1, packed, 256);
    scratch_write(scratch_path(state, "t.gz", path), packed, n);
    scratch_write(scratch_path(state, "t.txt", path), text, sizeof text - 1);
    Data one, other;
    assert_int_equal(data_of(&one, state, "@/t.txt", NULL, false, NULL), 0);
    assert_int_equal(data_of(&other, state, "@/t.gz", NULL, false, NULL), 0);
    assert_int_equal(one.source[0].count, other.source[0].count);
    assert_int_equal(one.source[0].bytes, other.source[0].bytes);
    for (int64_t i = 0; i < one.source[0].count; i++) {
        int32_t a, b;
        assert_int_equal(data_read(&one, 0, i, 1, &a, NULL) | data_read(&other, 0, i, 1, &b, NULL),
                         0);
        assert_int_equal(a, b);
    }
    assert_string_not_equal(one.files.sha256, other.files.sha256);
    data_free(&one), data_free(&other);
    data_write_tokens(scratch_path(state, "ids", path), 2, (const uint32_t[]){ 1, 2, 3 }, 3);
    FILE *file = fopen(path, "rb");
    unsigned char ids[1200];
    assert_non_null(file);
    size_t size = fread(ids, 1, sizeof ids, file);
    fclose(file);
    n = pack(PACK_GZIP, ids, size, packed, sizeof packed);
    says(state, "ids.gz", packed, n, "ids.gz: expected a token file as it is");
}

/* == JSON in .json files ================================================== */

static void json_files_are_their_texts(void **state) {
    static const struct {
        const char *text, *says;
    } row[] = {
        { "[\"a\", \"b\\n\"]", "<a><b\n>" },
        { " \n[ {\"text\": \"a, ]\"},\n  {\"id\": [1, {}], \"text\": \"}\"} ]\n", "<a, ]><}>" },
        { "[]", "" },
        { "[\"\", \"x\"]", "<x>" },
        { "{\"text\":\"a\"}\n{\"text\":\"b\"}\n", "<a><b>" },
        { "[1, 2]", "1 x.json:element 1: expected an object or a text, found a number" },
        { "[\"a\", {\"x\": \"b\"}]", "1 x.json:element 2: expected the field \"text\" (--field)" },
        { "[\"a\",]", "1 x.json:element 2:byte 0: expected" },
        { "[\"a\" \"b\"]", "1 x.json:element 1:byte 4: expected the end" },
        { "[\"a\"", "1 x.json:element 1: expected ',' or ']' behind the element, found the end" },
        { "[\"a\"] x", "1 x.json:element 2: expected the end behind the array, found 'x'" },
        { "[\"a\"}, 1]", "1 x.json:element 1:byte 3: expected the end, found '}'" },
        { "{\n \"text\": \"a\"\n}\n",
          "1 x.json: expected JSON lines, or an array of texts or of objects, found one object; to "
          "read it as a text, give it a name that ends in .txt" },
        { "plain", "<plain>" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        says(state, "x.json", row[i].text, strlen(row[i].text), row[i].says);
    /* an array in a text is a text */
    says(state, "x.txt", "[\"a\"]", 5, "<[\"a\"]>");
}

/* Elements longer than what is read at once. */
static void long_elements(void **state) {
    enum { LONG = 200000 };
    char *text = malloc(LONG + 32);
    Data d;
    char path[SCRATCH_PATH];
    assert_non_null(text);
    memset(text, 'x', LONG + 32);
    memcpy(text, "[\"", 2), memcpy(text + LONG, "\", \"ab\"]", 8);
    scratch_write(scratch_path(state, "long.json", path), text, LONG + 8);
    assert_int_equal(data_of(&d, state, "@/long.json", NULL, false, NULL), 0);
    assert_int_equal(d.source[0].count, LONG - 2 + 2);
    data_free(&d);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_text_is_refused_by_name),
        cmocka_unit_test(words_of_texts_are_no_kinds),
        cmocka_unit_test(a_nul_is_no_text),
        cmocka_unit_test(compressed_files_are_their_texts),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(tokens_are_the_texts),
        cmocka_unit_test(json_files_are_their_texts),
        cmocka_unit_test(long_elements),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
