/* SPDX-License-Identifier: MIT
** The same readers below libFuzzer.  FUZZ_SEEDS=FOLDER: writes the valid inputs there first. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

const bool fuzz_forks = false;

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t n, size_t most);
int LLVMFuzzerInitialize(int *count, char ***argument);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned seed);

int LLVMFuzzerInitialize(int *count, char ***argument) {
    const char *folder = getenv("FUZZ_SEEDS");
    (void)count, (void)argument;
    if (folder) fuzz_write_seeds(folder);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    fuzz_read(bytes, n);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned seed) {
    static FuzzInput f;
    if (most > FUZZ_ROOM) most = FUZZ_ROOM;
    f.seed = seed, f.drawn = 0;
    f.n = n < most ? n : most;
    memcpy(f.bytes, bytes, f.n);
    if (fuzz_below(&f, 4)) f.n = LLVMFuzzerMutate(f.bytes, f.n, most);
    else fuzz_mutate(&f);
    fuzz_repair(&f);
    if (f.n > most) f.n = most;
    memcpy(bytes, f.bytes, f.n);
    return f.n;
}
