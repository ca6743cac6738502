/* SPDX-License-Identifier: MIT
** Regions and calls of one model: memory from mmap, checked sizes, status codes
** turned into errors.
*/
#include "session.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "files.h"

enum { HUGE = 4 << 20 }; /* regions from here on ask for huge pages */

static int open_region(Region *r, const char *what, size_t bytes, bool huge, Error *e) {
    *r = (Region){ 0 };
    if (bytes == 0) bytes = STRATA_ALIGN;
    if (bytes > memory_physical()) return error_memory(e, what, bytes);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return error_memory(e, what, bytes);
#ifdef MADV_HUGEPAGE
    if (!huge || bytes >= HUGE) madvise(at, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
    *r = (Region){ at, bytes };
    return STATUS_OK;
}

int region_open(Region *r, const char *what, size_t bytes, Error *e) {
    return open_region(r, what, bytes, true, e);
}

void region_close(Region *r) {
    if (r->at) munmap(r->at, r->bytes);
    *r = (Region){ 0 };
}

int session_check(const Session *s, int32_t code, const char *doing, Error *e) {
    const char *name = strata_string(s->m, s->m->name);
    const char *why = s->ctx.at ? s->api->message(s->ctx.at) : "";
    if (!why || !*why) why = s->api->strerror_(code);
    switch (code) {
    case STRATA_OK: return STATUS_OK;
    case STRATA_ERROR_CPU:
        return error_set(e, STATUS_USER,
                         "%s: compiled for the processor '%s', which this one is not: %s", name,
                         strata_string(s->m, s->m->cpu), why);
    case STRATA_ERROR_MISSING:
        return error_set(e, STATUS_USER,
                         "%s: %s: not in this program, it was built with --inference", name, doing);
    case STRATA_ERROR_FULL:
        return error_set(e, STATUS_USER, "%s: %s: expected a sequence of at most %d tokens: %s",
                         name, doing, s->m->context, why);
    default: return error_set(e, STATUS_INTERNAL, "%s: %s: status %d: %s", name, doing, code, why);
    }
}

static int session_check_model(const Session *s, Error *e) {
    const strata_model *m = s->m;
    if (m->magic != STRATA_MAGIC || m->abi_version != STRATA_ABI || m->struct_size != sizeof *m
        || s->api->struct_size != sizeof *s->api)
        return error_set(e, STATUS_INTERNAL,
                         "the model and libstrata are of different versions: expected interface %d",
                         STRATA_ABI);
    return STATUS_OK;
}

static int open_ctx(const Session *s, Region *ctx, const strata_setup *setup, Error *e) {
    int status = region_open(ctx, "control block", (size_t)s->m->ctx_bytes, e);
    if (status) return status;
    Session seen = *s;
    seen.ctx = *ctx;
    return session_check(&seen, s->api->init(ctx->at, ctx->bytes, setup), "init", e);
}

static int session_prepare(Session *s, strata_pool *pool, const strata_services *services,
                           Error *e) {
    s->workers = strata_pool_workers(pool);
    s->setup = (strata_setup){ .struct_size = sizeof s->setup,
                               .par_for = strata_par_for,
                               .pool = pool,
                               .gemm = services ? services->gemm : NULL,
                               .gemm_user = services ? services->gemm_user : NULL,
                               .workers = s->workers };
    return open_ctx(s, &s->ctx, &s->setup, e);
}

int session_open(Session *s, const strata_api *api, const strata_services *services,
                 int32_t threads, Error *e) {
    *s = (Session){ .api = api, .m = api->model() };
    int status = session_check_model(s, e);
    if (status) return status;
    s->pool = strata_pool_new(threads);
    if (!s->pool)
        return error_set(e, STATUS_LIMIT, "cannot start %d threads: %s%s",
                         threads > 0 ? threads : strata_processors(), strerror(errno),
                         errno_limit(errno));
    return session_prepare(s, s->pool, services, e);
}

int session_beside(Session *s, const strata_api *api, const Session *other, Error *e) {
    *s = (Session){ .api = api, .m = api->model() };
    int status = session_check_model(s, e);
    return status ? status : session_prepare(s, other->setup.pool, NULL, e);
}

int session_setup(Session *s, Error *e) {
    int64_t bytes = s->setup.length > s->m->context ? strata_ctx_bytes(s->m, s->setup.length)
                                                    : s->m->ctx_bytes;
    if ((size_t)bytes > s->ctx.bytes) {
        region_close(&s->ctx);
        int status = region_open(&s->ctx, "control block", (size_t)bytes, e);
        if (status) return status;
    }
    return session_check(s, s->api->init(s->ctx.at, s->ctx.bytes, &s->setup), "init", e);
}

void session_close(Session *s) {
    region_close(&s->ctx);
    region_close(&s->weights);
    region_close(&s->train);
    region_close(&s->arena);
    strata_pool_free(s->pool);
    s->pool = NULL;
}

int session_profile(const Session *s, Region *ctx, strata_profile_fn profile, void *user,
                    Error *e) {
    strata_setup setup = s->setup;
    setup.profile = profile;
    setup.profile_user = user;
    return open_ctx(s, ctx, &setup, e);
}

int session_weights(Session *s, Error *e) {
    int64_t bytes = s->m->probe_weights_bytes; /* the probe's inputs lie behind the weights */
    return region_open(&s->weights, "weights",
                       (size_t)(bytes > s->m->weights_bytes ? bytes : s->m->weights_bytes), e);
}

int session_train(Session *s, Error *e) {
    return region_open(&s->train, "gradients and optimizer", (size_t)s->m->train_bytes, e);
}

int session_update(Session *s, void *ctx, double lr, double grad_scale, int64_t step, Error *e) {
    const strata_model *m = s->m;
    strata_adamw how = {
        .struct_size = sizeof how, .lr = lr, .grad_scale = grad_scale, .step = step
    };
#define OPTIMIZER(type, name, from) how.name = m->name;
#include "settings.def"
    int status = session_check(
        s, s->api->update(ctx, s->weights.at, s->train.at, 0, m->gradients, &how), "update", e);
    if (!status) s->packed = STRATA_PACKED;
    return status;
}

bool session_arena_bytes(const Session *s, int64_t tokens, size_t *bytes) {
    int64_t part, sum;
    if (__builtin_mul_overflow(tokens, s->m->arena_per_token, &part)
        || __builtin_add_overflow(part, s->m->arena_constant, &sum) || sum > INT64_MAX / 4)
        return false;
    *bytes = s->api->arena_bytes(tokens, s->workers);
    return true;
}

int session_arena(Session *s, int64_t tokens, bool decode, Error *e) {
    size_t bytes;
    if (!session_arena_bytes(s, tokens, &bytes)) return error_memory(e, "activations", SIZE_MAX);
    bytes += decode ? (size_t)s->m->arena_decode_constant : 0;
    if (bytes <= s->arena.bytes) return STATUS_OK;
    region_close(&s->arena);
    return region_open(&s->arena, "activations", bytes, e);
}

int session_state(const Session *s, Region *state, int64_t context, Error *e) {
    /* caches of routed layers fill up slowly: small pages, of which only those that are used take
    ** memory */
    int status = open_region(state, "caches of a sequence", s->api->state_bytes(context),
                             !s->m->routed, e);
    return status
        ? status
        : session_check(s, s->api->state_init(s->ctx.at, state->at, context), "state_init", e);
}
