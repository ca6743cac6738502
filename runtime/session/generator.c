/* SPDX-License-Identifier: MIT
** See generator.h.  Sequences whose last token needs a call of its own, since they slide or a draft
** proposes, get one; the tokens of all others are read by one call, or by several where there are
** more than a call takes.
*/
#include "generator.h"

#include <stdlib.h>
#include <string.h>

struct Generator {
    Session *s;
    int32_t slots, most; /* most: sequences of a call */
    SequenceSlot *slot;
    Sequence *sequence; /* [slots] that of each slot */
    float *logits;      /* [slots][V] the slots' own */
    float *together;    /* [most][V] what a call gives */
    /* Sequences whose last token is to be read by one call, [slots] each. */
    Sequence **reader;
    int32_t *ids;
    void **states;
    int32_t readers;
};

static int allocate(Generator *g, int64_t V, Error *e) {
    size_t n = (size_t)g->slots, numbers = (n + (size_t)g->most) * (size_t)V;
    g->slot = calloc(n, sizeof *g->slot);
    g->sequence = calloc(n, sizeof *g->sequence);
    g->reader = calloc(n, sizeof *g->reader);
    g->ids = calloc(n, sizeof *g->ids);
    g->states = calloc(n, sizeof *g->states);
    if (!g->slot || !g->sequence || !g->reader || !g->ids || !g->states)
        return error_memory(e, "slots", n * (sizeof *g->slot + sizeof *g->sequence));
    g->logits = calloc(n * (size_t)V, sizeof *g->logits);
    g->together = calloc((size_t)g->most * (size_t)V, sizeof *g->together);
    return g->logits && g->together ? STATUS_OK
                                    : error_memory(e, "logits", numbers * sizeof *g->logits);
}

static int open_slots(Generator *g, const Tokenizer *t, int64_t length, Error *e) {
    int64_t V = g->s->m->vocab;
    int status = allocate(g, V, e);
    if (!status) status = session_arena(g->s, g->most, true, e);
    for (int32_t i = 0; i < g->slots && !status; i++) {
        SequenceSlot *slot = &g->slot[i];
        *slot = (SequenceSlot){ g->s, t, length, .logits = g->logits + i * V };
        status = session_state(g->s, &slot->state, length, e);
    }
    return status;
}

int generator_open(Generator **out, Session *s, const Tokenizer *t, int32_t slots, int64_t length,
                   Error *e) {
    *out = NULL;
    Generator *g = calloc(1, sizeof *g);
    if (!g) return error_memory(e, "generator", sizeof *g);
    g->s = s;
    g->slots = slots;
    g->most = slots < s->m->chunk ? slots : (int32_t)s->m->chunk;
    int status = open_slots(g, t, length, e);
    if (status) generator_close(g);
    else *out = g;
    return status;
}

void generator_close(Generator *g) {
    if (!g) return;
    for (int32_t i = 0; g->sequence && i < g->slots; i++)
        sequence_close(&g->sequence[i]);
    for (int32_t i = 0; g->slot && i < g->slots; i++)
        region_close(&g->slot[i].state);
    free(g->slot), free(g->sequence);
    free(g->reader), free(g->ids), free(g->states);
    free(g->logits), free(g->together);
    free(g);
}

uint64_t generator_slot_bytes(const Session *s, int64_t length) {
    return s->api->state_bytes(length) + 2 * (uint64_t)s->m->vocab * sizeof(float);
}

int32_t generator_room(const Generator *g) {
    int32_t count = 0;
    for (int32_t i = 0; i < g->slots; i++)
        count += !g->sequence[i].slot;
    return count;
}

int generator_add(Generator *g, Sequence **out, const SequenceSettings *how, Error *e) {
    int32_t i = 0;
    *out = NULL;
    while (i < g->slots && g->sequence[i].slot)
        i++;
    if (i == g->slots)
        return error_set(e, STATUS_LIMIT, "%s: expected a free slot, found all %d taken", how->name,
                         g->slots);
    int status = sequence_open(&g->sequence[i], &g->slot[i], how, e);
    if (status) sequence_close(&g->sequence[i]);
    else *out = &g->sequence[i];
    return status;
}

/* == A step =============================================================== */

/* The last tokens of readers [first, first + count), by one call; one reader's logits need not be
** moved. */
static int read_together(Generator *g, int32_t first, int32_t count, Error *e) {
    Session *s = g->s;
    size_t V = (size_t)s->m->vocab;
    float *out = count == 1 ? g->reader[first]->slot->logits : g->together;
    int status = session_check(s,
                               s->api->decode(s->ctx.at, s->weights.at, g->states + first, count,
                                              s->arena.at, g->ids + first, out),
                               "decode", e);
    for (int32_t i = 0; i < count; i++) {
        Sequence *x = g->reader[first + i];
        if (status) x->phase = SEQUENCE_FAILED;
        else if (count > 1) memcpy(x->slot->logits, out + (size_t)i * V, V * sizeof *out);
    }
    return status;
}

/* Moves a sequence on, or notes it as one that reads together with others. */
static int advance(Generator *g, Sequence *x, Error *e) {
    int32_t left;
    int status = sequence_advance(x, &left, e);
    if (status) x->phase = SEQUENCE_FAILED;
    if (status || left < 0) return status;
    g->ids[g->readers] = left;
    g->states[g->readers] = x->slot->state.at;
    g->reader[g->readers++] = x;
    return STATUS_OK;
}

/* Of several errors the first one is told. */
static int first_of(int status, int next) { return status ? status : next; }

int generator_advance(Generator *g, Error *e) {
    int status = session_arena(g->s, g->most, true, e);
    if (status) return status;
    g->readers = 0;
    for (int32_t i = 0; i < g->slots; i++) {
        Sequence *x = &g->sequence[i];
        if (x->phase == SEQUENCE_WRITES && x->unread >= 0)
            status = first_of(status, advance(g, x, status ? NULL : e));
    }
    for (int32_t first = 0; first < g->readers; first += g->most) {
        int32_t rest = g->readers - first, count = rest < g->most ? rest : g->most;
        status = first_of(status, read_together(g, first, count, status ? NULL : e));
    }
    return status;
}

int generator_step(Generator *g, Error *e) {
    int status = generator_advance(g, e);
    for (int32_t i = 0; i < g->slots; i++) {
        Sequence *x = &g->sequence[i];
        int drawn = x->slot ? sequence_draw(x, status ? NULL : e) : STATUS_OK;
        if (drawn) x->phase = SEQUENCE_FAILED;
        status = first_of(status, drawn);
    }
    return status;
}
