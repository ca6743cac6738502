/* SPDX-License-Identifier: MIT
** See data_words.h. */
#include "test.h"

#include "data_words.h"

#include <stdlib.h>
#include <string.h>

#include "scratch.h"

DataWords data_names(DataNames *n, void **state, const char *text) {
    size_t at = 0;
    bool inside = false;
    n->words = 0;
    for (; *text; text++) {
        if (*text == ' ') {
            n->text[at++] = 0;
            inside = false;
            continue;
        }
        if (!inside) {
            assert_true(n->words < DATA_WORDS_MOST);
            n->word[n->words++] = n->text + at;
        }
        inside = true;
        const char *put = *text == '@' ? *state : text;
        size_t length = *text == '@' ? strlen(*state) : 1;
        assert_true(at + length + 1 < sizeof n->text);
        memcpy(n->text + at, put, length);
        at += length;
    }
    n->text[at] = 0;
    return (DataWords){ "--data", n->word, n->words, "text" };
}

int data_of(Data *d, void **state, const char *text, const Tokenizer *t, bool apart, Error *e) {
    DataNames n;
    DataFiles f;
    Tokenizer bytes;
    const DataWords words = data_names(&n, state, text);
    *d = (Data){ 0 };
    assert_int_equal(tokenizer_learn(&bytes, &tokenizer_bytes, 256, "", 0, NULL), 0);
    int status = data_files_open(&f, &words, e);
    if (status) return status;
    status = data_files_identify(&f, e);
    if (!status) status = data_tokens(d, &f, t ? t : &bytes, t ? t->ids : 256, apart, e);
    data_files_free(&f);
    return status;
}

void data_write_tokens(const char *path, int width, const uint32_t *ids, int64_t count) {
    size_t n = TOKEN_FILE_HEADER + (size_t)count * (size_t)width;
    unsigned char *bytes = calloc(1, n);
    assert_non_null(bytes);
    token_file_print(&(TokenHeader){ .width = width, .count = count }, bytes);
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < width; k++)
            bytes[TOKEN_FILE_HEADER + i * width + k] = (unsigned char)(ids[i] >> 8 * k);
    scratch_write(path, bytes, n);
    free(bytes);
}
