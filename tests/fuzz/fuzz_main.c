/* SPDX-License-Identifier: MIT
** A fuzzer for any compiler: valid inputs are mutated (bits, bytes, numbers, words, stretches
** copied, cut and doubled) and read.  Nothing is asserted but what must hold of any input;
** sanitizers see the rest.
**   NAME_fuzz [ITERATIONS [SEED]]      FUZZ_SECONDS: run that long instead
** A failure is told with the seed: NAME_fuzz 1 SEED repeats it.
*/
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

const bool fuzz_forks = true;

static FuzzInput input; /* the signal's handler wants its seed */

static void tell(int number) {
    char text[64];
    int n = snprintf(text, sizeof text, "seed %llu\n", (unsigned long long)input.seed);
    (void)!write(STDERR_FILENO, text, (size_t)n);
    signal(number, SIG_DFL);
    raise(number);
}

static int try_one(uint64_t seed, size_t seeds) {
    input.seed = seed;
    input.drawn = 0;
    input.n = fuzz_seed(fuzz_below(&input, seeds), input.bytes);
    for (size_t k = fuzz_below(&input, (size_t)fuzz_bytes); k; k--)
        fuzz_mutate(&input);
    fuzz_repair(&input);
    return fuzz_read(input.bytes, input.n);
}

int main(int count, char **argument) {
    static unsigned char room[FUZZ_ROOM];
    long iterations = count > 1 ? atol(argument[1]) : 20000, accepted = 0, done = 0;
    const char *seconds = getenv("FUZZ_SECONDS");
    time_t end = seconds ? time(NULL) + atol(seconds) : 0;
    uint64_t first = count > 2 ? strtoull(argument[2], NULL, 10) : 1000003;
    size_t seeds = 0;
    while (fuzz_seed(seeds, room))
        seeds++;
    signal(SIGABRT, tell);
    signal(SIGSEGV, tell);
    for (; end ? time(NULL) < end : done < iterations; done++)
        accepted += try_one(first + (uint64_t)done, seeds);
    printf("%ld inputs from seed %llu, %ld accepted\n", done, (unsigned long long)first, accepted);
    /* a fuzzer that reaches neither side of the checks tests nothing */
    return done > 100 && (accepted == 0 || accepted == done);
}
