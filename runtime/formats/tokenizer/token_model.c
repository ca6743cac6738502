/* SPDX-License-Identifier: MIT
** SentencePiece's .model: a message of protocol buffers, of which the fields are read that
** encoding needs.
*/
#include "file_tables.h"

#include <stdlib.h>
#include <string.h>

#include "characters.h"
#include "protobuf.h"
#include "text_object_model.h"
#include "text_reader.h"
#include "tokenizer_file.h"

/* == The model ============================================================ */

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER = 4, UNUSED = 5, BYTE = 6 };
enum { UNIGRAM = 1, BPE = 2 };
enum { PIECE_LONGEST = 8000 };

typedef struct ModelReader {
    Tokenizer *t;
    TokenFile *f;
    const char *what;
    uint64_t type;
    Message end, surface, charsmap; /* names of the trainer; the normalizer's map */
    int32_t count, piece;           /* of pieces; the one that is read */
    TextReader text;                /* the file's object */
    Error *e;
} ModelReader;

static int model_wrong(ModelReader *r, const char *where, const char *expected, const char *found) {
    return error_set(r->e, STATUS_USER, "%s:%s: expected %s, found %s", r->what, where, expected,
                     found);
}

enum { PLACE = 48 };

/* Of the piece that is read, or a field of it. */
static const char *model_place_of(const ModelReader *r, const char *field, char place[PLACE]) {
    print_text(place, PLACE, "pieces[%d]%s", r->piece, field);
    return place;
}

static int wrong_piece(ModelReader *r, const char *field, const char *expected, const char *found) {
    char place[PLACE];
    return model_wrong(r, model_place_of(r, field, place), expected, found);
}

static int model_broken(ModelReader *r, const char *where, const Message *m, Message whole) {
    return error_set(r->e, STATUS_USER,
                     "%s:%s: expected a field of a SentencePiece model, found something else "
                     "before byte %zu of it",
                     r->what, where, (size_t)(m->at - whole.at));
}

static int read_trainer(ModelReader *r, Message m) {
    Message whole = m;
    Field x;
    int more;
    while ((more = message_next(&m, &x)) > 0) {
        if (x.number == 3 && !x.wire) r->type = x.value;
        if (x.number == 24 && !x.wire) r->f->charsmap.suffix = x.value != 0;
        if (x.number == 35 && !x.wire) r->f->byte_fallback = x.value != 0;
        if (x.number == 44 && x.wire == 2) r->surface = x.inside;
        if (x.number == 47 && x.wire == 2) r->end = x.inside;
    }
    if (more < 0) return model_broken(r, "trainer", &m, whole);
    if (r->type == UNIGRAM || r->type == BPE) return STATUS_OK;
    return model_wrong(r, "model_type", "BPE or unigram",
                       r->type == 3       ? "WORD: not in this version"
                           : r->type == 4 ? "CHAR: not in this version"
                                          : "another");
}

static int read_normalizer(ModelReader *r, Message m, bool back) {
    Message whole = m;
    Charsmap *c = &r->f->charsmap;
    Field x;
    int more;
    while ((more = message_next(&m, &x)) > 0) {
        if (x.number == 2 && x.wire == 2 && back && message_size(x.inside))
            return model_wrong(r, "denormalizer", "none", "one: not in this version");
        if (back) continue;
        if (x.number == 2 && x.wire == 2) r->charsmap = x.inside;
        if (x.number == 3 && !x.wire) c->dummy_prefix = x.value != 0;
        if (x.number == 4 && !x.wire) c->squeeze = x.value != 0;
        if (x.number == 5 && !x.wire) c->escape = x.value != 0;
    }
    return more < 0 ? model_broken(r, "normalizer", &m, whole) : STATUS_OK;
}

/* Everything but the pieces, which are counted. */
static int read_specs(ModelReader *r, Message m) {
    Message whole = m;
    Field x;
    int more, status = STATUS_OK;
    r->f->charsmap.dummy_prefix = r->f->charsmap.squeeze = r->f->charsmap.escape = true;
    while (!status && (more = message_next(&m, &x)) > 0) {
        if (x.wire != 2) continue;
        if (x.number == 1 && r->count++ == VOCABULARY_IDS)
            return error_set(r->e, STATUS_LIMIT, "%s:pieces: expected at most %d, found more",
                             r->what, VOCABULARY_IDS);
        if (x.number == 2) status = read_trainer(r, x.inside);
        if (x.number == 3) status = read_normalizer(r, x.inside, false);
        if (x.number == 5) status = read_normalizer(r, x.inside, true);
    }
    if (status) return status;
    if (more < 0) return model_broken(r, "model", &m, whole);
    if (!r->count) return model_wrong(r, "pieces", "some", "none");
    return charsmap_read(&r->f->charsmap, r->charsmap.at, message_size(r->charsmap), r->what, r->e);
}

