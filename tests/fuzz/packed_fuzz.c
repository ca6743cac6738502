/* SPDX-License-Identifier: MIT
** Compressed text and JSON arrays.  The first byte says what the others are: a file as it is, or
** the text that is compressed into one, by a member or a frame, or by two.
**   A text that is compressed comes out as it went in, whatever is read at once.
**   An array gives the elements that it has as a JSON value, and is accepted where that is.
*/
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "jsonl.h"
#include "compressed.h"

const int fuzz_bytes = 6;
const char *const fuzz_words[] = { "[",
                                   "]",
                                   ",",
                                   "\"a\"",
                                   "{\"text\": \"b\"}",
                                   "[]",
                                   "\\\"",
                                   "\x1f\x8b\x08",
                                   "\x28\xb5\x2f\xfd",
                                   " \n",
                                   "\"]\"",
                                   NULL };

enum { AS_IT_IS = PACK_FORMS, FORMS };

size_t fuzz_seed(size_t k, unsigned char *to) {
    static const char text[] = "[\"one\", {\"text\": \"two, ]\\\"\"} , [[], {}], 7]\n";
    if (k < FORMS) {
        to[0] = (unsigned char)k;
        memcpy(to + 1, text, sizeof text - 1);
        return sizeof text;
    }
    if (k >= FORMS + PACK_FORMS) return 0;
    to[0] = AS_IT_IS;
    return 1 + pack((int)k - FORMS, (const unsigned char *)text, sizeof text - 1, to + 1, 4096);
}

void fuzz_repair(FuzzInput *f) { (void)f; }

/* All of a stream, 'most' bytes at once; malloc'ed. */
static char *read_stream(Stream *s, size_t most, size_t *n, int *status, Error *e) {
    char *all = NULL;
    size_t got = most;
    for (*n = 0, *status = 0; !*status && got == most; *n += got) {
        all = realloc(all, *n + most);
        if (!all) abort();
        *status = stream_read(s, all + *n, most, &got, e);
        if (*n > 64u << 20) break;
    }
    return all;
}

static void same_by_any_step(const char *path, const unsigned char *text, size_t n, bool packed) {
    static const size_t step[] = { 1 << 16, 7, 333 };
    char *first = NULL;
    size_t first_n = 0;
    int first_status = 0;
    for (int i = 0; i < 3; i++) {
        Input in;
        Stream s;
        Error e = { 0 };
        size_t made = 0;
        int status = input_open(&in, path, &e);
        if (!status) status = stream_start(&s, &in, &e);
        if (status) fuzz_broken("a file cannot be opened");
        char *all = read_stream(&s, step[i], &made, &status, &e);
        stream_close(&s);
        if (status && !strstr(e.text, path)) fuzz_broken("an error does not name the file");
        if (packed && !memchr(text, 0, n) && (status || made != n || memcmp(all, text, n)))
            fuzz_broken("a text comes out as another");
        if (!i) first = all, first_n = made, first_status = status;
        else if (status != first_status
                 || (!status && (made != first_n || memcmp(all, first, made))))
            fuzz_broken("what comes out depends on what is read at once");
        if (i) free(all);
    }
    free(first);
}

/* Whether the text is an array is said by the reader of whole values. */
static int read_array(const char *path, const unsigned char *text, size_t n, bool packed) {
    Json whole = { 0 }, j = { 0 };
    Jsonl l;
    Input in;
    Stream s;
    Error e = { 0 };
    bool more = true;
    int64_t count = 0;
    int wrong = json_parse(&whole, path, (const char *)text, n, JSONL_VALUES, NULL);
    bool array = !wrong && whole.node->type == JSON_ARRAY;
    const JsonNode *node = array ? json_first(&whole, whole.node) : NULL;
    if (input_open(&in, path, &e) || stream_start(&s, &in, &e)) fuzz_broken("a file is not opened");
    bool known = packed || s.form == STREAM_PLAIN;
    int status = jsonl_start(&l, &s, true, &e);
    while (!status && !(status = jsonl_next(&l, &j, &more, &e)) && more) {
        if (array && known && (!node || node->type != j.node->type || node->count != j.node->count))
            fuzz_broken("an element is another");
        node = node ? json_next(&whole, node) : NULL;
        count++;
    }
    if (known && array && status) fuzz_broken("an array is refused");
    if (known && array && count != whole.node->count) fuzz_broken("elements are lost");
    if (known && !array && !status && !wrong) fuzz_broken("what is no array is accepted");
    if (status && !strstr(e.text, path)) fuzz_broken("an error does not name the file");
    json_free(&j), json_free(&whole);
    jsonl_close(&l);
    return !status;
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    static unsigned char packed[FUZZ_ROOM + 8192];
    if (n < 2) return 0;
    int form = bytes[0] % FORMS;
    const unsigned char *file = bytes + 1;
    size_t size = n - 1;
    if (form != AS_IT_IS) {
        size = pack(form, bytes + 1, n - 1, packed, sizeof packed);
        file = packed;
    }
    const char *path = fuzz_file(file, size);
    same_by_any_step(path, bytes + 1, n - 1, form != AS_IT_IS);
    return read_array(path, bytes + 1, n - 1, form != AS_IT_IS);
}
