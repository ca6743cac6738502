/* SPDX-License-Identifier: MIT
** SentencePiece's models, of which one field after another is of another type, longer or shorter
** than it says, there twice or not at all, or has a value that no trainer writes.  What is accepted
** encodes and decodes; of what is not, a line names the file and the field.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "scratch.h"
#include "sweep.h"
#include "tokenizer_promises.h"

/* == Fields of a message ================================================== */

/* Bytes [begin, end) of a field, [value, end) without its key and length. */
typedef struct WireField {
    size_t begin, value, end;
    uint64_t number;
    int wire;
} WireField;

typedef struct Wire {
    const unsigned char *at;
    WireField list[64]; /* from the model's own to this one, the innermost last */
    int depth;
    Sweep *sweep;
} Wire;

static uint64_t varint(const unsigned char *bytes, size_t *at) {
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        v |= (uint64_t)(bytes[*at] & 127) << shift;
        if (bytes[(*at)++] < 128) return v;
    }
}

static WireField field_at(const unsigned char *bytes, size_t at) {
    WireField f = { .begin = at };
    uint64_t key = varint(bytes, &at);
    f.number = key >> 3;
    f.wire = (int)(key & 7);
    size_t length = f.wire == 1 ? 8 : f.wire == 5 ? 4 : 0;
    f.value = at;
    if (f.wire == 2) length = (size_t)varint(bytes, &at), f.value = at;
    if (f.wire == 0) varint(bytes, &at);
    f.end = at + length;
    return f;
}

static void add_varint(Text *to, uint64_t v) {
    for (; v > 127; v >>= 7)
        text_bytes(to, &(char){ (char)(v & 127) | (char)128 }, 1);
    text_bytes(to, &(char){ (char)v }, 1);
}

static void add_field(Text *to, uint64_t number, int wire, uint64_t length, const void *bytes,
                      size_t n) {
    add_varint(to, number << 3 | (unsigned)wire);
    if (wire == 2) add_varint(to, length);
    text_bytes(to, bytes, n);
}

/* == One reading ========================================================== */

/* "FILE:pieces[7].score: expected ..., found ...", or of the file that it is none. */
static bool is_clear(const Error *e) {
    static const char *const place[] = { "pieces", "trainer",      "model_type", "normalizer",
                                         "model:", "denormalizer", NULL };
    if (!sweep_line(e, "file:")) return false;
    for (int i = 0; place[i]; i++)
        if (!strncmp(e->text + 5, place[i], strlen(place[i]))) return true;
    return !strncmp(e->text + 5, " expected a tokenizer ", 22) || strstr(e->text, " one piece");
}

/* The model with other bytes for the innermost field; lengths of what it is in are mended. */
static void replace(Wire *w, size_t size, const char *what, const Text *with) {
    char field[128] = "";
    Text inner = { 0 }, file = { 0 };
    Error e = { 0 };
    if (!sweep_due(w->sweep)) return;
    text_bytes(&inner, with->length ? with->at : "", with->length);
    for (int i = w->depth - 1; i >= 0; i--) {
        const WireField *f = &w->list[i], *out = i ? &w->list[i - 1] : NULL;
        size_t begin = out ? out->value : 0, end = out ? out->end : size;
        print_text(field + strlen(field), sizeof field - strlen(field), "%s%llu",
                   *field ? " < " : "", (unsigned long long)f->number);
        text_clear(&file);
        text_bytes(&file, (const char *)w->at + begin, f->begin - begin);
        text_bytes(&file, inner.at, inner.length);
        text_bytes(&file, (const char *)w->at + f->end, end - f->end);
        text_clear(&inner);
        if (out) add_field(&inner, out->number, 2, file.length, file.at, file.length);
    }
    int taken = tokenizer_promises(file.at, file.length, NULL, &e);
    bool clear = taken || is_clear(&e);
    sweep_tried(w->sweep, !taken, clear);
    if (!clear) sweep_tell(w->sweep, field, what, &e);
    text_free(&inner);
    text_free(&file);
}

/* == Changes ============================================================== */

static void change_numbers(Wire *w, size_t size, const WireField *f) {
    static const uint64_t value[] = { 0, 1, 2, 3, 4, 5, 6, 7, 100, 65536, UINT32_MAX, UINT64_MAX };
    static const float score[] = {
        0, 1, -1e30f, 3.4e38f, 1e-45f, __builtin_inff(), -__builtin_inff(), __builtin_nanf("")
    };
    for (size_t i = 0; i < sizeof value / sizeof *value && f->wire == 0; i++) {
        Text t = { 0 };
        add_varint(&t, f->number << 3);
        add_varint(&t, value[i]);
        replace(w, size, "another number", &t);
        text_free(&t);
    }
    for (size_t i = 0; i < sizeof score / sizeof *score && f->wire == 5; i++) {
        Text t = { 0 };
        add_field(&t, f->number, 5, 0, &score[i], 4);
        replace(w, size, "another score", &t);
        text_free(&t);
    }
}

