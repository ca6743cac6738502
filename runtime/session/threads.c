/* SPDX-License-Identifier: MIT
** The thread pool.  One job at a time: 'remaining' counts tasks that nobody has
** claimed, 'done' those that have run.  A successful decrement of 'remaining' is
** the only thing that gives a right to read the job, and the job cannot end before
** its claimed tasks are counted in 'done': so late or sleeping workers need not be
** waited for, and a job costs its caller two stores when nobody sleeps.
** Idle workers spin for a while, then sleep; each such pair of flags (remaining and
** sleepers, done and waiting) is written, then the other is read, both sequentially
** consistent, so one side always sees the other.
*/
#include "processor.h"
#include "strata.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_NS = 80000, SPIN_CROWDED_NS = 2000, LINE = 64 };

typedef struct Worker {
    strata_pool *pool;
    pthread_t thread;
    int32_t number;
} Worker;

struct strata_pool {
    _Alignas(LINE) _Atomic int64_t remaining;
    _Alignas(LINE) _Atomic int64_t done;
    /* the job: stable while remaining or done is short of tasks */
    _Alignas(LINE) strata_task_fn fn;
    void *arg;
    int64_t tasks;
    _Alignas(LINE) _Atomic int32_t sleepers;
    _Atomic bool waiting; /* the caller sleeps until 'finished' */
    _Atomic bool stop;
    pthread_mutex_t callers; /* held for a whole job */
    pthread_mutex_t lock;    /* for the two conditions */
    pthread_cond_t work, finished;
    int64_t spin_ns;
    int32_t workers, started;
    Worker *worker; /* [workers]; number 0 is the caller */
};

int32_t strata_processors(void) {
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int32_t)n : 1;
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void relax(void) {
    for (int i = 0; i < 16; i++)
        wait_a_little();
}

static bool claim(strata_pool *p, int64_t *task) {
    int64_t r = atomic_load_explicit(&p->remaining, memory_order_relaxed);
    while (r > 0)
        if (atomic_compare_exchange_weak_explicit(&p->remaining, &r, r - 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
            *task = p->tasks - r;
            return true;
        }
    return false;
}

static void wake(strata_pool *p, pthread_cond_t *condition) {
    pthread_mutex_lock(&p->lock); /* whoever saw the old flag is inside pthread_cond_wait now */
    pthread_mutex_unlock(&p->lock);
    pthread_cond_broadcast(condition);
}

/* Runs tasks of the current job, if any are left.  All claims of one visit belong to
** one job, since ours are not in 'done' yet. */
static void threads_work(strata_pool *p, int32_t number) {
    int64_t task, n = 0, tasks = 0;
    while (claim(p, &task)) {
        tasks = p->tasks;
        p->fn(p->arg, task, number);
        n++;
    }
    if (n > 0 && atomic_fetch_add(&p->done, n) + n == tasks && atomic_load(&p->waiting))
        wake(p, &p->finished);
}

static bool idle(strata_pool *p) {
    return atomic_load(&p->remaining) == 0 && !atomic_load(&p->stop);
}

static void sleep_until_work(strata_pool *p) {
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while (idle(p))
        pthread_cond_wait(&p->work, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
}

static void *worker_main(void *arg) {
    Worker *w = arg;
    strata_pool *p = w->pool;
    while (!atomic_load(&p->stop)) {
        threads_work(p, w->number);
        int64_t until = now_ns() + p->spin_ns;
        while (idle(p) && now_ns() < until)
            relax();
        if (idle(p)) sleep_until_work(p);
    }
    return NULL;
}

static void wait_until_done(strata_pool *p, int64_t tasks) {
    int64_t until = now_ns() + p->spin_ns;
    while (atomic_load(&p->done) != tasks) {
        if (now_ns() < until) {
            relax();
            continue;
        }
        pthread_mutex_lock(&p->lock);
        atomic_store(&p->waiting, true);
        while (atomic_load(&p->done) != tasks)
            pthread_cond_wait(&p->finished, &p->lock);
        atomic_store(&p->waiting, false);
        pthread_mutex_unlock(&p->lock);
    }
}

void strata_par_for(void *pool, int64_t tasks, strata_task_fn fn, void *arg) {
    strata_pool *p = pool;
    if (p->workers == 1 || tasks <= 1) {
        for (int64_t i = 0; i < tasks; i++)
            fn(arg, i, 0);
        return;
    }
    pthread_mutex_lock(&p->callers);
    p->fn = fn;
    p->arg = arg;
    p->tasks = tasks;
    atomic_store(&p->done, 0);
    atomic_store(&p->remaining, tasks);
    if (atomic_load(&p->sleepers) > 0) wake(p, &p->work);
    threads_work(p, 0);
    wait_until_done(p, tasks);
    pthread_mutex_unlock(&p->callers);
}

/* Threads of the pool take no signals: the program's own threads decide about them. */
static bool threads_start(strata_pool *p) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = 0;
    for (; p->started < p->workers && !failed; p->started += !failed) {
        Worker *w = &p->worker[p->started];
        w->pool = p;
        w->number = p->started;
        failed = pthread_create(&w->thread, NULL, worker_main, w);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) errno = failed;
    return !failed;
}

strata_pool *strata_pool_new(int32_t threads) {
    int32_t processors = strata_processors();
    if (threads < 0) {
        errno = EINVAL;
        return NULL;
    }
    if (!threads) threads = processors;
    strata_pool *p = aligned_alloc(LINE, sizeof *p);
    if (!p) return NULL;
    *p = (strata_pool){ .workers = threads, .started = 1 };
    p->spin_ns = threads <= processors ? SPIN_NS : SPIN_CROWDED_NS;
    pthread_mutex_init(&p->callers, NULL);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->finished, NULL);
    p->worker = calloc((size_t)threads, sizeof *p->worker);
    if (!p->worker || !threads_start(p)) {
        int number = p->worker ? errno : ENOMEM;
        strata_pool_free(p);
        errno = number;
        return NULL;
    }
    return p;
}

void strata_pool_free(strata_pool *p) {
    if (!p) return;
    atomic_store(&p->stop, true);
    wake(p, &p->work);
    for (int32_t i = 1; i < p->started; i++)
        pthread_join(p->worker[i].thread, NULL);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->finished);
    pthread_mutex_destroy(&p->lock);
    pthread_mutex_destroy(&p->callers);
    free(p->worker);
    free(p);
}

int32_t strata_pool_workers(const strata_pool *p) { return p ? p->workers : 0; }
