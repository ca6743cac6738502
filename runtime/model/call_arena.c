/* SPDX-License-Identifier: MIT
** Where the values of a call lie: the size of an arena, and how a call divides it.
*/
#include "call_arena.h"
#include "guard.h"
#include "small_product.h"

/* Attention looks at whole panels of queries, beyond a list's tokens. */
_Static_assert(sizeof(RowList) == LIST_HEAD * sizeof(float) && sizeof(RowList) % STRATA_ALIGN == 0,
               "lists keep the alignment of what follows");

/* Where parts of the arena begin, in floats; those of a worker in its own. */
typedef struct Parts {
    int64_t padded; /* tokens, rounded up to whole granules */
    int64_t call, granule, constant, packed, lists, local;
    /* of a worker: where what attention puts aside and its scratch begin, all of it */
    int64_t aside, scratch, worker;
} Parts;

/* A worker's scratch, in floats. */
static int64_t scratch_floats(void) {
    int64_t product = k_constants.bf16 ? k_gemm_bf16_scratch() : k_gemm_scratch(),
            head = k_attention_scratch(k_constants.max_head);
    int64_t bytes = max64(k_constants.scratch_bytes, max64(product, head));
    bytes = max64(bytes, k_few_scratch());
    if (k_constants.recurrent_keys)
        bytes = max64(bytes,
                      k_recurrence_scratch(k_constants.recurrent_keys, k_constants.recurrent_values,
                                           k_constants.recurrent_back != 0));
    if (k_constants.small_steps) bytes = max64(bytes, k_small_scratch(k_constants.small_steps));
    if (k_constants.experts)
        bytes =
            max64(bytes,
                  k_expert_scratch()
                      + (k_constants.small_steps ? k_small_scratch(k_constants.small_steps) : 0));
    return round_up((bytes + 3) / 4, LINE_FLOATS) + (k_constants.check ? SCRATCH_GUARD : 0);
}

static int64_t aside_floats(void) {
    if (!k_constants.caches) return 0;
    return round_up(k_attention_aside_floats(k_constants.max_head), LINE_FLOATS);
}

/* An arena is for any program but the probe, or for the probe.  Weights are packed before a phase
** if they are for more than a chunk of tokens; of fewer each task packs what it needs. */
static Parts call_arena_parts_of(bool probe, int64_t tokens) {
    ArenaNeeds n = probe ? arena_needs(k_programs + PROGRAM_PROBE, k_programs + PROGRAMS)
                         : arena_needs(k_programs, k_programs + PROGRAM_PROBE);
    Parts p = { .padded = round_up(tokens, k_constants.granule) };
    p.call = round_up(n.token * rows_apart(p.padded), LINE_FLOATS);
    p.granule = p.call + (arena_token(&k_constants, &n) - n.token) * p.padded;
    p.constant = p.granule + round_up(n.granule, LINE_FLOATS) * (p.padded / k_constants.granule);
    p.packed = p.constant + round_up(n.constant, LINE_FLOATS);
    p.lists = p.packed + (tokens > k_constants.chunk ? round_up(n.packed, LINE_FLOATS) : 0);
    p.local = p.lists + lists_floats(&k_constants, p.padded);
    p.aside = round_up(n.local * rows_apart(k_constants.chunk), LINE_FLOATS);
    p.scratch = p.aside + aside_floats();
    p.worker = p.scratch + scratch_floats();
    return p;
}

/* Of the arena; what a probe takes besides is far from the eight times more that there are. */
static const int64_t BYTES_MOST = INT64_C(1) << 60;

int64_t k_tokens_most(void) {
    return min64(INT64_C(1) << 40, BYTES_MOST / max64(model()->arena_per_token, 1));
}

size_t k_arena_bytes(bool probe, int64_t tokens, int32_t workers) {
    if (tokens < 1 || workers < 1 || tokens > k_tokens_most()) return 0;
    Parts p = call_arena_parts_of(probe, tokens);
    if (p.worker > BYTES_MOST / (int64_t)sizeof(float) / workers) return 0;
    return (size_t)(p.local + workers * p.worker) * sizeof(float) + STRATA_ALIGN;
}

/* == Frames =============================================================== */

static void place_lists(Frame *f, float *at) {
    int64_t room = f->padded + LIST_BEYOND;
    f->list = (RowList *)at;
    int32_t *word = (int32_t *)(at + list_heads(&k_constants));
    for (int32_t i = 1; i <= k_constants.lists; i++, word += list_floats(f->padded))
        f->list[i] = (RowList){ 0,
                                0,
                                (int64_t *)word,
                                word + 2 * room,
                                word + 3 * room,
                                word + 4 * room,
                                word + 5 * room,
                                word + 6 * room };
}

/* What the arena is divided into, aligned parts first. */
static void call_arena_place(Frame *f, const Parts *p, float *arena) {
    f->padded = p->padded;
    f->token = arena;
    f->position = (int32_t *)(arena + p->call);
    int64_t slots = f->padded * k_constants.caches_at_once;
    f->keys = (float **)(f->position + f->padded);
    f->values = f->keys + slots;
    f->past = (int64_t *)(f->values + slots);
    f->granule = arena + p->granule;
    f->constant = arena + p->constant;
    f->packed = f->N > k_constants.chunk ? arena + p->packed : 0;
    f->local = arena + p->local;
    if (k_constants.lists) place_lists(f, arena + p->lists);
    f->aside = p->aside;
    f->scratch = p->scratch;
    f->local_floats = p->worker;
}

Frame k_frame(Context *c, int program, const void *w, void *arena, const int32_t *tokens, int64_t B,
              int64_t T) {
    Frame f = { .ctx = c,
                .program = &k_programs[program],
                .weights = w,
                .tokens = tokens,
                .B = B,
                .T = T,
                .N = B * T };
    Parts p = call_arena_parts_of(program == PROGRAM_PROBE, f.N);
    call_arena_place(&f, &p, arena);
    f.whole_phases = f.program->phases;
    f.uniform[0] = 1;
    f.uniform[1] = (float)(1.0 / (double)f.N);
    for (int64_t i = 0; i < f.N; i++)
        f.position[i] = (int32_t)(i % T);
    if (k_constants.check) k_check_begin(&f);
    return f;
}
