/* SPDX-License-Identifier: MIT
** Texts through a tokenizer of unknown origin; see tokenizer_promises.h. */
#include "tokenizer_promises.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tokenizer_file.h"
#include "utf8.h"

static void check_utf8(const Text *t) {
    int32_t c;
    for (size_t i = 0; i < t->length;) {
        int n = utf8_next(t->at + i, t->length - i, &c);
        if (!n) fuzz_broken("decoded text is no UTF-8");
        i += (size_t)n;
    }
}

static void check_ids(const Tokenizer *t, const TokenIds *ids) {
    Text whole = { 0 };
    Decoder d = { 0 };
    const int32_t *id = ids->at;
    for (int64_t i = 0; i < ids->count; i++) {
        if (id[i] < 0 || id[i] >= t->ids) fuzz_broken("an id is none of the tokenizer's");
        if (decoder_push(&d, t, id[i], NULL)) abort();
        check_utf8(&d.text);
    }
    if (decoder_end(&d, t, NULL)) abort();
    check_utf8(&d.text);
    decoder_free(&d);
    if (tokenizer_decode(t, id, ids->count, true, &whole, NULL)) abort();
    check_utf8(&whole);
    text_free(&whole);
}

static void check_text(const Tokenizer *t, const char *text, size_t n, bool template) {
    TokenIds a = { .width = 4, .grows = true, .template = template }, b = a;
    Error e = { 0 };
    int status = token_ids_encode(&a, t, "text", text, n, &e);
    if (status && !e.text[0]) fuzz_broken("an error says nothing");
    if (!status) {
        check_ids(t, &a);
        if (token_ids_encode(&b, t, "text", text, n, &e) || a.count != b.count
            || (a.count && memcmp(a.at, b.at, (size_t)a.count * sizeof(int32_t)) != 0))
            fuzz_broken("a text has other ids the second time");
    }
    free(a.at), free(b.at);
}

/* More than the room that a call begins with. */
static void check_long(const Tokenizer *t) {
    enum { LONG = 6000 };
    char *text = malloc(LONG);
    if (!text) abort();
    for (int i = 0; i < LONG; i++)
        text[i] = "ab  ac\xc3\xa9"[(i * i / 3) % 8];
    check_text(t, text, LONG, false);
    free(text);
}

/* One tokenizer in 16, for long texts take as long as all else. */
static bool chosen(const char *bytes, size_t length) {
    unsigned sum = 0;
    for (size_t i = 0; i < length; i++)
        sum += (unsigned char)bytes[i];
    return sum % 16 == 0;
}

int tokenizer_promises(const char *bytes, size_t length, const char *pattern, Error *e) {
    static const char *const text[] = { "", "  ab A\xc3\xa9<s> 12\n\n a <n>  <x>aab",
                                        "\xff\xe2\x96", "\xe2\x96\x81\xe2\x96\x81 a\xe4\xb8\x96" };
    TiktokenExtra extra = { pattern, NULL, 0 };
    Tokenizer t;
    Error own = { 0 };
    if (!e) e = &own;
    int status = pattern ? tokenizer_parse_tiktoken(&t, "file", bytes, length, &extra, e)
                         : tokenizer_parse(&t, "file", bytes, length, e);
    if (status && (!e->text[0] || e->status != status)) fuzz_broken("an error says nothing");
    if (status) return 0;
    const bool long_too = chosen(bytes, length);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        check_text(&t, text[i], strlen(text[i]), i & 1);
    if (long_too) check_long(&t);
    if (length < 300 || (length < 3000 && long_too)) check_text(&t, bytes, length, false);
    tokenizer_free(&t);
    return 1;
}
