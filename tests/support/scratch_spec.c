/* SPDX-License-Identifier: MIT
** See scratch_spec.h. */
#include "scratch_spec.h"

#include "test.h"

#include <stdio.h>

#include "report.h"

static void write_spec(const char *path, const char *text, va_list args) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(vfprintf(f, text, args) >= 0);
    assert_int_equal(fclose(f), 0);
}

Model *scratch_model(void **state, const char *text, ...) {
    char path[SCRATCH_PATH];
    Error error;
    va_list args;
    va_start(args, text);
    write_spec(scratch_path(state, "model.lua", path), text, args);
    va_end(args);
    Model *m = spec_load(path, NULL, &error);
    if (!m) fail_msg("%s", error.text);
    return m;
}

Report *scratch_report(void **state, const char *file, const ReportOptions *o, const char *text,
                       ...) {
    char path[SCRATCH_PATH];
    Error e = { 0 };
    va_list args;
    va_start(args, text);
    write_spec(scratch_path(state, file, path), text, args);
    va_end(args);
    Report *r = report_new(path, o, &e);
    if (!r) fail_msg("%s", e.text);
    return r;
}
