/* SPDX-License-Identifier: MIT
** safetensors: what is written comes back, a file is written whole or not at all, and what
** is no file is not written to.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "safetensors.h"
#include "scratch.h"

static void written_bytes_are_deterministic_and_aligned(void **state) {
    char a[SCRATCH_PATH], b[SCRATCH_PATH];
    static const uint8_t bytes[3] = { 1, 2, 3 };
    static const double wide[1] = { 7 };
    const Pair pairs[] = { { "zeta", "quote \" and \\ and \n" }, { "alpha", "\xc3\xa9" } };
    TensorList l = { 0 };
    Safetensors s;
    assert_int_equal(tensors_add(&l, "", "bytes", DTYPE_U8, 1, (int64_t[]){ 3 }, bytes, NULL), 0);
    assert_int_equal(tensors_add(&l, "", "wide", DTYPE_F64, 1, (int64_t[]){ 1 }, wide, NULL), 0);
    assert_int_equal(tensors_add(&l, "", "none", DTYPE_F32, 2, (int64_t[]){ 0, 5 }, NULL, NULL), 0);
    assert_int_equal(safetensors_write(scratch_path(state, "a", a), &l, pairs, 2, 0, NULL), 0);
    assert_int_equal(safetensors_write(scratch_path(state, "b", b), &l, pairs, 2, 0, NULL), 0);
    size_t n, m;
    char *x = scratch_read(a, &n), *y = scratch_read(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    assert_true(strstr(x + 8, "zeta") < strstr(x + 8, "alpha"));
    assert_int_equal(safetensors_open(&s, a, NULL), 0);
    assert_int_equal(s.data % 64, 0);
    assert_int_equal(safetensors_find(&s, "wide")->at % 8, 0);
    assert_string_equal(safetensors_metadata(&s, "zeta"), pairs[0].value);
    assert_string_equal(safetensors_metadata(&s, "alpha"), pairs[1].value);
    assert_null(safetensors_metadata(&s, "beta"));
    safetensors_close(&s);
    tensors_free(&l);
    free(x);
    free(y);
}

static void every_flipped_bit_breaks_the_checksum(void **state) {
    char path[SCRATCH_PATH], bad[SCRATCH_PATH];
    static const float f[5] = { 1, 2, 3, 4, 5 };
    TensorList l = { 0 };
    Safetensors s;
    Error e = { 0 };
    bool found;
    assert_int_equal(tensors_add(&l, "", "w", DTYPE_F32, 1, (int64_t[]){ 5 }, f, NULL), 0);
    assert_int_equal(
        safetensors_write(scratch_path(state, "sum", path), &l, NULL, 0, SAFETENSORS_CHECKSUM, &e),
        0);
    tensors_free(&l);
    assert_int_equal(safetensors_open(&s, path, &e), 0);
    assert_int_equal(safetensors_verify(&s, &found, &e), 0);
    assert_true(found);
    safetensors_close(&s);
    size_t n;
    char *bytes = scratch_read(path, &n);
    scratch_path(state, "flipped", bad);
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 1;
        scratch_write(bad, bytes, n);
        if (!safetensors_open(&s, bad, &e)) {
            /* in the words that announce the checksum: there is none then, which a checkpoint must
            ** have */
            assert_true(safetensors_verify(&s, &found, &e) || !found);
            safetensors_close(&s);
        }
        bytes[i] ^= 1;
    }
    free(bytes);
}

static void targets_that_are_no_files_are_refused(void **state) {
    char path[SCRATCH_PATH];
    Error e = { 0 };
    TensorList l = { 0 };
    scratch_empty(state);
    assert_int_equal(safetensors_write(*state, &l, NULL, 0, 0, &e), STATUS_USER);
    assert_int_equal(safetensors_write("", &l, NULL, 0, 0, &e), STATUS_USER);
    /* a device is written to, but it keeps no file before; checked only: a writer that failed this
    ** test would replace the machine's device */
    assert_int_equal(output_check("/dev/null", false, &e), 0);
    assert_int_equal(output_check("/dev/null", true, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "found a device"));
    assert_int_equal(symlink("elsewhere", scratch_path(state, "link", path)), 0);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "found a symbolic link"));
    assert_int_equal(mkfifo(scratch_path(state, "fifo", path), 0600), 0);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, &e), STATUS_USER);
    assert_int_equal(output_check(path, false, &e), STATUS_USER);
    assert_int_equal(safetensors_write(scratch_path(state, "no/file", path), &l, NULL, 0, 0, &e),
                     STATUS_USER);
    assert_int_equal(output_check(path, false, &e), STATUS_USER);
    assert_int_equal(output_check(scratch_path(state, "fine", path), true, &e), STATUS_OK);
    assert_int_equal(scratch_entries(state), 2);
}

static void temporary_files_do_not_accumulate(void **state) {
    char path[SCRATCH_PATH], temp[SCRATCH_PATH];
    Error e = { 0 };
    TensorList l = { 0 };
    scratch_empty(state);
    scratch_path(state, "out", path);
    scratch_write(scratch_path(state, "out.strata-tmp", temp), "left by a killed process", 24);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, &e), 0);
    assert_int_equal(scratch_entries(state), 1);
    Output held, second;
    assert_int_equal(output_open(&held, path, &e), 0);
    assert_int_equal(output_open(&second, path, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "another process"));
    assert_int_equal(output_write(&held, "half", 4, &e), 0);
    output_discard(&held);
    output_discard(&held);
    assert_int_equal(scratch_entries(state), 1);
    size_t n;
    char *kept = scratch_read(path, &n);
    assert_true(n > 8); /* what was there is untouched */
    free(kept);
}

static void a_full_disk_leaves_nothing(void **state) {
    (void)state;
    Error e = { 0 };
    Output o = { .fd = -1, .folder = -1 };
    /* the descriptor alone is replaced: the error is the device's own */
    char path[SCRATCH_PATH];
    scratch_empty(state);
    assert_int_equal(output_open(&o, scratch_path(state, "full", path), &e), 0);
    output_discard(&o);
    assert_int_equal(scratch_entries(state), 0);
    o = (Output){ .fd = 3, .folder = -1, .path = path };
    FILE *full = fopen("/dev/full", "wb");
    assert_non_null(full);
    o.fd = fileno(full);
    assert_int_equal(output_write(&o, "x", 1, &e), STATUS_IO);
    assert_non_null(strstr(e.text, "cannot write"));
    fclose(full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_bytes_are_deterministic_and_aligned),
        cmocka_unit_test(every_flipped_bit_breaks_the_checksum),
        cmocka_unit_test(targets_that_are_no_files_are_refused),
        cmocka_unit_test(temporary_files_do_not_accumulate),
        cmocka_unit_test(a_full_disk_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
