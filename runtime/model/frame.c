/* Where the values of a call lie: how large an arena is, and how a call divides it. */
#include "frame.h"

/* == Sizes ================================================================ */

typedef struct Layout {
    int64_t token, granule, constant, packed, local, scratch, values;
} Layout;

/* The largest need of any program but the probe, or the probe's, in floats: per token,
** a granule, once, a worker. */
static Layout layout(bool probe) {
    Layout l = { 0, 0, 0, 0, 0, 0, 0 };
    for (int i = probe ? PROGRAM_PROBE : 0; i < (probe ? PROGRAMS : PROGRAM_PROBE); i++) {
        const Program *p = &k_programs[i];
        if (p->token_floats > l.token) l.token = p->token_floats;
        if (p->granule_floats > l.granule) l.granule = p->granule_floats;
        if (p->constant_floats > l.constant) l.constant = p->constant_floats;
        if (p->packed_floats > l.packed) l.packed = p->packed_floats;
        if (p->local_floats > l.local) l.local = p->local_floats;
    }
    l.values = round_up(l.local * k_constants.chunk, 16);
    int64_t bytes = k_constants.scratch_bytes,
            other = k_constants.bf16 ? k_gemm_bf16_scratch() : k_gemm_scratch(),
            head = k_attention_scratch(k_constants.max_head);
    if (other > bytes) bytes = other;
    if (head > bytes) bytes = head;
    l.scratch = round_up((bytes + 3) / 4, 16) + (k_constants.check ? SCRATCH_GUARD : 0);
    return l;
}

/* Weights are packed before a phase if more than one task would pack them. */
static int64_t packed_room(const Layout *l, int64_t tokens) {
    return tokens > k_constants.chunk ? round_up(l->packed, 16) : 0;
}

/* Attention looks at whole panels of queries, beyond a list's tokens. */
_Static_assert(sizeof(RowList) == LIST_HEAD * sizeof(float) && sizeof(RowList) % STRATA_ALIGN == 0,
               "lists keep the alignment of what follows");

/* Five words per token and an int64 per sequence, which has a token at least. */
static int64_t list_floats(int64_t padded) { return LIST_WORDS * (padded + LIST_BEYOND); }

static int64_t all_list_floats(int64_t padded) {
    return k_constants.lists
        ? (k_constants.lists + 1) * LIST_HEAD + k_constants.lists * list_floats(padded)
        : 0;
}

static void place_lists(Frame *f, float *at) {
    int64_t room = f->padded + LIST_BEYOND;
    f->list = (RowList *)at;
    int32_t *word = (int32_t *)(at + (k_constants.lists + 1) * LIST_HEAD);
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

size_t k_arena_bytes(bool probe, int64_t tokens, int32_t workers) {
    if (tokens < 1 || workers < 1 || tokens > INT64_C(1) << 40) return 0;
    Layout l = layout(probe);
    int64_t padded = round_up(tokens, k_constants.granule);
    int64_t floats = (l.token + CALL_FLOATS * (1 + k_constants.caches_at_once)) * padded
        + round_up(l.granule, 16) * (padded / k_constants.granule) + round_up(l.constant, 16)
        + packed_room(&l, tokens) + all_list_floats(padded) + workers * (l.values + l.scratch);
    return (size_t)floats * sizeof(float) + STRATA_ALIGN;
}

/* == Frames =============================================================== */

/* What the arena is divided into, aligned parts first. */
static void place(Frame *f, const Layout *l, void *arena) {
    f->padded = round_up(f->N, k_constants.granule);
    f->token = arena;
    f->position = (int32_t *)(f->token + l->token * f->padded);
    char *pointers = (char *)(f->position + f->padded);
    int64_t slots = f->padded * k_constants.caches_at_once;
    f->keys = (float **)pointers;
    f->values = f->keys + slots;
    f->past = (int64_t *)(f->values + slots);
    f->granule = f->token + (l->token + CALL_FLOATS * (1 + k_constants.caches_at_once)) * f->padded;
    f->constant = f->granule + round_up(l->granule, 16) * (f->padded / k_constants.granule);
    f->packed = f->constant + round_up(l->constant, 16);
    float *lists = f->packed + packed_room(l, f->N);
    f->local = lists + all_list_floats(f->padded);
    if (k_constants.lists) place_lists(f, lists);
    if (f->N <= k_constants.chunk) f->packed = 0;
    f->scratch = l->values;
    f->local_floats = l->values + l->scratch;
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
    Layout l = layout(program == PROGRAM_PROBE);
    place(&f, &l, arena);
    f.uniform[0] = 1;
    f.uniform[1] = (float)(1.0 / (double)f.N);
    for (int64_t i = 0; i < f.N; i++)
        f.position[i] = (int32_t)(i % T);
    if (k_constants.check) k_check_begin(&f);
    return f;
}
