/* SPDX-License-Identifier: MIT
** JSON Lines.  What is given is what the lines are one by one, up to the first that is wrong. */
#include <string.h>

#include "fuzz.h"
#include "jsonl.h"

const int fuzz_bytes = 6;
const char *const fuzz_words[] = { "\n", "\r\n", "\n\n", " ", "\t", "{\"text\": \"a\"}",
                                   "{",  "}",    "[",    "]", "\"", "\\",
                                   "7",  "null", NULL };

size_t fuzz_seed(size_t k, unsigned char *to) {
    static const char *const valid[] = {
        "{\"text\": \"one\"}\n{\"text\": \"two\"}\n",
        "\n \t\r\n{\"context\": \"a\", \"continuation\": [\"b\", \"c\"]}\r\n7\n[]",
    };
    if (k >= sizeof valid / sizeof *valid) return 0;
    memcpy(to, valid[k], strlen(valid[k]));
    return strlen(valid[k]);
}

void fuzz_repair(FuzzInput *f) { (void)f; }

/* The first of the n bytes that is no blank, in a line that begins at 'at' and has number *line. */
static size_t next_line(const unsigned char *bytes, size_t n, size_t at, int64_t *line) {
    size_t i = at;
    for (++*line; i < n && memchr(" \t\r\n", bytes[i], 4); i++)
        if (bytes[i] == '\n') at = i + 1, ++*line;
    return i < n ? at : n;
}

static void check_value(const Jsonl *l, const Json *j, const unsigned char *text, size_t n) {
    Json alone = { 0 };
    Error e = { 0 };
    if (json_parse(&alone, "line", (const char *)text, n, 1 << 20, &e))
        fuzz_broken("a line is accepted that is no JSON");
    if (alone.count != j->count || alone.node->type != j->node->type)
        fuzz_broken("a line is read as something else");
    if (l->line < 1) fuzz_broken("a value has no line");
    json_free(&alone);
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    Jsonl l;
    Json j = { 0 };
    Error e = { 0 };
    bool more = true;
    size_t at = 0;
    int64_t line = 0;
    int status = jsonl_open(&l, fuzz_file(bytes, n), &e);
    if (status && (!e.text[0] || e.status != status)) fuzz_broken("an error says nothing");
    if (status || l.in.form != STREAM_PLAIN) {
        jsonl_close(&l);
        return 0;
    }
    while (!(status = jsonl_next(&l, &j, &more, &e))) {
        at = next_line(bytes, n, at, &line);
        if (more != (at < n)) fuzz_broken("lines are miscounted");
        if (!more) break;
        const unsigned char *end = memchr(bytes + at, '\n', n - at);
        size_t length = end ? (size_t)(end - bytes) - at : n - at;
        if (line != l.line) fuzz_broken("a line has another number");
        check_value(&l, &j, bytes + at, length);
        at += length + (end != NULL);
    }
    if (status && !e.text[0]) fuzz_broken("an error says nothing");
    json_free(&j);
    jsonl_close(&l);
    return !status;
}
