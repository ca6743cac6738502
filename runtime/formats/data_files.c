/* SPDX-License-Identifier: MIT
** Words to files; see data_files.h. */
#include "data_files.h"
#include "array.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "jsonl.h"
#include "text_kind.h"

/* == A file =============================================================== */

int data_file_open(const DataFile *f, Input *in, Error *e) {
    int status = input_open(in, f->path, e);
    if (status) return status;
    in->before = f->before;
    status = input_unchanged(in, e);
    if (status) input_close(in);
    return status;
}

static bool ends_with(const DataFile *f, const char *end) {
    size_t n = stream_name(f->form, f->path), m = strlen(end);
    return n > m && !strncmp(f->path + n - m, end, m);
}

/* JSON lines in a .json file: an object in the first line.  What is an object over several lines
** is text in a folder, where it may be a program's settings. */
static int look_at_json(DataFile *f, bool named, const unsigned char *head, size_t n, Error *e) {
    const unsigned char *end = memchr(head, '\n', n);
    size_t line = end ? (size_t)(end - head) : n, first = 0;
    Json j = { 0 };
    while (first < n && strchr(" \t\r\n", head[first]) && head[first])
        first++;
    if (jsonl_is_array(f->form, f->path, head, n)) f->kind = DATA_ARRAY;
    if (first == n || head[first] != '{') return STATUS_OK;
    bool whole = !json_parse(&j, f->path, (const char *)head, line, JSONL_VALUES, NULL);
    json_free(&j);
    if (whole || (!end && n == STREAM_HEAD)) f->kind = DATA_JSONL;
    else if (named)
        return error_set(e, STATUS_USER,
                         "%s: expected JSON lines, or an array of texts or of objects, found one "
                         "object; to read it as a text, give it a name that ends in .txt",
                         f->path);
    return STATUS_OK;
}

static int look_inside(DataFile *f, bool named, Stream *s, Error *e) {
    const unsigned char *head;
    size_t n;
    int status = stream_head(s, &head, &n, e);
    if (status) return status;
    f->form = s->form;
    f->kind = ends_with(f, ".jsonl") || ends_with(f, ".ndjson") ? DATA_JSONL : DATA_TEXT;
    if (!n) return error_set(e, STATUS_USER, "%s: expected text, found an empty file", f->path);
    if (!token_file_begins(head, n)) {
        status = text_kind_check(f->path, head, n, f->form != STREAM_PLAIN, e);
        if (!status && ends_with(f, ".json")) status = look_at_json(f, named, head, n, e);
        return status;
    }
    f->kind = DATA_TOKENS;
    if (f->form != STREAM_PLAIN)
        return error_set(e, STATUS_USER,
                         "%s: expected a token file as it is, which is read in any order, found a "
                         "compressed one; expand it first",
                         f->path);
    size_t header = n < TOKEN_FILE_HEADER ? n : TOKEN_FILE_HEADER;
    return token_file_header(&f->tokens, f->path, head, header, (uint64_t)f->before.st_size, e);
}

/* 'named': by the user, not found in a folder. */
static int data_files_look_at(DataFile *f, bool named, Error *e) {
    Input in;
    Stream s = { 0 };
    int status = input_open(&in, f->path, e);
    if (status) return status;
    f->before = in.before;
    status = stream_start(&s, &in, e);
    if (!status) status = look_inside(f, named, &s, e);
    stream_close(&s);
    return status;
}

/* Takes the path over. */
static int data_files_add_file(DataFiles *f, char *path, bool named, Error *e) {
    if (f->files == DATA_FILES_MOST) {
        int status = error_set(e, STATUS_LIMIT, "%s: expected at most %d files, found more",
                               f->option, DATA_FILES_MOST);
        free(path);
        return status;
    }
    if (!ARRAY_ROOM(f->file, f->files, f->room, 16))
        return free(path), error_memory(e, f->option, 2 * (size_t)f->room * sizeof *f->file);
    f->file[f->files] = (DataFile){ .path = path };
    return data_files_look_at(&f->file[f->files++], named, e);
}

/* == A folder ============================================================= */

static char *data_files_joined(const char *folder, const char *name) {
    size_t n = strlen(folder), m = strlen(name);
    char *path = malloc(n + m + 2);
    if (!path) return NULL;
    memcpy(path, folder, n);
    if (n && folder[n - 1] != '/') path[n++] = '/';
    memcpy(path + n, name, m + 1);
    return path;
}

static int visible(const struct dirent *d) { return d->d_name[0] != '.'; }

