/* SPDX-License-Identifier: MIT
** Token files: llm.c's header, hostile ones, files that change, and how little memory one takes. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data_order.h"
#include "data_words.h"
#include "random.h"
#include "scratch.h"

/* As numpy writes it there: zeros, then int32 magic, version, tokens.  Zeros that llm.c does not
** look at have the tokenizer and, at the end, who wrote them. */
static void the_header_is_that_of_llm_c(void **state) {
    (void)state;
    static const unsigned char narrow[12] = { 0x88, 0xd8, 0x34, 0x01, 1, 0, 0, 0, 3, 0, 0, 0 },
                               wide[16] = { 0xa1, 0xd9, 0x34, 0x01, 7, 0, 0, 0,
                                            5,    0,    0,    0,    2, 0, 0, 0 };
    unsigned char head[TOKEN_FILE_HEADER] = { 0 };
    TokenHeader h;
    token_file_print(&(TokenHeader){ .width = 2, .count = 3 }, head);
    assert_memory_equal(head, narrow, sizeof narrow);
    for (size_t i = sizeof narrow; i < sizeof head - 16; i++)
        assert_int_equal(head[i], 0);
    assert_memory_equal(head + sizeof head - 16, "strata tokens\0\0", 16);
    assert_int_equal(token_file_header(&h, "f", head, sizeof head, 1024 + 6, NULL), 0);
    assert_true(h.width == 2 && h.count == 3);
    int64_t many = (INT64_C(2) << 32) + 5;
    token_file_print(&(TokenHeader){ .width = 4, .count = many }, head);
    assert_memory_equal(head, wide, sizeof wide);
    assert_int_equal(token_file_header(&h, "f", head, sizeof head, 1024 + 4 * (uint64_t)many, NULL),
                     0);
    assert_true(h.width == 4 && h.count == many);
}

/* Neither the tokenizer nor the writer takes the other's bytes, and each is read without the other.
*/
static void the_header_says_the_tokenizer_and_who_wrote_it(void **state) {
    (void)state;
    unsigned char head[TOKEN_FILE_HEADER];
    TokenHeader h = { .width = 2, .count = 3 }, is;
    memset(h.maker, 0xa5, sizeof h.maker);
    token_file_print(&h, head);
    assert_true(token_file_ours(head));
    assert_int_equal(token_file_header(&is, "f", head, sizeof head, 1024 + 6, NULL), 0);
    assert_memory_equal(is.maker, h.maker, sizeof h.maker);
    memset(head + sizeof head - 16, 0, 16);
    assert_false(token_file_ours(head));
    assert_int_equal(token_file_header(&is, "f", head, sizeof head, 1024 + 6, NULL), 0);
    assert_memory_equal(is.maker, h.maker, sizeof h.maker);
    token_file_print(&(TokenHeader){ .width = 4, .count = 3 }, head);
    assert_true(token_file_ours(head));
    head[0]++;
    assert_false(token_file_ours(head));
}

enum { NARROW = 20240520, WIDE = 20240801 };
static const struct BadHeader {
    uint32_t word[4];
    size_t n;
    uint64_t size;
    const char *says;
} bad_headers[] = {
    { { 20240522, 1, 4 }, 1024, 1032, "found 20240522, that of tasks for llm.c's evaluation" },
    { { 0x88d83401, 1, 4 }, 1024, 1032, "expected a token file's number, 20240520 or" },
    { { NARROW, 1, 4 }, 1023, 1023, "expected a token file's header of 1024 bytes, found 1023" },
    { { NARROW, 1, 4 }, 4, 4, "found 4 bytes" },
    { { NARROW, 7, 4 }, 1024, 1032, "expected a token file of version 1, found version 7" },
    { { WIDE, 1, 4 }, 1024, 1040, "expected a token file of version 7, found version 1" },
    { { NARROW, 1, 0 }, 1024, 1024, "expected tokens, found an empty file" },
    { { NARROW, 1, 4 }, 1024, 1031, "expected the 4 tokens of its header, 2 bytes each, found 7" },
    { { NARROW, 1, 4 }, 1024, 1034, "found 10 bytes" },
    { { NARROW, 1, 4 }, 1024, 1033, "found 9 bytes" },
    { { WIDE, 7, 4 }, 1024, 1032, "expected the 4 tokens of its header, 4 bytes each, found 8" },
    { { NARROW, 1, 4, 1 }, 1024, 1032, "expected the 4294967300 tokens of its header" },
    { { NARROW, 1, UINT32_MAX, UINT32_MAX }, 1024, 1032, "18446744073709551615 tokens" },
    { { NARROW, 1, 0, 0x80000000 }, 1024, 1024, "9223372036854775808 tokens" },
};

