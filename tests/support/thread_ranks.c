/* SPDX-License-Identifier: MIT
** See thread_ranks.h.  A call waits until all ranks have made it, in vain for one that left.
*/
#include "thread_ranks.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct OneRank {
    ThreadRanks *all;
    strata_reducer reducer;
    const strata_step *step;
    float *room; /* of a range's sums, until all have read the parts */
    double *numbers;
    int64_t told; /* of the step's numbers, in order */
} OneRank;

struct ThreadRanks {
    pthread_mutex_t lock;
    pthread_cond_t all_there;
    int ranks, there, left; /* left: ranks that are done */
    int64_t meetings;
    char message[64];
    OneRank rank[THREAD_RANKS];
};

/* Waits for all ranks; not 0: one of them is gone. */
static int32_t meet(ThreadRanks *t) {
    pthread_mutex_lock(&t->lock);
    int64_t now = t->meetings;
    if (++t->there == t->ranks) {
        t->there = 0;
        t->meetings++;
        pthread_cond_broadcast(&t->all_there);
    }
    while (t->meetings == now && !t->left)
        pthread_cond_wait(&t->all_there, &t->lock);
    bool met = t->meetings != now;
    pthread_mutex_unlock(&t->lock);
    return met ? 0 : 4;
}

static int32_t begin(void *user, const strata_step *step) {
    OneRank *r = user;
    r->step = step;
    r->told = 0;
    if (!r->room) r->room = malloc((size_t)step->gradients * sizeof *r->room);
    if (!r->room) abort();
    return meet(r->all);
}

/* The parts of all ranks, in order. */
static int64_t collect(const ThreadRanks *t, int64_t first, strata_part *part) {
    int64_t n = 0;
    for (int i = 0; i < t->ranks; i++)
        for (int64_t k = 0; k < t->rank[i].step->parts; k++) {
            part[n] = t->rank[i].step->part[k];
            part[n++].at += first;
        }
    return n;
}

static int32_t range(void *user, int64_t first, int64_t count) {
    OneRank *r = user;
    strata_part part[THREAD_RANKS * 64];
    if (first != r->told || count < 1) return 5; /* in order, each once */
    r->told += count;
    if (meet(r->all)) return 4;
    int64_t n = collect(r->all, first, part);
    if (strata_sum_parts(r->step->leaves, part, n, count, r->room + first)) return 5;
    if (meet(r->all)) return 4;
    memcpy(r->step->sum + first, r->room + first, (size_t)count * sizeof(float));
    return 0;
}

static int32_t end(void *user) {
    OneRank *r = user;
    if (r->told != r->step->gradients) return 5; /* all of them */
    return meet(r->all);
}

static int32_t sum(void *user, double *x, int64_t count) {
    OneRank *r = user;
    r->numbers = x;
    if (meet(r->all)) return 4;
    double *sums = calloc((size_t)count + 1, sizeof *sums);
    if (!sums) abort();
    for (int i = 0; i < r->all->ranks; i++)
        for (int64_t k = 0; k < count; k++)
            sums[k] += r->all->rank[i].numbers[k];
    int32_t status = meet(r->all);
    memcpy(x, sums, (size_t)count * sizeof *x);
    free(sums);
    return status;
}

static void leave(void *user, int32_t status) {
    OneRank *r = user;
    ThreadRanks *t = r->all;
    pthread_mutex_lock(&t->lock);
    if (!t->left++)
        snprintf(t->message, sizeof t->message, "rank %d left with status %d", r->reducer.rank,
                 status);
    pthread_cond_broadcast(&t->all_there);
    pthread_mutex_unlock(&t->lock);
}

static const char *message(void *user) { return ((OneRank *)user)->all->message; }

ThreadRanks *thread_ranks_new(int ranks) {
    ThreadRanks *t = calloc(1, sizeof *t);
    if (!t || ranks > THREAD_RANKS) abort();
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->all_there, NULL);
    t->ranks = ranks;
    for (int i = 0; i < ranks; i++)
        t->rank[i] = (OneRank){ .all = t,
                                .reducer = { .struct_size = sizeof(strata_reducer),
                                             .user = &t->rank[i],
                                             .rank = i,
                                             .ranks = ranks,
                                             .begin = begin,
                                             .range = range,
                                             .end = end,
                                             .sum = sum,
                                             .leave = leave,
                                             .message = message } };
    return t;
}

void thread_ranks_free(ThreadRanks *t) {
    for (int i = 0; i < t->ranks; i++)
        free(t->rank[i].room);
    pthread_cond_destroy(&t->all_there);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

const strata_reducer *thread_ranks_reducer(ThreadRanks *t, int rank) {
    return &t->rank[rank].reducer;
}

/* == Programs ============================================================= */

typedef struct Program {
    const strata_api *api;
    const strata_reducer *reducer;
    const char *words;
    int status;
    pthread_t thread;
} Program;

static void *run(void *user) {
    Program *p = user;
    char text[1024], *word[64] = { "model" }, *rest;
    int count = 1;
    snprintf(text, sizeof text, "%s", p->words);
    for (char *w = strtok_r(text, " ", &rest); w && count < 63; w = strtok_r(NULL, " ", &rest))
        word[count++] = w;
    const strata_services services = { .struct_size = sizeof services, .reducer = p->reducer };
    p->status = strata_main_services(count, word, p->api, &services);
    return NULL;
}

void thread_ranks_run(const strata_api *api, int ranks, const char *words, int *status) {
    Program p[THREAD_RANKS] = { 0 };
    int n = ranks ? ranks : 1;
    ThreadRanks *t = thread_ranks_new(n);
    sigset_t signals;
    sigfillset(&signals); /* are for the ranks to look at, not for the thread that waits for them */
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
    for (int i = 0; i < n; i++) {
        p[i] = (Program){ .api = api,
                          .reducer = ranks ? thread_ranks_reducer(t, i) : NULL,
                          .words = words };
        if (pthread_create(&p[i].thread, NULL, run, &p[i])) abort();
    }
    for (int i = 0; i < n; i++) {
        pthread_join(p[i].thread, NULL);
        status[i] = p[i].status;
    }
    thread_ranks_free(t);
}