/* == Pieces =============================================================== */

typedef struct ModelPiece {
    Message text;
    float score;
    uint64_t type;
} ModelPiece;

static int read_piece(ModelReader *r, Message m, ModelPiece *p) {
    Message whole = m;
    Field x;
    int more;
    char place[PLACE];
    Text mended = { 0 };
    *p = (ModelPiece){ .type = NORMAL };
    while ((more = message_next(&m, &x)) > 0) {
        uint32_t bits = (uint32_t)x.value;
        if (x.number == 1 && x.wire == 2) p->text = x.inside;
        if (x.number == 2 && x.wire == 5) memcpy(&p->score, &bits, sizeof bits);
        if (x.number == 3 && !x.wire) p->type = x.value;
    }
    size_t n = message_size(p->text);
    if (more < 0) return model_broken(r, model_place_of(r, "", place), &m, whole);
    if (!n || n > PIECE_LONGEST || memchr(p->text.at, 0, n))
        return wrong_piece(r, ".piece", "1 to 8000 bytes without NUL",
                           !n ? "nothing"
                               : n > PIECE_LONGEST ? "more"
                                                   : "a NUL");
    bool bad = characters_mend(&mended, p->text.at, n);
    text_free(&mended);
    if (bad) return wrong_piece(r, ".piece", "UTF-8", "something else");
    if (!(p->score - p->score == 0)) return wrong_piece(r, ".score", "a finite number", "another");
    return STATUS_OK;
}

/* Text that an id becomes: marks are spaces. */
static int model_show(ModelReader *r, int32_t id, const ModelPiece *p, int byte) {
    char one = (char)byte;
    Text shown = { 0 };
    const char *at = p->text.at, *found;
    if (byte >= 0) return vocabulary_set(&r->f->shown, id, &one, 1, false, r->what, r->e);
    if (p->type == UNKNOWN)
        return vocabulary_set(&r->f->shown, id, r->surface.at, message_size(r->surface), false,
                              r->what, r->e);
    if (p->type == CONTROL) return STATUS_OK;
    while ((found = memmem(at, (size_t)(p->text.end - at), MARK, MARK_BYTES))) {
        text_bytes(&shown, at, (size_t)(found - at));
        text_bytes(&shown, " ", 1);
        at = found + MARK_BYTES;
    }
    text_bytes(&shown, at, (size_t)(p->text.end - at));
    int status = text_status(&shown, r->e);
    if (!status)
        status = vocabulary_set(&r->f->shown, id, shown.at, shown.length, false, r->what, r->e);
    text_free(&shown);
    return status;
}

static int add_byte(ModelReader *r, int32_t id, int byte) {
    if (byte < 0 || !r->f->byte_fallback)
        return wrong_piece(r, "", "a byte's piece of a model with byte_fallback", "another");
    if (r->f->byte_id[byte] >= 0) return wrong_piece(r, "", "each byte once", "one twice");
    r->f->byte_id[byte] = id;
    r->f->flags[id] = TOKEN_BYTE;
    return STATUS_OK;
}

static int add_unknown(ModelReader *r, int32_t id) {
    if (r->f->unknown >= 0) return wrong_piece(r, "", "one unknown piece", "two");
    r->f->unknown = id;
    r->f->flags[id] = TOKEN_UNKNOWN;
    return STATUS_OK;
}

static int model_add_piece(ModelReader *r, int32_t id, const ModelPiece *p) {
    TokenFile *f = r->f;
    const char *text = p->text.at;
    size_t n = message_size(p->text);
    bool taken = p->type == NORMAL || p->type == USER, known = p->type <= BYTE && p->type;
    int byte = p->type == BYTE ? byte_of_piece(text, n) : -1, status = STATUS_OK;
    if (!known) return wrong_piece(r, ".type", "a type from 1 to 6", "another");
    if (p->type == UNUSED && r->type == BPE)
        return wrong_piece(r, ".type", "pieces in use", "an unused one: not in this version");
    bool in_tree = p->type == USER || (taken && r->type == UNIGRAM);
    if (in_tree && n > PREFIX_LONGEST)
        return wrong_piece(r, ".piece", "at most 512 bytes of such a piece", "more");
    f->score[id] = p->score;
    if (p->type == BYTE) status = add_byte(r, id, byte);
    if (p->type == UNKNOWN) status = add_unknown(r, id);
    if (p->type == CONTROL) f->flags[id] = TOKEN_SPECIAL;
    if (p->type == USER) f->flags[id] = TOKEN_USER;
    if (p->type == NORMAL && p->score < f->low) f->low = p->score;
    if (!status) status = vocabulary_set(&f->pieces, id, text, n, taken, r->what, r->e);
    if (!status && p->type == USER) status = prefix_add(&f->user, text, n, id, r->what, r->e);
    if (!status && taken && r->type == UNIGRAM)
        status = prefix_add(&f->tree, text, n, id, r->what, r->e);
    return status ? status : model_show(r, id, p, byte);
}