static void bad_headers_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_headers / sizeof *bad_headers; i++) {
        const struct BadHeader *b = &bad_headers[i];
        unsigned char head[TOKEN_FILE_HEADER] = { 0 };
        TokenHeader h;
        Error e = { 0 };
        for (int w = 0; w < 4; w++)
            for (int k = 0; k < 4; k++)
                head[4 * w + k] = (unsigned char)(b->word[w] >> 8 * k);
        assert_true(token_file_begins(head, b->n));
        assert_int_equal(token_file_header(&h, "f", head, b->n, b->size, &e), STATUS_USER);
        if (!strstr(e.text, b->says)) fail_msg("%s\n  found %s", b->says, e.text);
    }
    assert_false(token_file_begins((const unsigned char *)"text", 4));
    assert_false(token_file_begins((const unsigned char *)"\x88\xd8\x34", 3));
}

static void ids_beyond_the_vocabulary(void **state) {
    char path[SCRATCH_PATH];
    static const uint32_t found[] = { 300, 301, UINT32_MAX, 0x80000000 };
    for (int i = 0; i < 4; i++) {
        Tokenizer none = { .ids = 300 };
        Data d;
        Error e = { 0 };
        int32_t id[3];
        char says[128];
        uint32_t ids[3] = { 1, 299, found[i] };
        data_write_tokens(scratch_path(state, "ids", path), 4, ids, 3);
        assert_int_equal(data_of(&d, state, "@/ids", &none, false, &e), 0);
        assert_int_equal(data_read(&d, 0, 0, 2, id, &e), 0);
        assert_int_equal(data_read(&d, 0, 1, 2, id, &e), STATUS_USER);
        snprintf(says, sizeof says,
                 "/ids:byte 1032: expected an id below the vocabulary, 300, found %u", found[i]);
        assert_non_null(strstr(e.text, says));
        data_free(&d);
    }
}

/* A file that is cut or written while it is read: an error, never a signal. */
static void changes_are_noticed(void **state) {
    enum { COUNT = 100000 };
    char path[SCRATCH_PATH];
    uint32_t *ids = calloc(COUNT, sizeof *ids);
    Tokenizer none = { .ids = 300 };
    int32_t id;
    Data d;
    Error e = { 0 };
    assert_non_null(ids);
    data_write_tokens(scratch_path(state, "cut", path), 2, ids, COUNT);
    free(ids);
    assert_int_equal(data_of(&d, state, "@/cut", &none, false, &e), 0);
    assert_int_equal(data_read(&d, 0, COUNT - 1, 1, &id, &e), 0);
    assert_int_equal(truncate(path, 5000), 0);
    assert_int_equal(data_read(&d, 0, COUNT - 1, 1, &id, &e), STATUS_IO);
    assert_non_null(strstr(e.text, "cut: the file became shorter while it was read"));
    assert_int_equal(data_read(&d, 0, 0, 1, &id, &e), STATUS_IO);
    assert_non_null(strstr(e.text, "changed while it was read"));
    data_free(&d);
    data_write_tokens(path, 2, (uint32_t[]){ 1, 2 }, 2); /* before it is opened again */
    assert_int_equal(data_of(&d, state, "@/cut", &none, false, &e), 0);
    data_write_tokens(path, 2, (uint32_t[]){ 1, 2, 3 }, 3);
    assert_int_equal(data_read(&d, 0, 0, 1, &id, &e), STATUS_IO);
    data_free(&d);
}

