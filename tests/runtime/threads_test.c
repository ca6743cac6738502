/* SPDX-License-Identifier: MIT
** The thread pool: every task once, one task a worker at a time, jobs from several
** threads, sleeping and crowded pools, signals kept away from the workers.
*/
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "strata.h"

enum { MOST = 64 };

typedef struct Count {
    _Atomic int32_t *runs; /* [tasks] */
    _Atomic int32_t busy[MOST], clashes, outside;
    int32_t workers;
    int64_t sum; /* plain: published by par_for's return */
} Count;

static void count_task(void *arg, int64_t task, int32_t worker) {
    Count *c = arg;
    if (worker < 0 || worker >= c->workers) {
        atomic_fetch_add(&c->outside, 1);
        return;
    }
    if (atomic_fetch_add(&c->busy[worker], 1) != 0) atomic_fetch_add(&c->clashes, 1);
    atomic_fetch_add(&c->runs[task], 1);
    atomic_fetch_sub(&c->busy[worker], 1);
}

static void check_job(strata_pool *pool, int64_t tasks) {
    Count c = { .workers = strata_pool_workers(pool) };
    c.runs = calloc((size_t)tasks + 1, sizeof *c.runs);
    assert_non_null(c.runs);
    strata_par_for(pool, tasks, count_task, &c);
    for (int64_t i = 0; i < tasks; i++)
        assert_int_equal(c.runs[i], 1);
    assert_int_equal(c.clashes, 0);
    assert_int_equal(c.outside, 0);
    free(c.runs);
}

static void every_task_runs_once(void **state) {
    (void)state;
    static const int32_t threads[] = { 1, 2, 3, 8 };
    static const int64_t tasks[] = { 0, 1, 2, 3, 7, 64, 1000 };
    for (int t = 0; t < 4; t++) {
        strata_pool *pool = strata_pool_new(threads[t]);
        assert_non_null(pool);
        assert_int_equal(strata_pool_workers(pool), threads[t]);
        for (int repeat = 0; repeat < 20; repeat++)
            for (int k = 0; k < 7; k++)
                check_job(pool, tasks[k]);
        strata_pool_free(pool);
    }
}

static void add_task(void *arg, int64_t task, int32_t worker) {
    int64_t *part = arg;
    (void)worker;
    part[task] += task + 1;
}

/* What a job wrote is there when it returns, job after job, without locks. */
static void results_are_published(void **state) {
    (void)state;
    strata_pool *pool = strata_pool_new(3);
    int64_t part[5] = { 0 };
    for (int job = 1; job <= 3000; job++) {
        strata_par_for(pool, 5, add_task, part);
        for (int i = 0; i < 5; i++)
            assert_int_equal(part[i], (int64_t)job * (i + 1));
    }
    strata_pool_free(pool);
}

static void sleepers_wake(void **state) {
    (void)state;
    strata_pool *pool = strata_pool_new(4);
    for (int i = 0; i < 10; i++) {
        usleep(3000);
        check_job(pool, 40);
    }
    usleep(3000);
    strata_pool_free(pool);
}

typedef struct Caller {
    strata_pool *pool;
    _Atomic int64_t sum;
} Caller;

static void sum_task(void *arg, int64_t task, int32_t worker) {
    (void)worker;
    atomic_fetch_add((_Atomic int64_t *)arg, task);
}

static void *caller_main(void *arg) {
    Caller *c = arg;
    for (int i = 0; i < 200; i++)
        strata_par_for(c->pool, 20, sum_task, &c->sum);
    return NULL;
}

static void callers_take_turns(void **state) {
    (void)state;
    Caller caller[3] = { { 0 } };
    pthread_t thread[3];
    strata_pool *pool = strata_pool_new(2);
    for (int i = 0; i < 3; i++) {
        caller[i].pool = pool;
        assert_int_equal(pthread_create(&thread[i], NULL, caller_main, &caller[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(caller[i].sum, 200 * 190);
    }
    strata_pool_free(pool);
}

static void mask_task(void *arg, int64_t task, int32_t worker) {
    sigset_t set;
    (void)task;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    if (worker > 0 && !sigismember(&set, SIGINT)) atomic_store((_Atomic int *)arg, 1);
    usleep(200); /* long enough that the workers take part */
}

static void workers_take_no_signals(void **state) {
    (void)state;
    _Atomic int open = 0;
    strata_pool *pool = strata_pool_new(3);
    strata_par_for(pool, 30, mask_task, &open);
    assert_int_equal(open, 0);
    strata_pool_free(pool);
}

static void defaults(void **state) {
    (void)state;
    strata_pool *pool = strata_pool_new(0);
    assert_int_equal(strata_pool_workers(pool), strata_processors());
    check_job(pool, 10);
    strata_pool_free(pool);
    strata_pool_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),    cmocka_unit_test(results_are_published),
        cmocka_unit_test(sleepers_wake),           cmocka_unit_test(callers_take_turns),
        cmocka_unit_test(workers_take_no_signals), cmocka_unit_test(defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
