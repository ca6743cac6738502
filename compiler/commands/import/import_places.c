/* SPDX-License-Identifier: MIT
** Which existing files an import may replace: those that an import wrote and that nobody has
** changed.  The spec's last line has a checksum of the lines above it and one of the tokenizer's
** file; the weights name their writer and have a checksum.
*/
#include "files.h"
#include "hash.h"
#include "import.h"
#include "place.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MARK "-- strata import wrote this (text "
#define TOKENIZER ", tokenizer "
#define REST "): until it is changed, another import may replace it\n"
static const Pair places_made_by = { "made by", "strata import" };

/* == Sums ================================================================= */

static void print_sum(uint64_t sum, char to[17]) { print_text(to, 17, "%016" PRIx64, sum); }

static int sum_file(const char *path, char to[17], Error *e) {
    char piece[1 << 16];
    Xxh64 sum;
    Input in;
    int status = input_open(&in, path, e);
    if (status) return status;
    xxh64_start(&sum, 0);
    for (uint64_t at = 0, size = (uint64_t)in.before.st_size, n; !status && at < size; at += n) {
        n = size - at < sizeof piece ? size - at : sizeof piece;
        status = input_read(&in, at, piece, (size_t)n, e);
        if (!status) xxh64_add(&sum, piece, (size_t)n);
    }
    print_sum(xxh64_end(&sum), to);
    input_close(&in);
    return status;
}

static void sum_text(const char *text, size_t n, char to[17]) {
    Xxh64 sum;
    xxh64_start(&sum, 0);
    xxh64_add(&sum, text, n);
    print_sum(xxh64_end(&sum), to);
}

static void add_mark(Text *t, const char *tokenizer) {
    char sum[17];
    sum_text(t->at, t->length, sum);
    text_add(t, MARK "%s%s%s" REST, sum, *tokenizer ? TOKENIZER : "", tokenizer);
}

/* == The spec that is there =============================================== */

/* A file's text; without one at 'path' it stays empty. */
static int places_read_text(const char *path, Text *t, Error *e) {
    enum { MOST = 4 << 20 };
    Input in;
    struct stat s;
    if (stat(path, &s) || !s.st_size || s.st_size > MOST) return STATUS_OK;
    char *bytes = malloc((size_t)s.st_size);
    int status = bytes ? input_open(&in, path, e) : error_memory(e, path, (size_t)s.st_size);
    if (!status) {
        status = input_read(&in, 0, bytes, (size_t)s.st_size, e);
        input_close(&in);
    }
    if (!status) text_bytes(t, bytes, (size_t)s.st_size), status = text_status(t, e);
    free(bytes);
    return status;
}

/* Whether an import wrote it as it is; the tokenizer's sum that it names, or "". */
static bool is_unchanged(const Text *t, char tokenizer[17]) {
    char sum[17], line[200];
    const char *mark = NULL;
    *tokenizer = 0;
    for (const char *at = t->at; at && (at = strstr(at, MARK)); at++)
        mark = at;
    if (!mark || strlen(t->at) != t->length) return false;
    sum_text(t->at, (size_t)(mark - t->at), sum);
    const char *other = strstr(mark, TOKENIZER);
    if (other) print_text(tokenizer, 17, "%.16s", other + strlen(TOKENIZER));
    print_text(line, sizeof line, MARK "%s%s%s" REST, sum, *tokenizer ? TOKENIZER : "", tokenizer);
    return !strcmp(mark, line);
}

/* == What would change ==================================================== */

