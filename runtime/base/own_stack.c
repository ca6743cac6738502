/* SPDX-License-Identifier: MIT
** See own_stack.h.  Signals go to the working thread; the first thread, which waits for it, blocks
** them.
*/
#include "own_stack.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

enum { STACK_BYTES = 8 << 20 };

typedef struct StackWork {
    int (*work)(void *argument);
    void *argument;
    sigset_t mask;
    int result;
} StackWork;

static void *own_stack_begin(void *argument) {
    StackWork *w = argument;
    pthread_sigmask(SIG_SETMASK, &w->mask, NULL);
    w->result = w->work(w->argument);
    return NULL;
}

/* Starts it, with all signals blocked. */
static bool own_stack_start(pthread_t *thread, StackWork *w) {
    pthread_attr_t a;
    sigset_t all;
    if (pthread_attr_init(&a)) return false;
    bool sized = !pthread_attr_setstacksize(&a, STACK_BYTES) && !pthread_setattr_default_np(&a);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &w->mask);
    bool started = sized && !pthread_create(thread, &a, own_stack_begin, w);
    if (!started) pthread_sigmask(SIG_SETMASK, &w->mask, NULL);
    pthread_attr_destroy(&a);
    return started;
}

int on_own_stack(int (*work)(void *argument), void *argument) {
    StackWork w = { .work = work, .argument = argument };
    struct rlimit l;
    pthread_t thread;
    bool enough = getrlimit(RLIMIT_STACK, &l) || l.rlim_cur == RLIM_INFINITY
        || l.rlim_cur >= STACK_BYTES;
    if (enough || !own_stack_start(&thread, &w)) return work(argument);
    pthread_join(thread, NULL);
    return w.result;
}
