/* SPDX-License-Identifier: MIT
** Every worker writes its own row; a kernel's time is the mean over workers of what
** they spent in it, so that all kernels together are the time that the threads worked.
*/
#include "bench_profile.h"

#include <stdlib.h>

#include "machine.h"

enum { LINE = 8 }; /* doubles */

int profile_open(Profile *p, const strata_model *m, int32_t workers, Error *e) {
    *p = (Profile){ .kernels = m->kernels, .workers = workers };
    p->stride = (m->kernels + LINE - 1) / LINE * LINE + LINE;
    size_t n = (size_t)workers * (size_t)p->stride;
    p->begun = calloc(n, sizeof *p->begun);
    p->seconds = calloc(n, sizeof *p->seconds);
    if (p->begun && p->seconds) return STATUS_OK;
    profile_close(p);
    return error_memory(e, "profile", 2 * n * sizeof(double));
}

void profile_close(Profile *p) {
    free(p->begun);
    free(p->seconds);
    p->begun = p->seconds = NULL;
}

void profile_hook(void *user, int32_t index, int32_t begin, int32_t worker) {
    Profile *p = user;
    if (index < 0 || index >= p->kernels || worker < 0 || worker >= p->workers) return;
    size_t at = (size_t)worker * (size_t)p->stride + (size_t)index;
    double now = p->processor ? machine_thread_now() : machine_now();
    if (begin) p->begun[at] = now;
    else p->seconds[at] += now - p->begun[at];
}

double profile_seconds(const Profile *p, int32_t index) {
    double sum = 0;
    for (int32_t w = 0; w < p->workers; w++)
        sum += p->seconds[(size_t)w * (size_t)p->stride + (size_t)index];
    return sum / p->workers;
}
