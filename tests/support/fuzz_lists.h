/* SPDX-License-Identifier: MIT
** Random specs with a depth mixer of their own whose reads take long lists: stacks and
** concatenations of 2 to 300 pieces that are computed, sliced, reshaped, rolled, shared, repeated,
** stacked themselves, parameters or stored, read once or several times.
*/
#ifndef TESTS_FUZZ_LISTS_H
#define TESTS_FUZZ_LISTS_H

#include <stdint.h>

/* Lua, malloc'ed; the same seed, the same text.  Lists have 'shortest' to 'longest' pieces, at
** least 2. */
char *fuzz_lists(uint64_t seed, int shortest, int longest);

#endif
