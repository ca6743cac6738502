/*
** The tokenizers 'bytes' and 'chars'; see tokenizer.h.
** chars finds an id by two small tables: pages of 256 code points, of which only those
** with a known character exist; page 0 of 'id' is the one where all are unknown.
*/
#include "tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

enum { POINTS = 0x110000, PAGES = POINTS / 256 };

/* == UTF-8 ================================================================ */

int utf8_next(const char *s, size_t n, int32_t *point) {
    if (!n) return 0;
    utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)s,
                                             n < 4 ? (utf8proc_ssize_t)n : 4, point);
    return used > 0 ? (int)used : 0;
}

static int bad_utf8(const char *what, const char *text, size_t at, Error *e) {
    return error_set(e, STATUS_USER, "%s:byte %zu: expected UTF-8, found byte 0x%02x", what, at,
                     (unsigned char)text[at]);
}

/* == Which one ============================================================ */

int tokenizer_kind(const char *name, TokenizerKind *kind, Error *e) {
    *kind = TOKENIZER_NONE;
    if (!strcmp(name, "bytes")) *kind = TOKENIZER_BYTES;
    else if (!strcmp(name, "chars")) *kind = TOKENIZER_CHARS;
    else if (!*name)
        return error_set(e, STATUS_USER,
                         "text: expected a model with a tokenizer, found a spec without one");
    else
        return error_set(
            e, STATUS_USER,
            "tokenizer: expected \"bytes\" or \"chars\", found \"%s\": not in this version", name);
    return STATUS_OK;
}

int tokenizer_bytes(Tokenizer *t, int64_t vocab, Error *e) {
    *t = (Tokenizer){ .kind = TOKENIZER_BYTES, .ids = 256 };
    if (vocab >= 256) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "vocab: expected at least 256 for the tokenizer \"bytes\", found %lld",
                     (long long)vocab);
}

/* == chars: the vocabulary ================================================ */

/* Makes the tables for the characters in t->character; NULL as 'twice' accepts all. */
static int make_tables(Tokenizer *t, int32_t count, int32_t *twice, Error *e) {
    t->kind = TOKENIZER_CHARS;
    t->ids = TOKEN_FIRST + count;
    *twice = -1;
    t->page = calloc(PAGES, sizeof *t->page);
    if (!t->page) return error_memory(e, "tokenizer", PAGES * sizeof *t->page);
    int32_t pages = 1;
    for (int32_t i = 0; i < count; i++) {
        int32_t *page = &t->page[t->character[i] >> 8];
        if (!*page) *page = 256 * pages++;
    }
    t->id = malloc((size_t)pages * 256 * sizeof *t->id);
    if (!t->id) return error_memory(e, "tokenizer", (size_t)pages * 256 * sizeof *t->id);
    for (int32_t i = 0; i < 256 * pages; i++)
        t->id[i] = TOKEN_UNKNOWN;
    for (int32_t i = 0; i < count; i++) {
        int32_t *id = &t->id[t->page[t->character[i] >> 8] + (t->character[i] & 255)];
        if (*id != TOKEN_UNKNOWN) *twice = t->character[i];
        *id = TOKEN_FIRST + i;
    }
    return STATUS_OK;
}

typedef struct Counted {
    int64_t times;
    int32_t point;
} Counted;

static int by_count(const void *a, const void *b) {
    const Counted *x = a, *y = b;
    if (x->times != y->times) return x->times > y->times ? -1 : 1;
    return x->point < y->point ? -1 : x->point > y->point;
}

static int count_characters(Counted *all, const char *text, size_t length, Error *e) {
    for (int32_t p = 0; p < POINTS; p++)
        all[p] = (Counted){ 0, p };
    for (size_t i = 0; i < length;) {
        int32_t point;
        int n = utf8_next(text + i, length - i, &point);
        if (!n) return bad_utf8("text", text, i, e);
        all[point].times++;
        i += (size_t)n;
    }
    return STATUS_OK;
}

static int chars_room(int64_t vocab, int64_t least, Error *e) {
    if (vocab - TOKEN_FIRST >= least) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "vocab: expected at least %lld for the tokenizer \"chars\", found %lld",
                     (long long)(TOKEN_FIRST + least), (long long)vocab);
}

int tokenizer_chars(Tokenizer *t, int64_t vocab, const char *text, size_t length, Error *e) {
    *t = (Tokenizer){ 0 };
    int status = chars_room(vocab, 1, e);
    if (status) return status;
    Counted *all = malloc(POINTS * sizeof *all);
    if (!all) return error_memory(e, "tokenizer", POINTS * sizeof *all);
    status = count_characters(all, text, length, e);
    if (!status) {
        int32_t used = 0,
                most = vocab - TOKEN_FIRST < POINTS ? (int32_t)(vocab - TOKEN_FIRST) : POINTS,
                twice;
        for (int32_t p = 0; p < POINTS; p++)
            if (all[p].times) all[used++] = all[p];
        qsort(all, (size_t)used, sizeof *all, by_count);
        if (used > most) used = most;
        t->character = malloc(((size_t)used + 1) * sizeof *t->character);
        if (!t->character)
            status = error_memory(e, "tokenizer", ((size_t)used + 1) * sizeof *t->character);
        for (int32_t i = 0; !status && i < used; i++)
            t->character[i] = all[i].point;
        if (!status) status = make_tables(t, used, &twice, e);
    }
    free(all);
    if (status) tokenizer_free(t);
    return status;
}

