/* SPDX-License-Identifier: MIT
** The tokenizer 'chars': an id is a character, a code point.
** It finds an id by two small tables: pages of 256 code points, of which only those
** with a known character exist; page 0 of 'id' is the one where all are unknown.
*/
#include "tokenizer.h"

#include <stdlib.h>

#include <utf8proc.h>

#include "utf8.h"

enum { POINTS = 0x110000, PAGES = POINTS / 256 };

enum { PAD, UNKNOWN, BEGIN, END, FIRST }; /* ids; from FIRST on characters */

typedef struct CharTables {
    int32_t *character; /* code point of id FIRST + i */
    char (*text)[4];    /* its UTF-8; what is not used is 0 */
    int32_t *page;      /* code point -> id, pages of 256; page[point >> 8] is an offset in 'id' */
    int32_t *id;
} CharTables;

static void free_tables(Tokenizer *t) {
    CharTables *x = t->tables;
    if (x) free(x->character), free(x->text), free(x->page), free(x->id);
    free(x);
}

/* Room for 'count' characters. */
static CharTables *new_tables(Tokenizer *t, int32_t count, const char *what, Error *e) {
    size_t bytes = ((size_t)count + 1) * sizeof(int32_t);
    CharTables *x = t->tables = calloc(1, sizeof *x);
    if (x) x->character = malloc(bytes);
    if (x) x->text = calloc((size_t)count + 1, sizeof *x->text);
    if (x && x->character && x->text) return x;
    error_memory(e, what, bytes);
    return NULL;
}

/* Makes the pages of the characters; *twice: one that is there twice, -1 if none is. */
static int make_pages(Tokenizer *t, int32_t count, int32_t *twice, Error *e) {
    CharTables *x = t->tables;
    t->ids = FIRST + count;
    t->end = END;
    *twice = -1;
    x->page = calloc(PAGES, sizeof *x->page);
    if (!x->page) return error_memory(e, "tokenizer", PAGES * sizeof *x->page);
    int32_t pages = 1;
    for (int32_t i = 0; i < count; i++) {
        int32_t *page = &x->page[x->character[i] >> 8];
        if (!*page) *page = 256 * pages++;
    }
    x->id = malloc((size_t)pages * 256 * sizeof *x->id);
    if (!x->id) return error_memory(e, "tokenizer", (size_t)pages * 256 * sizeof *x->id);
    for (int32_t i = 0; i < 256 * pages; i++)
        x->id[i] = UNKNOWN;
    for (int32_t i = 0; i < count; i++) {
        int32_t *id = &x->id[x->page[x->character[i] >> 8] + (x->character[i] & 255)];
        if (*id != UNKNOWN) *twice = x->character[i];
        *id = FIRST + i;
        utf8proc_encode_char(x->character[i], (utf8proc_uint8_t *)x->text[i]);
    }
    return STATUS_OK;
}

static int has_room(int64_t vocab, int64_t characters, Error *e) {
    if (vocab - FIRST >= characters) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "vocab: expected at least %lld for the tokenizer \"chars\", found %lld",
                     (long long)(FIRST + characters), (long long)vocab);
}

/* == From training text =================================================== */

typedef struct Counted {
    int64_t times;
    int32_t point;
} Counted;

/* Pages of 256 code points, of those that the text has. */
typedef struct Census {
    Counted *page[PAGES];
    int32_t pages;
} Census;

static int by_count(const void *a, const void *b) {
    const Counted *x = a, *y = b;
    if (x->times != y->times) return x->times > y->times ? -1 : 1;
    return x->point < y->point ? -1 : x->point > y->point;
}

/* The page that a character is in; NULL: there is no memory for it. */
static Counted *chars_page_of(Census *c, int32_t point) {
    Counted **page = &c->page[point >> 8];
    if (*page) return *page;
    *page = calloc(256, sizeof **page);
    for (int i = 0; *page && i < 256; i++)
        (*page)[i].point = (point & ~255) + i;
    c->pages += *page != NULL;
    return *page;
}

static int count_piece(Census *c, const char *text, size_t length, Error *e) {
    for (size_t i = 0; i < length;) {
        int32_t point;
        int n = utf8_next(text + i, length - i, &point);
        if (!n) return utf8_bad("text", text, i, e);
        Counted *page = chars_page_of(c, point);
        if (!page) return error_memory(e, "tokenizer", 256 * sizeof *page);
        page[point & 255].times++;
        i += (size_t)n;
    }
    return STATUS_OK;
}

static int count_characters(Census *c, const TextSource *from, Error *e) {
    for (;;) {
        const char *text;
        size_t length;
        int status = from->next(from->user, &text, &length, e);
        if (!status && text) status = count_piece(c, text, length, e);
        if (status || !text) return status;
    }
}

