/* SPDX-License-Identifier: MIT
** See evaluate_beside.h. */
#include "evaluate_beside.h"

#include <math.h>
#include <stdlib.h>

#include "files.h"

enum { BESIDE_BYTES = 1 << 24, BESIDE_VALUES = 1 << 20 }; /* of a file that eval wrote, far less */

int beside_open(Beside *b, const char *path, Error *e) {
    Input in = { .fd = -1 };
    *b = (Beside){ .path = path };
    int status = path ? input_open(&in, path, e) : STATUS_OK;
    if (status || !path) return status;
    size_t n = (size_t)in.before.st_size;
    char *text = n <= BESIDE_BYTES ? malloc(n + 1) : NULL;
    if (n > BESIDE_BYTES)
        status = error_set(e, STATUS_LIMIT, "%s: expected at most %d bytes of JSON, found %zu",
                           path, BESIDE_BYTES, n);
    else if (!text) status = error_memory(e, path, n);
    if (!status) status = input_read(&in, 0, text, n, e);
    if (!status) status = json_parse(&b->json, path, text, n, BESIDE_VALUES, e);
    free(text);
    input_close(&in);
    return status;
}

void beside_close(Beside *b) { json_free(&b->json); }

static int64_t beside_count_of(const Json *j, const JsonNode *result, const char *key) {
    const JsonNode *n = json_member(j, result, key);
    int64_t count;
    return n && json_int64(n, &count) ? count : -1;
}

/* The result of a length: the file's only one, or one of its list. */
static const JsonNode *find_result(const Json *j, int64_t length) {
    const JsonNode *all = j->node, *lengths = json_member(j, all, "lengths");
    if (beside_count_of(j, all, "length") == length) return all;
    const JsonNode *n = lengths ? json_first(j, lengths) : NULL;
    while (n && beside_count_of(j, n, "length") != length)
        n = json_next(j, n);
    return n;
}

int beside_loss(const Beside *b, int64_t length, int64_t tokens, double *loss, Error *e) {
    *loss = (double)NAN;
    if (!b->path) return STATUS_OK;
    const JsonNode *r = find_result(&b->json, length),
                   *n = r ? json_member(&b->json, r, "loss") : NULL;
    if (!n || !json_double(n, loss) || !(*loss > 0))
        return error_set(e, STATUS_USER,
                         "%s: expected what eval --json says, with a loss of length %lld, found "
                         "none",
                         b->path, (long long)length);
    int64_t other = beside_count_of(&b->json, r, "tokens");
    if (!tokens || other == tokens) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "%s: expected the loss of the same data, %lld tokens, found "
                     "one of %lld",
                     b->path, (long long)tokens, (long long)other);
}
