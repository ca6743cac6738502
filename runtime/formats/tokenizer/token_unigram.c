/* SPDX-License-Identifier: MIT
** SentencePiece's unigram model: finds the most likely division of a text into pieces.
*/
#include "file_tables.h"

#include <stdlib.h>

#include "characters.h"

/* The best division of what is before a place. */
typedef struct UnigramNode {
    double score;
    int32_t id;    /* of its last piece; -1: unknown */
    int64_t begin; /* of that; -1: there is none yet */
} UnigramNode;

enum { UNKNOWN_LESS = 10 }; /* than the least likely piece, in logarithms */

/* SentencePiece's library adds floats, 'tokenizers' doubles; both to the last bit. */
static double sum(const TokenFile *f, double a, double b) {
    return f->format == FORMAT_PIECES ? (double)(float)(a + b) : a + b;
}

static void unigram_offer(UnigramNode *to, double score, int32_t id, size_t begin) {
    if (to->begin >= 0 && !(score > to->score)) return;
    *to = (UnigramNode){ score, id, (int64_t)begin };
}

/* Pieces that begin at 'at', where a character of n bytes does. */
static void extend(const TokenFile *f, UnigramNode *node, const char *text, size_t length,
                   size_t at, size_t n) {
    const double till = node[at].score;
    bool single = false;
    int32_t place = 0;
    for (size_t i = at; i < length; i++) {
        const PairSlot *s = pairs_find(&f->tree.child,
                                       (uint64_t)(uint32_t)place << 8 | (unsigned char)text[i]);
        if (!s) break;
        place = s->id;
        int32_t id = f->tree.at[place];
        if (id < 0) continue;
        size_t bytes = i + 1 - at;
        /* the former win by their length, as the library has it to the last bit */
        double score = f->flags[id] & TOKEN_USER ? (double)(float)(0.1 * (double)(bytes - 1))
                                                 : f->score[id];
        unigram_offer(&node[i + 1], sum(f, score, till), id, at);
        single |= bytes == n;
    }
    if (!single) unigram_offer(&node[at + n], sum(f, sum(f, f->low, -UNKNOWN_LESS), till), -1, at);
}

/* Long texts have scores that floats tell apart badly: as the library does, those in reach count
** from here on once they are that low. */
static void rebase(const TokenFile *f, UnigramNode *node, size_t length, size_t at) {
    static const double low = -100000;
    double till = node[at].score;
    if (!(till < low) || f->format != FORMAT_PIECES) return;
    for (size_t i = at; i <= length && i <= at + f->pieces.longest; i++)
        if (node[i].begin >= 0) node[i].score = sum(f, node[i].score, -till);
}

int token_unigram(TokenCall *c, const char *text, size_t length, Error *e) {
    static const unsigned char bytes[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4 };
    UnigramNode *node = malloc((length + 1) * sizeof *node);
    if (!node) return error_memory(e, c->what, (length + 1) * sizeof *node);
    for (size_t i = 0; i <= length; i++)
        node[i] = (UnigramNode){ 0, -1, -1 };
    for (size_t at = 0, n; at < length; at += n) {
        int32_t ignored;
        n = bytes[(unsigned char)text[at] >> 4];
        if (n > length - at) n = length - at;
        if (c->stray) n = (size_t)character_at(text, length, at, &ignored);
        rebase(c->f, node, length, at);
        extend(c->f, node, text, length, at, n);
    }
    size_t count = 0;
    for (size_t end = length; end; end = (size_t)node[end].begin)
        count++;
    size_t *ends = malloc((count + 1) * sizeof *ends);
    if (ends) {
        ends[0] = 0;
        for (size_t end = length, i = count; end; end = (size_t)node[end].begin)
            ends[i--] = end;
        for (size_t i = 1; i <= count; i++)
            token_piece(c, node[ends[i]].id, text + ends[i - 1], ends[i] - ends[i - 1]);
    }
    free(ends);
    free(node);
    return ends ? STATUS_OK : error_memory(e, c->what, count * sizeof *ends);
}
