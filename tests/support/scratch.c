/* SPDX-License-Identifier: MIT
** See scratch.h. */
#include "scratch.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

int scratch_setup(void **state) {
    const char *root = getenv("TMPDIR");
    char *folder = malloc(SCRATCH_PATH);
    if (!folder) return -1;
    snprintf(folder, SCRATCH_PATH, "%s/strata-test-XXXXXX", root && *root ? root : "/tmp");
    *state = folder;
    return mkdtemp(folder) ? 0 : -1;
}

/* One level of folders is all that tests make. */
static void empty(const char *folder) {
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));) {
        char path[2 * SCRATCH_PATH];
        if (!strcmp(f->d_name, ".") || !strcmp(f->d_name, "..")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
        if (unlink(path) && rmdir(path)) {
            empty(path);
            rmdir(path);
        }
    }
    if (d) closedir(d);
}

void scratch_empty(void **state) { empty(*state); }

int scratch_teardown(void **state) {
    empty(*state);
    int status = rmdir(*state);
    free(*state);
    return status;
}

const char *scratch_path(void **state, const char *name, char path[SCRATCH_PATH]) {
    assert_true(snprintf(path, SCRATCH_PATH, "%s/%s", (const char *)*state, name) < SCRATCH_PATH);
    return path;
}

void scratch_write(const char *path, const void *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

char *scratch_read(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*n + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    bytes[*n] = 0;
    fclose(f);
    return bytes;
}

bool scratch_exists(const char *path) {
    struct stat s;
    return !lstat(path, &s);
}

int scratch_entries(void **state) {
    DIR *d = opendir(*state);
    int n = 0;
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));)
        n += strcmp(f->d_name, ".") && strcmp(f->d_name, "..");
    closedir(d);
    return n;
}
