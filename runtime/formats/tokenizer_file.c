/* SPDX-License-Identifier: MIT
** Which of the formats a file is; see tokenizer_file.h. */
#include "tokenizer_file.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "file_tables.h"

bool tokenizer_is_json(const char *bytes, size_t length) {
    size_t i = 0;
    while (i < length && strchr(" \t\r\n", bytes[i]) && bytes[i])
        i++;
    return i < length && bytes[i] == '{';
}

/* A line of base64, a space and digits. */
static bool is_tiktoken(const char *bytes, size_t length) {
    const char *stop = memchr(bytes, '\n', length < 1024 ? length : 1024);
    size_t n = stop ? (size_t)(stop - bytes) : length, i = 0;
    while (i < n && (bytes[i] == '+' || bytes[i] == '=' || (bytes[i] >= '/' && bytes[i] <= 'z')))
        i++;
    return i && i + 1 < n && n < 1024 && bytes[i] == ' ' && bytes[i + 1] >= '0'
        && bytes[i + 1] <= '9';
}

/* Mistral's tekken.json, whose strings no other JSON has. */
static bool is_tekken(const char *bytes, size_t length) {
    static const char key[] = "\"token_bytes\"";
    return memmem(bytes, length, key, sizeof key - 1) != NULL;
}

int tokenizer_parse(Tokenizer *t, const char *what, const char *bytes, size_t length, Error *e) {
    *t = (Tokenizer){ .end = -1 };
    int status;
    if (length > TOKENIZER_LONGEST)
        return error_set(e, STATUS_LIMIT, "%s: expected at most %d bytes, found %zu", what,
                         TOKENIZER_LONGEST, length);
    if (tokenizer_is_json(bytes, length)) status = token_json_read(t, what, bytes, length, e);
    else if (is_tiktoken(bytes, length))
        return tokenizer_parse_tiktoken(t, what, bytes, length, NULL, e);
    else if (length && *bytes == '\n') status = token_model_read(t, what, bytes, length, e);
    else
        return error_set(e, STATUS_USER,
                         "%s: expected a tokenizer (tokenizer.json, a SentencePiece model, "
                         "a .tiktoken file), found something else",
                         what);
    if (status == STATUS_USER && tokenizer_is_json(bytes, length) && is_tekken(bytes, length))
        error_set(e, STATUS_USER,
                  "%s: expected a tokenizer.json of the package 'tokenizers', found Mistral's "
                  "tekken.json, which is not a kind that is read",
                  what);
    if (status) tokenizer_free(t);
    else token_file_done(t);
    return status;
}

int tokenizer_open(Tokenizer *t, const char *path, char **bytes, size_t *length, Error *e) {
    Input in;
    char *all = NULL;
    *t = (Tokenizer){ .end = -1 };
    int status = input_open(&in, path, e);
    if (status) return status;
    size_t n = (size_t)in.before.st_size;
    if (in.before.st_size > TOKENIZER_LONGEST)
        status = error_set(e, STATUS_LIMIT, "%s: expected at most %d bytes, found more", path,
                           TOKENIZER_LONGEST);
    if (!status && !(all = malloc(n + 1))) status = error_memory(e, path, n + 1);
    if (!status) status = input_read(&in, 0, all, n, e);
    if (!status) status = input_unchanged(&in, e);
    input_close(&in);
    if (!status) status = tokenizer_parse(t, path, all, n, e);
    if (status || !bytes) free(all);
    if (!status && bytes) {
        *bytes = all;
        *length = n;
    }
    return status;
}
