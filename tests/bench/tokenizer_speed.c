/* SPDX-License-Identifier: MIT
** How fast a tokenizer encodes a text, and reads its file:
**   tokenizer_speed FILE TEXT [TIMES]
*/
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tokenizer_file.h"

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *read_whole(const char *path, size_t *length) {
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END)) return NULL;
    *length = (size_t)ftell(f);
    rewind(f);
    char *all = malloc(*length + 1);
    if (all && fread(all, 1, *length, f) != *length) return NULL;
    fclose(f);
    return all;
}

int main(int count, char **argument) {
    Tokenizer t;
    Error e;
    size_t length;
    int times = count > 3 ? atoi(argument[3]) : 5;
    if (count < 3) return 2;
    double from = seconds(), best = 1e9;
    if (tokenizer_open(&t, argument[1], NULL, NULL, &e)) {
        fprintf(stderr, "error: %s\n", e.text);
        return 1;
    }
    printf("%s: %d ids, read in %.3f s\n", tokenizer_described(&t), t.ids, seconds() - from);
    char *text = read_whole(argument[2], &length);
    if (!text) return 1;
    int64_t ids = 0;
    for (int i = 0; i < times; i++) {
        TokenIds out = { .width = 4, .grows = true };
        from = seconds();
        if (token_ids_encode(&out, &t, argument[2], text, length, &e)) return 1;
        double took = seconds() - from;
        if (took < best) best = took;
        ids = out.count;
        free(out.at);
    }
    printf("%zu bytes, %lld ids: %.1f MB/s of processor time, best of %d\n", length, (long long)ids,
           (double)length / best / 1e6, times);
    free(text);
    tokenizer_free(&t);
    return 0;
}
