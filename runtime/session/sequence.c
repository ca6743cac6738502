/* SPDX-License-Identifier: MIT
** See sequence.h.  A token is drawn first, and read when the next one is wanted: the last token of
** an answer costs nothing, and no token is read twice.
*/
#include "sequence.h"

#include <stdlib.h>
#include <string.h>

static const Text no_text;

/* == Opening ============================================================== */

/* Special tokens have none: text never ends before them. */
static bool has_text(const Tokenizer *t, int32_t id) {
    Decoder d = { .begun = true };
    const char *text = "";
    return t->kind->decode(t, id, &d, &text) > 0;
}

/* The tokens of the settings, and those that texts of the settings spell. */
static int find_stops(Sequence *x, Error *e) {
    const SequenceSettings *how = &x->how;
    const Tokenizer *t = x->slot->tokenizer;
    size_t room = how->tokens + how->stops + 1;
    for (size_t i = 0; i < how->stops; i++)
        if (!*how->stop[i])
            return error_set(e, STATUS_USER, "%s: expected a text that ends answers, found ''",
                             how->name);
    x->token = calloc(room, sizeof *x->token);
    if (!x->token) return error_memory(e, "stops", room * sizeof *x->token);
    for (size_t i = 0; i < how->tokens; i++)
        x->token[x->tokens++] = how->token[i];
    for (size_t i = 0; t && i < how->stops; i++) {
        int32_t id = tokenizer_find(t, how->stop[i]);
        if (id >= 0 && !has_text(t, id)) x->token[x->tokens++] = id;
    }
    return STATUS_OK;
}

static int open_sampler(Sequence *x, Error *e) {
    const Tokenizer *t = x->slot->tokenizer;
    int32_t vocab = x->slot->s->m->vocab;
    x->sampler.how = x->how.sampling;
    return sampler_open(&x->sampler, t && t->ids < vocab ? t->ids : vocab, e);
}

static int open_slide(Sequence *x, Error *e) {
    size_t room = (size_t)x->slot->length;
    if (!x->how.slide) return STATUS_OK;
    x->ids = calloc(room, sizeof *x->ids);
    return x->ids ? STATUS_OK : error_memory(e, "tokens", room * sizeof *x->ids);
}

static int empty_state(Sequence *x, Error *e) {
    SequenceSlot *slot = x->slot;
    x->held = 0;
    if (x->draft) return draft_reset(x->draft, e);
    return session_check(slot->s,
                         slot->s->api->state_init(slot->s->ctx.at, slot->state.at, slot->length),
                         "state_init", e);
}

int sequence_open(Sequence *x, SequenceSlot *slot, const SequenceSettings *how, Error *e) {
    *x = (Sequence){ .slot = slot, .how = *how, .text = &no_text, .unread = -1 };
    x->decoder.begun = true; /* behind the prompt */
    x->phase = how->told ? SEQUENCE_WRITES : SEQUENCE_WAITS;
    int status = slot->used ? empty_state(x, e) : STATUS_OK;
    slot->used = true;
    if (status || how->told) return status;
    x->stops.stop = how->stop;
    x->stops.stops = how->stops;
    status = find_stops(x, e);
    if (!status) status = open_sampler(x, e);
    if (!status) status = open_slide(x, e);
    return status || !how->draft
        ? status
        : draft_open(&x->draft, how->draft, slot->s, &slot->state, slot->length, e);
}

void sequence_close(Sequence *x) {
    free(x->token);
    free(x->ids);
    text_stops_free(&x->stops);
    decoder_free(&x->decoder);
    sampler_close(&x->sampler);
    draft_close(x->draft);
    *x = (Sequence){ 0 };
}

int sequence_reset(Sequence *x, uint64_t seed, Error *e) {
    x->position = 0;
    x->unread = -1;
    x->phase = x->how.told ? SEQUENCE_WRITES : SEQUENCE_WAITS;
    x->sampler.how.seed = seed;
    sampler_forget(&x->sampler);
    return empty_state(x, e);
}

