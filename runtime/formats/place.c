/* SPDX-License-Identifier: MIT
** See place.h. */
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "safetensors.h"
#include "token_file.h"

/* == What is there ======================================================== */

bool place_begins(const PlaceFile *f, const char *text) {
    size_t n = strlen(text);
    return f->length >= n && !memcmp(f->head, text, n);
}

bool place_ends(const PlaceFile *f, const char *text) {
    size_t n = strlen(text);
    return f->length >= n && !memcmp(f->tail + f->length - n, text, n);
}

bool place_holds(const PlaceFile *f, const char *text) {
    enum { PIECE = 1 << 16 };
    char piece[PIECE + 256];
    size_t n = strlen(text), kept = 0;
    uint64_t size = (uint64_t)f->in.before.st_size;
    for (uint64_t at = 0; n <= 256 && at < size; at += PIECE) {
        size_t more = size - at < PIECE ? (size_t)(size - at) : PIECE;
        if (input_read(&f->in, at, piece + kept, more, NULL)) return false;
        if (memmem(piece, kept + more, text, n)) return true;
        size_t keep = kept + more < n - 1 ? kept + more : n - 1;
        memmove(piece, piece + kept + more - keep, keep);
        kept = keep;
    }
    return false;
}

static int place_look(PlaceFile *f, const char *path, Error *e) {
    int status = input_open(&f->in, path, e);
    if (status) return status;
    uint64_t size = (uint64_t)f->in.before.st_size;
    f->length = size < PLACE_END ? (size_t)size : PLACE_END;
    status = input_read(&f->in, 0, f->head, f->length, e);
    if (!status) status = input_read(&f->in, size - f->length, f->tail, f->length, e);
    f->head[f->length] = f->tail[f->length] = 0;
    if (status) input_close(&f->in);
    return status;
}

static bool place_ends_in(const char *path, const char *ending) {
    size_t n = strlen(path), k = strlen(ending);
    return n > k && !strcasecmp(path + n - k, ending);
}

/* Weights of a run say their step. */
static bool is_weights(const char *path, char found[64]) {
    Safetensors s = { 0 };
    if (safetensors_open(&s, path, NULL)) return false;
    const char *step = safetensors_metadata(&s, "step");
    bool run = step && *step && strspn(step, "0123456789") == strlen(step);
    if (run) snprintf(found, 64, "weights, step %.20s of a run", step);
    else snprintf(found, 64, "weights");
    safetensors_close(&s);
    return true;
}

static const char *kind(const PlaceFile *f, const char *path) {
    static const struct {
        const char *begins, *kind;
    } known[] = {
        { "\177ELF", "a program, a library or an object" },
        { "!<arch>\n", "an archive" },
        { "GGUF", "a GGUF file" },
        { "<!DOCTYPE html", "a page" },
        { "<!doctype html", "a page" },
        { "<svg", "a picture" },
        { "{\"strata\": \"", "JSON of Strata, or a training log" },
        { "{", "JSON" },
        { "[", "JSON" },
    };
    if (token_file_begins((const unsigned char *)f->head, f->length)) return "a token file";
    if (place_ends_in(path, ".lua")) return "a spec or another Lua file";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (place_begins(f, known[i].begins)) return known[i].kind;
    return memchr(f->head, 0, f->length) ? "a file of another kind" : "a text";
}

/* == The rule ============================================================= */

static int place_refuse(const FilePlace *p, const char *found, Error *e) {
    bool marked = p->mark || p->is_own;
    return error_set(e, STATUS_USER,
                     "%s: expected no file%s; found %s: another name, or --overwrite", p->path,
                     marked ? ", or one that this command wrote" : "", found);
}

/* Who takes the right to write away from a file wants it to stay. */
static int check_own(const FilePlace *p, const PlaceFile *f, const char *found, Error *e) {
    bool own = p->mark ? place_ends(f, p->mark) : p->is_own && p->is_own(f, p->user);
    if (!own) return place_refuse(p, found, e);
    return f->in.before.st_mode & 0222 ? STATUS_OK : place_refuse(p, "one that is read-only", e);
}

int place_check(const FilePlace *p, Error *e) {
    char run[64];
    PlaceFile f;
    struct stat there;
    Error ignored = { 0 };
    int status = output_check(p->path, false, e);
    if (status || output_is_stream(p->path) || p->overwrite) return status;
    if (stat(p->path, &there))
        return errno == ENOENT ? STATUS_OK : error_errno(e, p->path, "look at it", errno);
    if (!there.st_size) return STATUS_OK;
    if (place_look(&f, p->path, &ignored)) return place_refuse(p, "one that cannot be read", e);
    const char *found = is_weights(p->path, run) ? run : kind(&f, p->path);
    status = check_own(p, &f, found, e);
    input_close(&f.in);
    return status;
}

/* == Names ================================================================ */

/* Each of these says what is in a file: whoever opens it by its name finds no page there. */
const char *place_foreign_ending(const char *path) {
    static const char *const foreign[] = {
        ".png", ".jpg",  ".jpeg",  ".gif",   ".webp", ".pdf", ".ps",  ".eps",
        ".bmp", ".tif",  ".tiff",  ".avif",  ".dot",  ".gv",  ".csv", ".safetensors",
        ".lua", ".gguf", ".jsonl", ".ipynb", ".zip",  ".gz",  ".md",  ".tex",
    };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof foreign / sizeof *foreign; i++)
        if (!strcasecmp(dot, foreign[i])) return dot;
    return NULL;
}

int place_is_page(const FilePlace *p, Error *e) {
    static const char *const other[] = { ".svg", ".txt", ".json", ".xml" };
    const char *ending = place_foreign_ending(p->path);
    for (size_t i = 0; !ending && i < sizeof other / sizeof *other; i++)
        if (place_ends_in(p->path, other[i])) ending = other[i];
    if (!ending) return place_check(p, e);
    return error_set(e, STATUS_USAGE,
                     "%s: expected a name that ends in .html, as it is a page, found %s", p->path,
                     ending);
}

/* == What is read ========================================================= */

static bool is_one(const char *a, const char *b) {
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int place_unread(const char *out, const char *in, Error *e) {
    char *temp = NULL;
    if (!out || !in || output_is_stream(out)) return STATUS_OK;
    if (asprintf(&temp, "%s.strata-tmp", out) < 0) return error_memory(e, out, strlen(out));
    bool read = is_one(out, in) || is_one(temp, in);
    free(temp);
    if (!read) return STATUS_OK;
    return error_set(e, STATUS_USER, "%s: expected a file to write, found one that is read (%s)",
                     out, in);
}

int place_unread_all(const char *out, const char *const *in, int n, Error *e) {
    int status = STATUS_OK;
    for (int i = 0; !status && i < n; i++)
        status = place_unread(out, in[i], e);
    return status;
}

int place_distinct(const char *one, const char *other, Error *e) {
    if (!one || !other || output_is_stream(one)) return STATUS_OK;
    if (strcmp(one, other) != 0 && !is_one(one, other)) return STATUS_OK;
    return error_set(e, STATUS_USER, "%s: expected different files to write, found one", one);
}