static int read_pieces(ModelReader *r, Message m) {
    Field x;
    ModelPiece p;
    int32_t id = 0;
    int32_t ids = text_reader_ids(&r->text, r->count);
    int status = token_file_ids(r->t, ids, r->what, r->e);
    if (!status) status = vocabulary_open(&r->f->shown, ids, r->what, r->e);
    r->f->score = status ? NULL : calloc((size_t)r->count, sizeof *r->f->score);
    if (!status && !r->f->score) status = error_memory(r->e, r->what, (size_t)r->count);
    while (!status && message_next(&m, &x) > 0) {
        if (x.number != 1 || x.wire != 2) continue;
        r->piece = id;
        status = read_piece(r, x.inside, &p);
        if (!status) status = model_add_piece(r, id++, &p);
    }
    if (status) return status;
    if (r->f->unknown < 0) return model_wrong(r, "pieces", "an unknown piece", "none");
    for (int i = 0; i < 256 && r->f->byte_fallback; i++)
        if (r->f->byte_id[i] < 0) return model_wrong(r, "pieces", "one for each byte", "fewer");
    return STATUS_OK;
}

/* == Ranks ================================================================ */

typedef struct Scored {
    float score;
    int32_t id;
} Scored;

static int by_score(const void *a, const void *b) {
    const Scored *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score;
}

/* The highest score merges first; equal ones have the same rank, by which the left one does. */
static int rank_pieces(ModelReader *r) {
    TokenFile *f = r->f;
    size_t n = (size_t)r->count;
    Scored *all = malloc(n * sizeof *all);
    f->rank = malloc(n * sizeof *f->rank);
    if (!all || !f->rank) {
        free(all);
        return error_memory(r->e, r->what, n * sizeof *all);
    }
    for (size_t i = 0; i < n; i++)
        all[i] = (Scored){ (float)f->score[i], (int32_t)i };
    qsort(all, n, sizeof *all, by_score);
    uint32_t rank = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && all[i].score < all[i - 1].score) rank++;
        f->rank[all[i].id] = rank;
    }
    free(all);
    free(f->score);
    f->score = NULL;
    return STATUS_OK;
}

static int model_read_all(ModelReader *r, const char *bytes, size_t length, Error *e) {
    Message m = { bytes, bytes + length };
    const char *text;
    size_t size;
    int status = read_specs(r, m);
    if (!status && text_model_object(bytes, length, &text, &size))
        status = text_reader_text(&r->text, text, size, r->what, e);
    if (!status) status = read_pieces(r, m);
    if (!status && r->type == BPE) status = rank_pieces(r);
    if (status) return status;
    r->t->each_byte = true;
    r->t->end = r->t->kind->find(r->t, r->end.at, message_size(r->end));
    r->text.pieces = r->count;
    status = text_reader_add(&r->text, r->t, e);
    return status ? status : text_facts_read(r->t, &r->text.object, e);
}

int token_model_read(Tokenizer *t, const char *what, const char *bytes, size_t length, Error *e) {
    static const char surface[] = " \xe2\x81\x87 ", end[] = "</s>";
    ModelReader r = { .t = t, .what = what, .type = UNIGRAM, .e = e };
    r.surface = (Message){ surface, surface + sizeof surface - 1 };
    r.end = (Message){ end, end + sizeof end - 1 };
    r.f = token_file_new(t, FORMAT_PIECES, what, e);
    if (!r.f) return STATUS_LIMIT;
    r.f->low = 3.402823466e+38f;
    r.text.object.what = what;
    int status = model_read_all(&r, bytes, length, e);
    text_reader_close(&r.text);
    if (status) return status;
    r.f->described = r.type == BPE ? "SentencePiece, BPE" : "SentencePiece, unigram";
    r.f->start = r.f->charsmap.squeeze ? START_ALL_PIECES
        : r.f->charsmap.dummy_prefix   ? START_PIECES
                                       : START_AS_IS;
    return STATUS_OK;
}