int sequence_copy(Sequence *x, const Sequence *from, Error *e) {
    const Session *s = x->slot->s;
    if (x->ids || from->ids || x->draft || from->draft || x->sampler.seen)
        return error_set(e, STATUS_INTERNAL,
                         "%s: expected sequences that neither slide nor have a draft or a penalty",
                         x->how.name);
    x->position = from->position;
    x->unread = from->unread;
    memcpy(x->slot->logits, from->slot->logits, (size_t)s->m->vocab * sizeof *x->slot->logits);
    return session_check(s, s->api->state_copy(s->ctx.at, x->slot->state.at, from->slot->state.at),
                         "state_copy", e);
}

/* == Reading ============================================================== */

static int sequence_prefill(Sequence *x, const int32_t *ids, int64_t count, Error *e) {
    const SequenceSlot *slot = x->slot;
    Session *s = slot->s;
    if (x->draft) return draft_read(x->draft, ids, count, slot->logits, e);
    int status = session_arena(s, count, true, e);
    return status ? status
                  : session_check(s,
                                  s->api->prefill(s->ctx.at, s->weights.at, slot->state.at,
                                                  s->arena.at, ids, count, slot->logits),
                                  "prefill", e);
}

/* Ids go behind those held, of which halves of the slot go until all have room: *gone of both
** together.  The same ones, whether many come at once or one by one. */
static void hold(Sequence *x, const int32_t *ids, int64_t count, int64_t *gone) {
    int64_t room = x->slot->length, half = (room + 1) / 2, more = x->held + count - room;
    *gone = more > 0 ? (more + half - 1) / half * half : 0;
    int64_t old = *gone < x->held ? *gone : x->held, skipped = *gone - old;
    x->held -= old;
    memmove(x->ids, x->ids + old, (size_t)x->held * sizeof *ids);
    memcpy(x->ids + x->held, ids + skipped, (size_t)(count - skipped) * sizeof *ids);
    x->held += count - skipped;
}

/* What is left is read again, at the places that it has now. */
static int slide(Sequence *x, Error *e) {
    int64_t held = x->held;
    int status = empty_state(x, e);
    x->held = held;
    return status ? status : sequence_prefill(x, x->ids, held, e);
}

/* Room for so many more tokens. */
static int check_room(const Sequence *x, int64_t count, Error *e) {
    int64_t most = x->slot->length, now = sequence_tokens(x);
    if (x->ids || count <= most - now) return STATUS_OK;
    return error_set(e, STATUS_USER, "%s: expected a sequence of at most %lld tokens, found %lld",
                     x->how.name, (long long)most, (long long)(now + count));
}

int sequence_advance(Sequence *x, int32_t *left, Error *e) {
    int32_t id = x->unread;
    int64_t gone = 0;
    *left = -1;
    int status = check_room(x, 0, e);
    if (status) return status;
    x->unread = -1;
    x->position++;
    if (x->ids) hold(x, &id, 1, &gone);
    if (gone) return slide(x, e);
    if (x->draft) return draft_next(x->draft, id, &x->sampler, x->position, x->slot->logits, e);
    *left = id;
    return STATUS_OK;
}

/* The last token, by a call for this sequence alone. */
static int read_last(Sequence *x, Error *e) {
    int32_t id = -1;
    Session *s = x->slot->s;
    void *states[1] = { x->slot->state.at };
    int status = x->unread >= 0 ? sequence_advance(x, &id, e) : STATUS_OK;
    if (status || id < 0) return status;
    return session_check(
        s, s->api->decode(s->ctx.at, s->weights.at, states, 1, s->arena.at, &id, x->slot->logits),
        "decode", e);
}

