/* SPDX-License-Identifier: MIT
** See load_spec.h. */
#include "load_spec.h"

#include "test.h"

#include <string.h>

#include "scratch.h"

char *text_of_file(const char *path) {
    size_t n;
    char *text = scratch_read(path, &n);
    if (!text) fail_msg("cannot read %s", path);
    return text;
}

Model *load_spec(const char *path) {
    Error error;
    Model *m = spec_load(path, NULL, &error);
    if (!m) fail_msg("%s", error.text);
    return m;
}

Model *load_spec_text(void **state, const char *name, const char *text, const SpecLimits *limits,
                      Error *error) {
    char path[SCRATCH_PATH];
    scratch_write(scratch_path(state, name, path), text, strlen(text));
    return spec_load(path, limits, error);
}
