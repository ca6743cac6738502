/* SPDX-License-Identifier: MIT
** JSON lines.  What is accepted gives documents that are UTF-8 and not empty, as many as lines at
** most; the same input read as a text, in pieces, is the input.
*/
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "documents.h"
#include "fuzz.h"
#include "utf8.h"

const int fuzz_bytes = 6;
const char *const fuzz_words[] = {
    "{\"text\":\"",   "\"}\n",   "\n",      "\r\n",     "\"text\"", "{\"text\":\"a\"}\n",
    "\\ud83d\\ude00", "\\udc00", "\\u0000", "\xc3\xa9", "\xff",     "null",
    "[[[[[[[[",       "1e9",     " \t",     NULL
};

size_t fuzz_seed(size_t k, unsigned char *to) {
    static const char *const valid[] = {
        "{\"text\":\"one\"}\n{\"id\":7,\"text\":\"two \\u00e9\\n\"}\n",
        "{\"text\":\"\"}\n\n  \r\n{\"meta\":{\"text\":[1,null]},\"text\":\"\xf0\x9f\x98\x80\"}",
        "{\"text\":\"\\ud83d\\ude00\"}",
    };
    if (k >= sizeof valid / sizeof *valid) return 0;
    memcpy(to, valid[k], strlen(valid[k]));
    return strlen(valid[k]);
}

void fuzz_repair(FuzzInput *f) { (void)f; }

static void check_utf8(const DocumentPiece *p) {
    for (size_t i = 0; i < p->length;) {
        int32_t point;
        int n = utf8_next(p->text + i, p->length - i, &point);
        if (!n) fuzz_broken("a document is no UTF-8");
        i += (size_t)n;
    }
}

static int read_lines(const DataFile *file, size_t lines) {
    DocumentReader r;
    DocumentPiece p = { 0 };
    Error e = { 0 };
    size_t documents = 0;
    int status = documents_open(&r, file, "text", true, &e);
    while (!status && !(status = documents_next(&r, &p, &e)) && p.text) {
        if (!p.begins || !p.ends || !p.length) fuzz_broken("a line is a piece of a document");
        check_utf8(&p);
        documents++;
    }
    if (status && !strstr(e.text, file->path)) fuzz_broken("an error does not name the file");
    if (documents > lines) fuzz_broken("there are more documents than lines");
    documents_close(&r);
    return !status && documents;
}

static void read_text(const DataFile *file, const unsigned char *bytes, size_t n) {
    DocumentReader r;
    DocumentPiece p = { 0 };
    size_t at = 0;
    int status = documents_open(&r, file, "text", false, NULL);
    while (!status && !(status = documents_next(&r, &p, NULL)) && p.text) {
        bool same = stream_form(bytes, n) != STREAM_PLAIN
            || (at + p.length <= n && !memcmp(p.text, bytes + at, p.length));
        if (!same) fuzz_broken("a text is another");
        at += p.length;
    }
    bool text = stream_form(bytes, n) == STREAM_PLAIN && !memchr(bytes, 0, n);
    if (text && (status || at != n)) fuzz_broken("a text is not read to its end");
    documents_close(&r);
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    if (!n) return 0;
    DataFile file = { .path = (char *)fuzz_file(bytes, n), .kind = DATA_TEXT };
    size_t lines = 1;
    for (size_t i = 0; i < n; i++)
        lines += bytes[i] == '\n';
    if (stat(file.path, &file.before)) abort();
    read_text(&file, bytes, n);
    file.kind = DATA_JSONL;
    return read_lines(&file, lines);
}