/* Behind the last token, if there is one that was not read. */
static int read_on(Sequence *x, const int32_t *ids, int64_t count, Error *e) {
    int64_t gone = 0;
    int status = read_last(x, e);
    if (status) return status;
    for (int64_t i = 0; i < count; i++)
        sampler_see(&x->sampler, ids[i]);
    x->position += count;
    text_stops_reset(&x->stops);
    if (x->ids) hold(x, ids, count, &gone);
    return gone ? slide(x, e) : sequence_prefill(x, ids, count, e);
}

int sequence_read(Sequence *x, const int32_t *ids, int64_t count, Error *e) {
    if (count < 1)
        return error_set(e, STATUS_USER, "%s: expected at least one token to read, found none",
                         x->how.name);
    int status = check_room(x, count, e);
    if (status) return status;
    status = read_on(x, ids, count, e);
    if (status) x->phase = SEQUENCE_FAILED;
    return status;
}

/* == Answering ============================================================ */

void sequence_start(Sequence *x, int64_t most) {
    int64_t room = x->slot->length - sequence_tokens(x);
    x->left = x->ids || most < room ? most : room;
    x->phase = x->left > 0 ? SEQUENCE_WRITES : SEQUENCE_LENGTH;
}

void sequence_append(Sequence *x, int32_t id) { x->unread = id; }

/* The tokenizer's ends, and those of the settings. */
static bool stops_at(const Sequence *x, int32_t id) {
    const Tokenizer *t = x->slot->tokenizer;
    if (t && text_facts_ends(&t->facts, id)) return true;
    if (t && !t->facts.ends && id == t->end) return true;
    for (size_t i = 0; i < x->tokens; i++)
        if (id == x->token[i]) return true;
    return false;
}

/* What the decoder gave, as far as no stop can begin in it; 'end': all of it. */
static int sequence_give(Sequence *x, bool end, Error *e) {
    x->text = &x->decoder.text;
    if (!x->stops.stops) return STATUS_OK;
    text_stops_take(&x->stops, x->text->at, x->text->length, end);
    x->text = &x->stops.out;
    int status = text_status(&x->stops.held, e);
    return status ? status : text_status(x->text, e);
}

static int sequence_add_text(Sequence *x, int32_t id, Error *e) {
    const Text *t = &x->decoder.text;
    if (!x->slot->tokenizer) return STATUS_OK;
    int status = decoder_push(&x->decoder, x->slot->tokenizer, id, e);
    if (!status) status = sequence_give(x, false, e);
    if (status) return status;
    if (x->stops.stopped || (x->how.stop_byte && memchr(t->at, x->how.stop_byte, t->length)))
        x->phase = SEQUENCE_TEXT;
    return STATUS_OK;
}

int sequence_draw(Sequence *x, Error *e) {
    x->text = &no_text;
    if (x->phase != SEQUENCE_WRITES || x->how.told) return STATUS_OK;
    if (!x->position)
        return error_set(e, STATUS_USER, "%s: expected a prompt, found an empty sequence",
                         x->how.name);
    int32_t id = sampler_next(&x->sampler, x->slot->logits, x->position);
    sampler_see(&x->sampler, id);
    if (id < 0)
        return error_set(e, STATUS_USER,
                         "%s: token %lld: expected finite logits; the weights are not usable",
                         x->how.name, (long long)x->position);
    if (stops_at(x, id)) {
        x->phase = SEQUENCE_TOKEN;
        return STATUS_OK;
    }
    x->unread = id;
    if (--x->left == 0) x->phase = SEQUENCE_LENGTH;
    return sequence_add_text(x, id, e);
}

int sequence_finish(Sequence *x, Error *e) {
    bool stopped = x->stops.stopped;
    if (x->phase == SEQUENCE_WRITES) x->phase = SEQUENCE_WAITS;
    x->text = &no_text;
    int status = x->slot->tokenizer ? decoder_end(&x->decoder, x->slot->tokenizer, e) : STATUS_OK;
    if (!status && !stopped) status = sequence_give(x, true, e);
    x->decoder.begun = true;
    return status;
}
