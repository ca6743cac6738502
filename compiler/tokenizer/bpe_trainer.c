/* SPDX-License-Identifier: MIT
** See bpe_trainer.h.  All words lie in one array of symbols, linked within a word.  Each pair has
** the list of its places, so that the cost of a merge is the number of changes.
*/
#include "bpe_trainer.h"
#include "array.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "pair_counts.h"
#include "file_tables.h"

enum { NOWHERE = -1, MERGED = -1 };

/* A token in a word; MERGED: the symbol before it took it in. */
typedef struct Symbol {
    int32_t token, before, after; /* before, after: places, NOWHERE at the word's ends */
    int32_t word;
} Symbol;

typedef struct BpeTrainer {
    BpeVocabulary *v;
    const WordCounts *words;
    Symbol *symbol;
    int64_t symbols;
    PairCounts pairs;
    int32_t byte_id[BPE_BYTES];
    Text joined; /* of two tokens */
} BpeTrainer;

/* == The alphabet ========================================================= */

int bpe_byte_text(int byte, char out[2]) {
    int32_t point = byte_character(byte);
    out[0] = (char)(point < 128 ? point : 0xc0 | point >> 6);
    out[1] = (char)(0x80 | (point & 63));
    return point < 128 ? 1 : 2;
}

/* Bytes whose characters are their own come first, as theirs are smaller. */
static bool trainer_is_own(int byte) { return byte_character(byte) == byte; }

static int no_memory(Error *e) { return error_memory(e, "tokenizer train", sizeof(Symbol)); }

int bpe_begin(BpeVocabulary *v, const char *const *special, int specials, Error *e) {
    *v = (BpeVocabulary){ 0 };
    char text[2];
    for (int i = 0; i < specials; i++)
        if (words_add(&v->token, special[i], strlen(special[i]), 0) < 0) return no_memory(e);
    for (int others = 0; others < 2; others++)
        for (int b = 0; b < BPE_BYTES; b++)
            if (trainer_is_own(b) != others
                && words_add(&v->token, text, (size_t)bpe_byte_text(b, text), 0) < 0)
                return no_memory(e);
    return STATUS_OK;
}

void bpe_free(BpeVocabulary *v) {
    words_free(&v->token);
    free(v->merge);
    *v = (BpeVocabulary){ 0 };
}

/* == Words as symbols ===================================================== */

static void trainer_add_word(BpeTrainer *t, int32_t w) {
    const CountedWord *word = &t->words->word[w];
    const unsigned char *text = (const unsigned char *)words_text(t->words, w);
    int32_t first = (int32_t)t->symbols, last = first + (int32_t)word->length - 1;
    for (int32_t i = first; i <= last; i++)
        t->symbol[i] = (Symbol){ t->byte_id[text[i - first]], i == first ? NOWHERE : i - 1,
                                 i == last ? NOWHERE : i + 1, w };
    for (int32_t i = first; i < last; i++)
        pair_counts_add(&t->pairs, t->symbol[i].token, t->symbol[i + 1].token, i, word->count);
    t->symbols += word->length;
}

static int trainer_add_words(BpeTrainer *t, Error *e) {
    size_t bytes = t->words->used;
    if (bytes > INT32_MAX)
        return error_set(e, STATUS_LIMIT,
                         "tokenizer train: expected at most %d bytes of distinct words, found %zu",
                         INT32_MAX, bytes);
    t->symbol = malloc(bytes * sizeof *t->symbol + 1);
    if (!t->symbol) return error_memory(e, "tokenizer train", bytes * sizeof *t->symbol);
    for (int b = 0; b < BPE_BYTES; b++) {
        char text[2];
        int64_t id = words_add(&t->v->token, text, (size_t)bpe_byte_text(b, text), 0);
        if (id < 0) return no_memory(e);
        t->byte_id[b] = (int32_t)id;
    }
    for (int64_t w = 0; w < t->words->words; w++)
        trainer_add_word(t, (int32_t)w);
    pair_counts_queue(&t->pairs);
    return t->pairs.failed ? no_memory(e) : STATUS_OK;
}

/* == Merging ============================================================== */

/* The id of what two tokens spell together; -1: no memory. */
static int64_t trainer_join(BpeTrainer *t, int32_t left, int32_t right) {
    WordCounts *token = &t->v->token;
    text_clear(&t->joined);
    text_bytes(&t->joined, words_text(token, left), token->word[left].length);
    text_bytes(&t->joined, words_text(token, right), token->word[right].length);
    return t->joined.failed ? -1 : words_add(token, t->joined.at, t->joined.length, 0);
}

static bool list_merge(BpeVocabulary *v, BpeMerge m) {
    if (!ARRAY_ROOM(v->merge, v->merges, v->room, 1024)) return false;
    v->merge[v->merges++] = m;
    return true;
}

/* The pair at a place, if it still is one, becomes one symbol; its neighbours get new pairs. */
static void merge_at(BpeTrainer *t, BpeMerge m, int32_t at) {
    Symbol *s = t->symbol, *left = &s[at];
    if (left->token != m.left || left->after == NOWHERE || s[left->after].token != m.right) return;
    Symbol *right = &s[left->after];
    int64_t times = t->words->word[left->word].count;
    int32_t before = left->before, after = right->after;
    if (before != NOWHERE) {
        pair_counts_take(&t->pairs, s[before].token, m.left, times);
        pair_counts_add(&t->pairs, s[before].token, m.made, before, times);
    }
    if (after != NOWHERE) {
        pair_counts_take(&t->pairs, m.right, s[after].token, times);
        pair_counts_add(&t->pairs, m.made, s[after].token, at, times);
        s[after].before = at;
    }
    right->token = MERGED;
    left->token = m.made;
    left->after = after;
}

static int merge_next(BpeTrainer *t, TokenPair *pair, Error *e) {
    BpeMerge m = { pair_left(pair->key), pair_right(pair->key), 0 };
    int64_t made = trainer_join(t, m.left, m.right);
    m.made = (int32_t)made;
    bool ok = made >= 0 && list_merge(t->v, m);
    for (int32_t i = 0; ok && i < pair->places; i++)
        merge_at(t, m, pair->at[i]);
    if (ok) pair_counts_queue(&t->pairs);
    free(pair->at);
    return ok && !t->pairs.failed ? STATUS_OK : no_memory(e);
}

static void count_tokens(BpeTrainer *t) {
    for (int64_t i = 0; i < t->symbols; i++)
        if (t->symbol[i].token != MERGED)
            t->v->text_tokens += t->words->word[t->symbol[i].word].count;
}

int bpe_train(BpeVocabulary *v, const WordCounts *words, int64_t size, Error *e) {
    BpeTrainer t = { .v = v, .words = words };
    TokenPair pair;
    int status = trainer_add_words(&t, e);
    while (!status && v->token.words < size && pair_counts_next(&t.pairs, &pair))
        status = merge_next(&t, &pair, e);
    if (!status && t.pairs.failed) status = no_memory(e);
    if (!status) count_tokens(&t);
    free(t.symbol);
    pair_counts_free(&t.pairs);
    text_free(&t.joined);
    return status;
}