static int count_lines(const char *at, const char *end) {
    int n = 0;
    for (; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        n++;
    return n;
}

/* The first lines between two places of a text. */
static void tell_lines(const char *sign, const char *at, const char *end, Error *e) {
    enum { MOST = 3 };
    for (int i = 0; i < MOST && at < end; i++) {
        size_t n = strcspn(at, "\n");
        error_line(e, "%s %.*s", sign, (int)(n < 100 ? n : 100), at);
        at += n + (at[n] == '\n');
    }
}

/* Without the lines that both begin and end with. */
static void tell_change(const char *is, const char *would, Error *e) {
    const char *a = is, *b = would, *p = is + strlen(is), *q = would + strlen(would);
    while (*a && *a == *b)
        a++, b++;
    while (a > is && a[-1] != '\n')
        a--, b--;
    while (p > a && q > b && p[-1] == q[-1])
        p--, q--;
    while (*p && (p == is || p[-1] != '\n'))
        p++, q++;
    error_line(e, "from line %d on it would have %d other lines in the place of %d:",
               count_lines(is, a) + 1, count_lines(b, q), count_lines(a, p));
    tell_lines("-", a, p, e);
    tell_lines("+", b, q, e);
}

/* == Places =============================================================== */

typedef struct KnownFiles {
    bool spec;             /* the one that is there is as an import wrote it */
    const char *tokenizer; /* the sum of the file that was written with it */
    const char *same;      /* of what would be written */
} KnownFiles;

static bool is_own_spec(const PlaceFile *f, const void *user) {
    (void)f;
    return ((const KnownFiles *)user)->spec;
}

static bool is_own_tokenizer(const PlaceFile *f, const void *user) {
    const KnownFiles *k = user;
    char sum[17];
    return !sum_file(f->in.path, sum, NULL)
        && (!strcmp(sum, k->same) || !strcmp(sum, k->tokenizer));
}

static bool is_own_weights(const PlaceFile *f, const void *user) {
    (void)user;
    Safetensors s = { 0 };
    bool own = false, summed = false;
    if (safetensors_open(&s, f->in.path, NULL)) return false;
    const char *by = safetensors_metadata(&s, places_made_by.key);
    if (by && !strcmp(by, places_made_by.value))
        own = !safetensors_verify(&s, &summed, NULL) && summed;
    safetensors_close(&s);
    return own;
}

/* The spec names the tokenizer's file, which is written with it. */
static bool is_written(const Import *i, const char *file) {
    return i->tokenizer && !strcmp(file, i->tokenizer);
}

/* None of them is a file of the folder, the importer, or what the spec requires. */
static int check_unread(const Import *i, const char *out, Error *e) {
    int status = place_unread(out, i->importer, e);
    for (int k = 1; !status && k < i->model->nread_file; k++)
        if (!is_written(i, i->model->read_file[k]))
            status = place_unread(out, i->model->read_file[k], e);
    DIR *d = status ? NULL : opendir(i->folder.real);
    for (struct dirent *f; d && !status && (f = readdir(d));) {
        char *in;
        if (asprintf(&in, "%s/%s", i->folder.real, f->d_name) < 0)
            status = error_memory(e, f->d_name, 0);
        else status = place_unread(out, in, e), free(in);
    }
    if (d) closedir(d);
    return status;
}

static int check_all(const Import *i, const KnownFiles *known, bool overwrite, Error *e) {
    const FilePlace place[] = {
        { .path = i->weights, .is_own = is_own_weights, .overwrite = overwrite },
        { .path = i->tokenizer, .is_own = is_own_tokenizer, .user = known, .overwrite = overwrite },
        { .path = i->spec, .is_own = is_own_spec, .user = known, .overwrite = overwrite },
    };
    int status = STATUS_OK;
    for (int k = 0; !status && k < 3; k++) {
        if (!place[k].path) continue;
        status = check_unread(i, place[k].path, e);
        if (!status) status = place_check(&place[k], e);
    }
    return status;
}

int import_places(Import *i, bool overwrite, Error *e) {
    Text there = { 0 };
    char before[17];
    if (i->tokenizer) sum_text(i->tokenizer_text.at, i->tokenizer_text.length, i->tokenizer_sum);
    add_mark(&i->made.spec, i->tokenizer_sum);
    int status = text_status(&i->made.spec, e);
    if (!status) status = places_read_text(i->spec, &there, e);
    bool unchanged = is_unchanged(&there, before);
    const KnownFiles known = { unchanged, before, i->tokenizer_sum };
    if (!status) status = check_all(i, &known, overwrite, e);
    if (status && there.at && !unchanged && !strncmp(e->text, i->spec, strlen(i->spec)))
        tell_change(there.at, i->made.spec.at, e);
    text_free(&there);
    return status;
}

/* == Writing ============================================================== */

static int places_fill(Output *to, const Text *t, Error *e) {
    return output_write(to, t->at, t->length, e);
}

/* All are complete before the first has its name, and the spec, which names the others, is the
** last. */
int import_write(Import *i, Error *e) {
    enum { FILES = 3 };
    const char *const path[FILES] = { i->weights, i->tokenizer, i->spec };
    Output out[FILES];
    int status = STATUS_OK;
    for (int k = 0; k < FILES; k++) {
        out[k] = (Output){ .fd = -1, .folder = -1 };
        if (!status && path[k]) status = output_open(&out[k], path[k], e);
    }
    if (!status) status = plan_fill(&i->made.plan, &out[0], &places_made_by, 1, e);
    if (!status && i->tokenizer) status = places_fill(&out[1], &i->tokenizer_text, e);
    if (!status) status = places_fill(&out[2], &i->made.spec, e);
    output_hold();
    for (int k = 0; !status && k < FILES; k++)
        if (path[k]) status = output_commit(&out[k], false, e);
    for (int k = 0; k < FILES; k++)
        output_discard(&out[k]);
    output_release();
    return status;
}
