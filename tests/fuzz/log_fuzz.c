/* SPDX-License-Identifier: MIT
** Training logs, which a run that goes on cuts where it was.  The first byte says at which step.
** What is refused is left as it was, and so is what comes before the cut.
*/
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "fuzz.h"
#include "train_log.h"

const int fuzz_bytes = 6;
const char *const fuzz_words[] = {
    "{\"strata\": ",        "{\"step\": ", "\n", "}\n", "1",    "-1", "1e3",
    "99999999999999999999", "\"loss\": 1", ",",  "[",   "\xff", NULL
};

size_t fuzz_seed(size_t k, unsigned char *to) {
    static const char *const valid[] = {
        "2{\"strata\": \"0.1.0\", \"seed\": 1}\n{\"step\": 1, \"loss\": 3}\n{\"step\": 2, "
        "\"loss\": "
        "2}\n{\"step\": 3, \"loss\": 1}\n",
        "1{\"strata\": \"0.1.0\"}\n{\"step\": 1, \"loss\": 3}\n{\"step\": 2, \"lo",
    };
    if (k >= sizeof valid / sizeof *valid) return 0;
    memcpy(to, valid[k], strlen(valid[k]));
    return strlen(valid[k]);
}

/* What a power cut leaves. */
void fuzz_repair(FuzzInput *f) {
    if (f->n < 2 || fuzz_below(f, 4)) return;
    size_t at = 1 + fuzz_below(f, f->n - 1), n = 1 + fuzz_below(f, f->n - at);
    memset(f->bytes + at, 0, n);
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    static unsigned char after[FUZZ_ROOM];
    TrainLog l;
    Error e = { 0 };
    Input in;
    bool fresh;
    if (n < 2) return 0;
    const char *path = fuzz_file(bytes + 1, n - 1);
    int status = train_log_open(&l, path, NULL, *bytes % 5 - 1, &fresh, &e);
    if (!status) train_log_close(&l);
    if (status && !e.text[0]) fuzz_broken("an error says nothing");
    if (input_open(&in, path, &e)) fuzz_broken("the log is gone");
    size_t size = (size_t)in.before.st_size;
    if (size > n - 1 || (status && size != n - 1)) fuzz_broken("the log has another length");
    if (input_read(&in, 0, after, size, &e) || memcmp(after, bytes + 1, size))
        fuzz_broken("the log has other lines");
    input_close(&in);
    return !status;
}