static int by_bytes(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_folder(DataFiles *f, const char *folder, int depth, Error *e);

/* Takes the path over. */
static int add_entry(DataFiles *f, char *path, int depth, Error *e) {
    struct stat own, behind;
    int status = STATUS_OK;
    if (lstat(path, &own)) {
        status = error_errno(e, path, "look at it", errno);
    } else if (S_ISDIR(own.st_mode)) {
        status = add_folder(f, path, depth + 1, e);
    } else if (!S_ISLNK(own.st_mode) || stat(path, &behind) || !S_ISDIR(behind.st_mode)) {
        return data_files_add_file(f, path, false, e);
    }
    free(path);
    return status;
}

static int add_folder(DataFiles *f, const char *folder, int depth, Error *e) {
    struct dirent **entry;
    if (depth > DATA_FOLDERS_DEEP)
        return error_set(e, STATUS_LIMIT, "%s: expected folders at most %d deep, found more",
                         folder, DATA_FOLDERS_DEEP);
    int n = scandir(folder, &entry, visible, by_bytes), status = STATUS_OK;
    if (n < 0) return error_errno(e, folder, "read the folder", errno);
    for (int i = 0; i < n; i++) {
        char *path = status ? NULL : data_files_joined(folder, entry[i]->d_name);
        if (!status && !path) status = error_memory(e, folder, strlen(folder));
        if (!status) status = add_entry(f, path, depth, e);
        free(entry[i]);
    }
    free(entry);
    return status;
}

/* == A word =============================================================== */

/* Cuts ":0.3" off a name that no file has. */
static int take_weight(DataWord *w, Error *e) {
    struct stat there;
    char *colon = strrchr(w->name, ':');
    if (!colon || colon == w->name || !lstat(w->name, &there)) return STATUS_OK;
    char digit = colon[1];
    if ((digit < '0' || digit > '9') && digit != '.' && digit != '-' && digit != '+') {
        return STATUS_OK;
    }
    if (!parse_double(colon + 1, 0, 1e9, &w->weight) || w->weight <= 0)
        return error_set(e, STATUS_USER,
                         "%s: expected a weight above 0 and at most 1e9 behind the ':', found %s",
                         w->name, colon + 1);
    *colon = 0;
    return STATUS_OK;
}

static int data_files_add_word(DataFiles *f, DataWord *w, const char *text, Error *e) {
    struct stat there;
    w->name = strdup(text);
    w->first = f->files;
    if (!w->name) return error_memory(e, f->option, strlen(text));
    int status = take_weight(w, e);
    if (status) return status;
    if (!stat(w->name, &there) && S_ISDIR(there.st_mode)) {
        status = add_folder(f, w->name, 1, e);
        if (!status && f->files == w->first)
            status = error_set(e, STATUS_USER, "%s: expected a folder with files, found none",
                               w->name);
    } else {
        char *path = strdup(w->name);
        status = path ? data_files_add_file(f, path, true, e)
                      : error_memory(e, f->option, strlen(text));
    }
    w->files = f->files - w->first;
    return status;
}

/* Each word has a weight, or none has. */
static int check_weights(const DataFiles *f, Error *e) {
    for (int i = 1; i < f->words; i++)
        if ((f->word[i].weight > 0) != (f->word[0].weight > 0))
            return error_set(e, STATUS_USER,
                             "%s: expected a weight for each of its %d words or for none, found %s "
                             "without one",
                             f->option, f->words, f->word[f->word[0].weight > 0 ? i : 0].name);
    return STATUS_OK;
}

int data_files_open(DataFiles *f, const DataWords *w, Error *e) {
    *f = (DataFiles){ .option = w->option, .field = w->field };
    if (w->words < 1) return error_set(e, STATUS_USAGE, "%s: expected a file", w->option);
    size_t bytes = (size_t)w->words * sizeof *f->word;
    f->word = calloc(1, bytes);
    int status = f->word ? STATUS_OK : error_memory(e, w->option, bytes);
    while (!status && f->words < w->words) {
        status = data_files_add_word(f, &f->word[f->words], w->word[f->words], e);
        f->words++;
    }
    if (!status) status = check_weights(f, e);
    if (status) data_files_free(f);
    return status;
}

void data_files_free(DataFiles *f) {
    for (int i = 0; i < f->words; i++)
        free(f->word[i].name);
    for (int i = 0; i < f->files; i++)
        free(f->file[i].path);
    free(f->word);
    free(f->file);
    *f = (DataFiles){ 0 };
}

bool data_files_text(const DataFiles *f) {
    for (int i = 0; i < f->files; i++)
        if (f->file[i].kind != DATA_TOKENS) return true;
    return false;
}

bool data_files_fields(const DataFiles *f) {
    for (int i = 0; i < f->files; i++)
        if (f->file[i].kind == DATA_JSONL || f->file[i].kind == DATA_ARRAY) return true;
    return false;
}

int data_field_used(const char *field, const char *option, bool fields, Error *e) {
    if (fields || !field || !strcmp(field, "text")) return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "%s %s: expected JSON lines, of which it is a member, found other data alone",
                     option, field);
}

int data_files_unweighted(const DataFiles *f, Error *e) {
    for (int i = 0; i < f->words; i++)
        if (f->word[i].weight > 0)
            return error_set(e, STATUS_USER,
                             "%s: expected files without weights, which are for training, found "
                             "%s with one",
                             f->option, f->word[i].name);
    return STATUS_OK;
}
