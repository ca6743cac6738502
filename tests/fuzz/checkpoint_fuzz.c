/* SPDX-License-Identifier: MIT
** Checkpoints: the file, its checksum, what it says of the run, and the tensors of a model.  What
** is accepted is a checkpoint that can be saved and opened again.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint.h"
#include "fuzz.h"
#include "hash.h"
#include "mock_model.h"
#include "safetensors_layout.h"

const int fuzz_bytes = 6;
const char *const fuzz_words[] = { "-1",
                                   "0",
                                   "4294967296",
                                   "9223372036854775808",
                                   "1e400",
                                   "nan",
                                   "\"strata checkpoint\"",
                                   "\"step\":\"1\"",
                                   "\"seed\"",
                                   "optimizer.m.",
                                   "optimizer.v.",
                                   "\"F32\"",
                                   "\"BF16\"",
                                   "{",
                                   "}",
                                   ",",
                                   "\\u0000",
                                   "\xff",
                                   NULL };

static const strata_api *api(void) {
    return mock_api(&(MockOptions){
        .tokenizer = "bytes", .vocab = 7, .context = 4, .batch = 2, .spec_hash = 5 });
}

/* What a training run of the model saves. */
size_t fuzz_seed(size_t k, unsigned char *to) {
    static unsigned char saved[FUZZ_ROOM];
    static size_t n;
    char folder[] = "/tmp/strata-fuzz-XXXXXX", path[64];
    if (k) return 0;
    if (!n) {
        const strata_model *m = api()->model();
        Checkpoint c;
        Error e;
        float *memory = calloc(1, (size_t)(m->weights_bytes + m->train_bytes));
        checkpoint_defaults(&c, m);
        c.step = 3, c.steps = 9;
        if (!memory || !mkdtemp(folder)) abort();
        snprintf(path, sizeof path, "%s/c", folder);
        if (checkpoint_save(path, m, memory, memory + m->weights_bytes / 4, NULL, &c, &e)) abort();
        FILE *f = fopen(path, "rb");
        n = f ? fread(saved, 1, sizeof saved, f) : 0;
        if (!n || fclose(f) || unlink(path) || rmdir(folder)) abort();
        free(memory);
    }
    memcpy(to, saved, n);
    return n;
}

/* The header's length, sometimes, and the checksum, mostly. */
void fuzz_repair(FuzzInput *f) {
    char digits[CHECKSUM_DIGITS + 1];
    Xxh64 sum;
    if (f->n < CHECKSUM_END || !fuzz_below(f, 4)) return;
    memset(f->bytes + CHECKSUM_AT, '0', CHECKSUM_DIGITS);
    xxh64_start(&sum, 0);
    xxh64_add(&sum, f->bytes, f->n);
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)xxh64_end(&sum));
    memcpy(f->bytes + CHECKSUM_AT, digits, CHECKSUM_DIGITS);
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    static float memory[FUZZ_ROOM];
    const strata_model *m = api()->model();
    CheckpointFile f;
    Checkpoint wanted;
    Error e = { 0 };
    int status = checkpoint_open(&f, fuzz_file(bytes, n), &e);
    if (status && (!e.text[0] || e.status != status)) fuzz_broken("an error says nothing");
    if (status) return 0;
    if ((size_t)(m->weights_bytes + m->train_bytes) > sizeof memory) abort();
    checkpoint_defaults(&wanted, m);
    status = checkpoint_match(&f, &wanted, &e);
    if (f.state.step < 0 || f.state.steps < 0) fuzz_broken("a negative number of steps");
    status = checkpoint_read(&f, m, memory, memory + m->weights_bytes / 4, &e);
    checkpoint_close(&f);
    return !status;
}