/* Each a Unicode scalar value, none twice. */
static int check_characters(Tokenizer *t, const Safetensors *s, int32_t count, Error *e) {
    int32_t twice;
    for (int32_t i = 0; i < count; i++) {
        int32_t p = t->character[i];
        if (p < 0 || p >= POINTS || (p >= 0xd800 && p < 0xe000))
            return error_set(e, STATUS_USER,
                             "%s:tokenizer.chars[%d]: expected a character, found %d", s->path, i,
                             p);
    }
    int status = make_tables(t, count, &twice, e);
    if (!status && twice >= 0)
        status = error_set(e, STATUS_USER,
                           "%s:tokenizer.chars: expected each character once, found %d twice",
                           s->path, twice);
    return status;
}

int tokenizer_load(Tokenizer *t, TokenizerKind kind, int64_t vocab, const Safetensors *s,
                   Error *e) {
    *t = (Tokenizer){ 0 };
    if (kind == TOKENIZER_BYTES) return tokenizer_bytes(t, vocab, e);
    const Tensor *f = safetensors_find(s, "tokenizer.chars");
    if (!f)
        return error_set(e, STATUS_USER,
                         "%s:tokenizer.chars: expected the tokenizer's characters, found none",
                         s->path);
    if (f->rank != 1 || f->count < 1 || f->count > POINTS)
        return error_set(
            e, STATUS_USER,
            "%s:tokenizer.chars: expected a list of characters, found rank %d with %lld", s->path,
            f->rank, (long long)f->count);
    int status = chars_room(vocab, f->count, e);
    if (status) return status;
    t->character = malloc((size_t)f->count * sizeof *t->character);
    if (!t->character) return error_memory(e, s->path, (size_t)f->count * sizeof *t->character);
    status = safetensors_read_i32(s, f, t->character, e);
    if (!status) status = check_characters(t, s, (int32_t)f->count, e);
    if (status) tokenizer_free(t);
    return status;
}

int tokenizer_save(const Tokenizer *t, TensorList *l, Error *e) {
    if (t->kind != TOKENIZER_CHARS) return STATUS_OK;
    int64_t count = t->ids - TOKEN_FIRST;
    return tensors_add(l, "", "tokenizer.chars", DTYPE_I32, 1, &count, t->character, e);
}

void tokenizer_free(Tokenizer *t) {
    free(t->character);
    free(t->page);
    free(t->id);
    *t = (Tokenizer){ 0 };
}

/* == Encoding ============================================================= */

int32_t tokenizer_character(const Tokenizer *t, int32_t point) {
    return t->id[t->page[point >> 8] + (point & 255)];
}

int tokenizer_encode(const Tokenizer *t, const char *what, const char *text, size_t length,
                     int32_t *out, int64_t *count, Error *e) {
    *count = 0;
    for (size_t i = 0; i < length;) {
        int32_t point;
        if (t->kind == TOKENIZER_BYTES) {
            out[(*count)++] = (unsigned char)text[i++];
            continue;
        }
        int n = utf8_next(text + i, length - i, &point);
        if (!n) return bad_utf8(what, text, i, e);
        out[(*count)++] = tokenizer_character(t, point);
        i += (size_t)n;
    }
    return STATUS_OK;
}

/* == Decoding ============================================================= */

#define REPLACEMENT "\xef\xbf\xbd"

/* How many bytes the character that begins with these n >= 1 has, n at most; 0 if it has more
** and they may follow; -1 if no character begins so.  The table of Unicode 3.9, D92. */
static int utf8_state(const unsigned char *s, int n) {
    int lead = s[0], need = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    int low = lead == 0xe0 ? 0xa0
        : lead == 0xf0     ? 0x90
                           : 0x80,
        high = lead == 0xed ? 0x9f
        : lead == 0xf4      ? 0x8f
                            : 0xbf;
    if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4) return -1;
    for (int i = 1; i < n; i++) {
        if (s[i] < low || s[i] > high) return -1;
        low = 0x80;
        high = 0xbf;
    }
    return n < need ? 0 : need;
}

static int append(char *out, int at, const void *bytes, int n) {
    memcpy(out + at, bytes, (size_t)n);
    out[at + n] = 0;
    return at + n;
}

/* What cannot be completed becomes one U+FFFD, and the byte that broke it starts anew. */
static int push_byte(Decoder *d, unsigned char byte, char *out) {
    int n = 0;
    d->pending[d->count++] = byte;
    int state = utf8_state(d->pending, d->count);
    if (state < 0 && d->count > 1) {
        n = append(out, n, REPLACEMENT, 3);
        d->pending[0] = byte;
        d->count = 1;
        state = utf8_state(d->pending, 1);
    }
    if (state > 0) n = append(out, n, d->pending, d->count);
    if (state < 0) n = append(out, n, REPLACEMENT, 3);
    if (state) d->count = 0;
    return n;
}

int decoder_push(Decoder *d, const Tokenizer *t, int32_t id, char out[DECODER_OUT]) {
    out[0] = 0;
    if (t->kind == TOKENIZER_BYTES && id >= 0 && id < 256)
        return push_byte(d, (unsigned char)id, out);
    int n = decoder_end(d, out);
    if (t->kind == TOKENIZER_CHARS && id >= TOKEN_FIRST && id < t->ids) {
        utf8proc_uint8_t bytes[4];
        return append(out, n, bytes,
                      (int)utf8proc_encode_char(t->character[id - TOKEN_FIRST], bytes));
    }
    if (t->kind == TOKENIZER_CHARS && (id == TOKEN_PAD || id == TOKEN_BEGIN || id == TOKEN_END))
        return n;
    return append(out, n, REPLACEMENT, 3);
}

int decoder_end(Decoder *d, char out[DECODER_OUT]) {
    out[0] = 0;
    if (!d->count) return 0;
    d->count = 0;
    return append(out, 0, REPLACEMENT, 3);
}
