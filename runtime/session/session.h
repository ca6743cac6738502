/* SPDX-License-Identifier: MIT
** The regions of one model and the threads that work on them (abi.h): allocated
** once, page aligned, in huge pages where the system has them.
*/
#ifndef STRATA_SESSION_H
#define STRATA_SESSION_H

#include "error.h"
#include "strata.h"

typedef struct Region {
    void *at; /* zeroed; NULL: none */
    size_t bytes;
} Region;

int region_open(Region *r, const char *what, size_t bytes, Error *e);
void region_close(Region *r);

typedef struct Session {
    const strata_api *api;
    const strata_model *m;
    strata_pool *pool; /* NULL: another session's threads */
    int32_t workers;
    strata_setup setup;
    Region ctx, weights, train, arena;
    uint32_t packed; /* STRATA_PACKED while weights are as session_update left them, else 0 */
} Session;

/* Threads (0: as many as the processors), control block, and the model's own checks.  services may
** be NULL. */
int session_open(Session *s, const strata_api *api, const strata_services *services,
                 int32_t threads, Error *e);
/* Of another model, on the threads of one that is open and stays so. */
int session_beside(Session *s, const strata_api *api, const Session *other, Error *e);
/* s->setup was changed: the control block is prepared anew */
int session_setup(Session *s, Error *e);
void session_close(Session *s); /* harmless on {0} */

/* A second control block on the same threads, which reports kernels to 'profile'. */
int session_profile(const Session *s, Region *ctx, strata_profile_fn profile, void *user, Error *e);

int session_weights(Session *s, Error *e);
int session_train(Session *s, Error *e);
/* AdamW and Muon on all parameters, as the spec's settings say; 'ctx' is the session's or a second
** one. */
int session_update(Session *s, void *ctx, double lr, double grad_scale, int64_t step, Error *e);
/* Grows the arena for calls of up to 'tokens' tokens (decode: sequences). */
int session_arena(Session *s, int64_t tokens, bool decode, Error *e);
int session_state(const Session *s, Region *state, int64_t context, Error *e);

/* Bytes of an arena; false: beyond any machine. */
bool session_arena_bytes(const Session *s, int64_t tokens, size_t *bytes);

/* What a call of the model returned, as a status. */
int session_check(const Session *s, int32_t code, const char *doing, Error *e);

/* Bytes of the optimizer in TRAIN: moments, and what Muon works in. */
static inline int64_t strata_optimizer_bytes(const strata_model *m) {
    int64_t second = m->tuning_table ? m->second_moments : m->gradients;
    return (int64_t)sizeof(float) * (m->gradients + second) + m->muon_bytes;
}

/* Of TRAIN, what update leaves packed behind gradients and moments. */
static inline int64_t strata_packed_bytes(const strata_model *m) {
    return m->train_bytes - (int64_t)sizeof(float) * m->gradients - strata_optimizer_bytes(m);
}

/* Parameters that are trained: neither frozen nor buffers. */
static inline int64_t strata_trained(const strata_model *m) {
    int64_t sum = 0;
    for (int32_t i = 0; i < m->tensors - m->frozen; i++)
        if (strata_tensors(m)[i].decay >= 0) sum += strata_tensors(m)[i].count;
    return sum;
}

/* The weights, to be read. */
static inline const float *session_w(const Session *s) { return s->weights.at; }

/* To be written: what update left packed is then no longer what they are. */
static inline float *session_write_weights(Session *s) {
    s->packed = 0;
    return s->weights.at;
}

#endif
