/* SPDX-License-Identifier: MIT
** A tokenizer's file by libstrata, for programs that compare it with others:
**   tokenizer_ids FILE <TEXTS >RESULTS
** TEXTS: of each a length and its bytes.  RESULTS: of each the number of its ids, the ids, the
** length of what they decode to as a whole and that, and the same of id by id.  Numbers are 32 bits
** of the machine's order.  With "template" behind FILE the file's own additions are there.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer_file.h"

static void give_up(const char *text) {
    fprintf(stderr, "error: %s\n", text);
    exit(1);
}

static void put(const void *bytes, uint32_t n, uint32_t size) {
    if (fwrite(&n, sizeof n, 1, stdout) != 1 || fwrite(bytes, size, n, stdout) != n)
        give_up("cannot write");
}

static void put_stream(const Tokenizer *t, const int32_t *ids, int64_t count) {
    Decoder d = { 0 };
    Text all = { 0 };
    Error e;
    for (int64_t i = 0; i <= count; i++) {
        if (i < count ? decoder_push(&d, t, ids[i], &e) : decoder_end(&d, t, &e)) give_up(e.text);
        text_bytes(&all, d.text.at, d.text.length);
    }
    put(all.at, (uint32_t)all.length, 1);
    decoder_free(&d);
    text_free(&all);
}

static void answer(const Tokenizer *t, const char *text, uint32_t n, bool template) {
    TokenIds ids = { .width = 4, .grows = true, .template = template };
    Text back = { 0 };
    Error e;
    if (token_ids_encode(&ids, t, "text", text, n, &e)) give_up(e.text);
    put(ids.at ? ids.at : "", (uint32_t)ids.count, 4);
    if (tokenizer_decode(t, ids.at, ids.count, false, &back, &e)) give_up(e.text);
    put(back.at, (uint32_t)back.length, 1);
    put_stream(t, ids.at, ids.count);
    text_free(&back);
    free(ids.at);
}

int main(int count, char **argument) {
    Tokenizer t;
    Error e;
    uint32_t n;
    if (count < 2) give_up("usage: tokenizer_ids FILE [template]");
    if (tokenizer_open(&t, argument[1], NULL, NULL, &e)) give_up(e.text);
    while (fread(&n, sizeof n, 1, stdin) == 1) {
        char *text = malloc((size_t)n + 1);
        if (!text || fread(text, 1, n, stdin) != n) give_up("cannot read");
        answer(&t, text, n, count > 2 && !strcmp(argument[2], "template"));
        free(text);
    }
    tokenizer_free(&t);
    return 0;
}
