/* SPDX-License-Identifier: MIT
** Runs work on a stack of known size, whatever ulimit -s is.
*/
#ifndef STRATA_OWN_STACK_H
#define STRATA_OWN_STACK_H

/* work(argument), on a thread with a stack of 8 MB where this process has less; threads that start
** later have as much. A process that is forked by it goes on with that stack. */
int on_own_stack(int (*work)(void *argument), void *argument);

#endif
