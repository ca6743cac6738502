/* SPDX-License-Identifier: MIT
** See ranks.h. */
#include "ranks.h"

#include <string.h>

static int check_reducer(const strata_reducer *r, Error *e) {
    if (r->struct_size != sizeof *r)
        return error_set(e, STATUS_USER, "strata_reducer: expected a size of %zu, found %zu",
                         sizeof *r, r->struct_size);
    if (r->ranks < 1 || r->rank < 0 || r->rank >= r->ranks)
        return error_set(e, STATUS_USER,
                         "strata_reducer: expected a rank below the number of ranks, found rank %d "
                         "of %d",
                         r->rank, r->ranks);
    if (!r->begin || !r->range || !r->end || !r->sum || !r->leave)
        return error_set(e, STATUS_USER,
                         "strata_reducer: expected begin, range, end, sum and leave, found NULL");
    return STATUS_OK;
}

int services_check(const strata_services *s, Error *e) {
    if (!s) return STATUS_OK;
    if (s->struct_size != sizeof *s)
        return error_set(e, STATUS_USER, "strata_services: expected a size of %zu, found %zu",
                         sizeof *s, s->struct_size);
    return s->reducer ? check_reducer(s->reducer, e) : STATUS_OK;
}

/* Another status than a command's tells no more than that it failed. */
int rank_status(const strata_reducer *r, int32_t code, const char *doing, Error *e) {
    if (!code) return STATUS_OK;
    const char *why = r->message ? r->message(r->user) : NULL;
    int status = code > 0 && code <= STATUS_DIVERGED ? code : STATUS_IO;
    return error_set(e, status, "rank %d of %d: %s: %s", r->rank, r->ranks, doing,
                     why && *why ? why : "failed");
}

int ranks_sum(const strata_reducer *r, double *x, int64_t count, Error *e) {
    return r ? rank_status(r, r->sum(r->user, x, count), "sum", e) : STATUS_OK;
}

int ranks_agree(const strata_reducer *r, double *x, int64_t count, Error *e) {
    if (!rank_writes(r)) memset(x, 0, (size_t)count * sizeof *x);
    return ranks_sum(r, x, count, e);
}