/* What of the process is in memory and no file's, in bytes. */
static int64_t private_memory(void) {
    char line[256];
    long long kilobytes = -1;
    FILE *f = fopen("/proc/self/status", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "RssAnon: %lld kB", &kilobytes) == 1) break;
    fclose(f);
    assert_true(kilobytes > 0);
    return kilobytes * 1024;
}

/* Ten thousand million tokens, of which nearly all are holes, in the memory of few. */
static void large_files_take_no_memory(void **state) {
    enum { CONTEXT = 1024, ROWS = 8, STEPS = 200 };
    const int64_t count = INT64_C(10000000000);
    char path[SCRATCH_PATH];
    unsigned char head[TOKEN_FILE_HEADER];
    Tokenizer none = { .ids = 50257 };
    Data d;
    Error e = { 0 };
    token_file_print(&(TokenHeader){ .width = 2, .count = count }, head);
    scratch_write(scratch_path(state, "sparse.bin", path), head, sizeof head);
    if (truncate(path, TOKEN_FILE_HEADER + 2 * count)) skip(); /* no holes here */
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "\x50\xc4", 2, TOKEN_FILE_HEADER + 2 * (count - 1)), 2);
    close(fd);
    int64_t before = private_memory();
    assert_int_equal(data_of(&d, state, "@/sparse.bin", &none, false, &e), 0);
    assert_int_equal(data_count(&d), count);
    static int32_t tokens[ROWS * CONTEXT], targets[ROWS * CONTEXT];
    for (OrderKind kind = 0; kind < ORDER_KINDS; kind++) {
        DataOrder o = { kind, 5, CONTEXT, ROWS };
        int64_t furthest = 0;
        for (int step = 0; step < STEPS; step++) {
            assert_int_equal(data_rows(&d, &o, step, 0, ROWS, tokens, targets, &e), 0);
            int64_t at = data_place(&d, &o, step, 0).start;
            furthest = at > furthest ? at : furthest;
        }
        assert_true(kind == ORDER_SEQUENTIAL || furthest > count / 10 * 9);
    }
    int32_t last;
    assert_int_equal(data_read(&d, 0, count - 1, 1, &last, &e), 0);
    assert_int_equal(last, 0xc450);
    assert_true(private_memory() - before < 4 << 20);
    data_free(&d);
    unlink(path);
}

/* Texts of more tokens than stay in memory: the same ids from the temporary file. */
static void many_ids_go_to_a_file(void **state) {
    enum { PIECE = 1 << 20 };
    TokenStore s;
    uint16_t *ids = malloc(PIECE * sizeof *ids);
    int32_t found[5];
    assert_non_null(ids);
    assert_int_equal(setenv("TMPDIR", *state, 1), 0);
    token_store_begin(&s, 2);
    int64_t most = TOKEN_STORE_MEMORY / 2 + 3 * PIECE;
    int64_t before = private_memory();
    for (int64_t at = 0; at < most; at += PIECE) {
        for (int64_t i = 0; i < PIECE; i++)
            ids[i] = (uint16_t)((at + i) * 40503 % 65521);
        assert_int_equal(token_store_add(&s, ids, PIECE, NULL), 0);
    }
    assert_null(s.memory);
    assert_true(private_memory() - before < TOKEN_STORE_MEMORY / 2);
    for (int64_t i = 0; i < 1000; i++) {
        int64_t at = (int64_t)random_below(1, (uint64_t)i, 0, (uint64_t)most - 5);
        assert_int_equal(token_store_read(&s, at, 5, 65521, found, NULL), 0);
        for (int k = 0; k < 5; k++)
            assert_int_equal(found[k], (at + k) * 40503 % 65521);
    }
    token_store_free(&s);
    free(ids);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_is_that_of_llm_c),
        cmocka_unit_test(the_header_says_the_tokenizer_and_who_wrote_it),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(ids_beyond_the_vocabulary),
        cmocka_unit_test(changes_are_noticed),
        cmocka_unit_test(large_files_take_no_memory),
        cmocka_unit_test(many_ids_go_to_a_file),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