static void change_bytes(Wire *w, size_t size, const WireField *f) {
    static const char *const text[] = {
        "",     "x",        "the",          "\xe2\x96\x81", "<0x41>",      "<unk>",
        "</s>", "\xff\xfe", "\xed\xa0\x80", "nmt_nfkc",     "no_such_rule"
    };
    static char long_one[9000];
    const char *bytes = (const char *)w->at + f->value;
    const size_t n = f->end - f->value;
    const uint64_t length[] = { 0, n / 2, n - 1, n + 1, n + 1000, INT32_MAX, UINT64_MAX };
    if (f->wire != 2) return;
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        Text t = { 0 };
        add_field(&t, f->number, 2, length[i], bytes, n);
        replace(w, size, "another length", &t);
        text_free(&t);
    }
    memset(long_one, 'x', sizeof long_one);
    for (size_t i = 0; i < sizeof text / sizeof *text + 4; i++) {
        static const size_t cut[] = { 400, 600, 8001 };
        Text t = { 0 };
        bool listed = i < sizeof text / sizeof *text, nul = i + 1 == sizeof text / sizeof *text + 4;
        const char *with = listed ? text[i] : nul ? "a\0b" : long_one;
        size_t k = listed ? strlen(with) : nul ? 3 : cut[i - sizeof text / sizeof *text];
        add_field(&t, f->number, 2, k, with, k);
        replace(w, size, listed ? with : "other bytes", &t);
        text_free(&t);
    }
    for (size_t k = 0; k < n; k += 1 + n / 40) { /* cut, and with one bit changed */
        Text t = { 0 }, u = { 0 };
        add_field(&t, f->number, 2, k, bytes, k);
        replace(w, size, "cut", &t);
        add_field(&u, f->number, 2, n, bytes, n);
        u.at[u.length - n + k] ^= (char)(1 << k % 8);
        replace(w, size, "a bit changed", &u);
        text_free(&t);
        text_free(&u);
    }
}

/* The key, the type of what follows it, and how often it is there. */
static void change_wire(Wire *w, size_t size, const WireField *f) {
    static const char eleven[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    static const uint64_t number[] = { 0, 1, 2, 3, 4, 5, 8, 16, 35, 536870911 };
    const char *all = (const char *)w->at + f->begin, *bytes = (const char *)w->at + f->value;
    const size_t n = f->end - f->value, whole = f->end - f->begin;
    Text t = { 0 };
    replace(w, size, "", &t);
    text_bytes(&t, all, whole);
    text_bytes(&t, all, whole);
    replace(w, size, "twice", &t);
    for (int wire = 0; wire < 8; wire++) {
        text_clear(&t);
        add_field(&t, f->number, wire, n, bytes, n);
        replace(w, size, "another wire type", &t);
    }
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        text_clear(&t);
        add_field(&t, number[i], f->wire, n, bytes, n);
        replace(w, size, "another number of a field", &t);
    }
    for (int i = 0; i < 3; i++) { /* a key, a value, a length of 11 bytes */
        text_clear(&t);
        if (i) add_varint(&t, f->number << 3 | (i == 2 ? 2 : 0));
        text_bytes(&t, eleven, 11);
        if (i != 1) text_bytes(&t, bytes, n);
        replace(w, size, "a varint of 11 bytes", &t);
    }
    for (size_t k = 1; k < whole && k < 4; k++) {
        Text cut = { (char *)(size_t)all, whole - k, 0, false };
        replace(w, size, "without its last bytes", &cut);
    }
    text_free(&t);
}

/* Messages are the pieces, and the specs of the trainer and of normalizers. */
static void sweep_message(Wire *w, size_t begin, size_t end, size_t size) {
    for (size_t at = begin; at < end;) {
        const WireField f = field_at(w->at, at);
        w->list[w->depth++] = f;
        change_wire(w, size, &f);
        change_numbers(w, size, &f);
        change_bytes(w, size, &f);
        bool message = w->depth == 1 && f.wire == 2
            && (f.number == 1 || f.number == 2 || f.number == 3 || f.number == 5);
        if (message) sweep_message(w, f.value, f.end, size);
        w->depth--;
        at = f.end;
    }
}

static void sweep_model(const char *name, uint64_t every) {
    char path[1024];
    Sweep s;
    Error e = { 0 };
    size_t n;
    if (!sweep_open(&s, name, every)) return;
    print_text(path, sizeof path, SOURCE_DIR "/tests/runtime/tokenizers/%s.model", name);
    char *bytes = scratch_read(path, &n);
    assert_non_null(bytes);
    if (!tokenizer_promises(bytes, n, NULL, &e)) fail_msg("%s: %s", name, e.text);
    Wire w = { .at = (unsigned char *)bytes, .sweep = &s };
    sweep_message(&w, 0, n, n);
    free(bytes);
    sweep_end(&s);
}

static void bpe(void **state) {
    (void)state;
    sweep_model("bpe", 499);
}

static void unigram(void **state) {
    (void)state;
    sweep_model("unigram", 97);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(bpe), cmocka_unit_test(unigram) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