/* The most frequent 'most' of all, in order; 'all': room for every page. */
static int take_characters(Tokenizer *t, const Census *c, Counted *all, int64_t most, Error *e) {
    int32_t used = 0, twice;
    for (int32_t p = 0; p < POINTS; p++)
        if (!c->page[p >> 8]) p |= 255;
        else if (c->page[p >> 8][p & 255].times) all[used++] = c->page[p >> 8][p & 255];
    qsort(all, (size_t)used, sizeof *all, by_count);
    if (used > most) used = (int32_t)most;
    CharTables *x = new_tables(t, used, "tokenizer", e);
    if (!x) return STATUS_LIMIT;
    for (int32_t i = 0; i < used; i++)
        x->character[i] = all[i].point;
    return make_pages(t, used, &twice, e);
}

static int learn(Tokenizer *t, int64_t vocab, const TextSource *from, Error *e) {
    int status = has_room(vocab, 1, e);
    if (status) return status;
    Census *c = calloc(1, sizeof *c);
    if (!c) return error_memory(e, "tokenizer", sizeof *c);
    status = count_characters(c, from, e);
    size_t bytes = ((size_t)c->pages * 256 + 1) * sizeof(Counted);
    Counted *all = status ? NULL : malloc(bytes);
    if (!status)
        status = all ? take_characters(t, c, all, vocab - FIRST, e)
                     : error_memory(e, "tokenizer", bytes);
    for (int32_t i = 0; i < PAGES; i++)
        free(c->page[i]);
    free(all);
    free(c);
    return status;
}

/* == In files ============================================================= */

/* Each a Unicode scalar value, none twice. */
static int check_characters(Tokenizer *t, const Safetensors *s, int32_t count, Error *e) {
    const CharTables *x = t->tables;
    int32_t twice;
    for (int32_t i = 0; i < count; i++) {
        int32_t p = x->character[i];
        if (p < 0 || p >= POINTS || (p >= 0xd800 && p < 0xe000))
            return error_set(e, STATUS_USER,
                             "%s:tokenizer.chars[%d]: expected a character, found %d", s->path, i,
                             p);
    }
    int status = make_pages(t, count, &twice, e);
    if (!status && twice >= 0)
        status = error_set(e, STATUS_USER,
                           "%s:tokenizer.chars: expected each character once, found %d twice",
                           s->path, twice);
    return status;
}

static int chars_load(Tokenizer *t, int64_t vocab, const Safetensors *s, Error *e) {
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
    int status = has_room(vocab, f->count, e);
    if (status) return status;
    CharTables *x = new_tables(t, (int32_t)f->count, s->path, e);
    if (!x) return STATUS_LIMIT;
    status = safetensors_read_i32(s, f, x->character, e);
    return status ? status : check_characters(t, s, (int32_t)f->count, e);
}

static int save(const Tokenizer *t, TensorList *l, Error *e) {
    const CharTables *x = t->tables;
    int64_t count = t->ids - FIRST;
    return tensors_add(l, "", "tokenizer.chars", DTYPE_I32, 1, &count, x->character, e);
}

/* == Text ================================================================= */

static int64_t room(const char *text, size_t length) {
    int64_t n = 0;
    for (size_t i = 0; i < length; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static int chars_encode(const Tokenizer *t, const char *what, const char *text, size_t length,
                        TokenIds *ids, Error *e) {
    const CharTables *x = t->tables;
    for (size_t i = 0; i < length;) {
        int32_t point;
        int n = utf8_next(text + i, length - i, &point);
        if (!n) return utf8_bad(what, text, i, e);
        if (!i) ids->first = (size_t)n;
        int32_t id = x->id[x->page[point >> 8] + (point & 255)];
        ids->unknown += id == UNKNOWN;
        token_ids_add(ids, id);
        i += (size_t)n;
    }
    return STATUS_OK;
}

static int chars_decode(const Tokenizer *t, int32_t id, Decoder *d, const char **text) {
    const CharTables *x = t->tables;
    (void)d;
    if (id == PAD || id == BEGIN || id == END) return 0;
    if (id < FIRST || id >= t->ids) return -1;
    int32_t p = x->character[id - FIRST];
    *text = x->text[id - FIRST];
    return p < 0x80 ? 1 : p < 0x800 ? 2 : p < 0x10000 ? 3 : 4;
}

const TokenizerKind tokenizer_chars = { .name = "chars",
                                        .tensor = "tokenizer.chars",
                                        .utf8 = true,
                                        .learn = learn,
                                        .load = chars_load,
                                        .save = save,
                                        .free = free_tables,
                                        .room = room,
                                        .encode = chars_encode,
                                        .decode = chars_decode };
