/* SPDX-License-Identifier: MIT
** The tokenizer's file of a spec: what it names, or what import wrote beside it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export.h"

static bool ends_in(const char *text, const char *ending) {
    size_t n = strlen(text), k = strlen(ending);
    return n > k && !strcmp(text + n - k, ending);
}

/* FOLDER/NAME, FOLDER being the spec's. */
static char *beside(const char *spec, const char *name) {
    const char *slash = strrchr(spec, '/');
    char *path;
    int n = slash ? (int)(slash - spec) + 1 : 0;
    return asprintf(&path, "%.*s%s", n, spec, name) < 0 ? NULL : path;
}

char *export_tokenizer(const Export *x, Error *e) {
    const char *own = x->model->tokenizer;
    char *path = NULL;
    if (own && (ends_in(own, ".json") || ends_in(own, ".model"))) {
        path = beside(x->spec, own);
    } else if (!own && ends_in(x->spec, ".lua")) {
        int n = (int)strlen(x->spec) - 4;
        if (asprintf(&path, "%.*s.tokenizer.json", n, x->spec) < 0) path = NULL;
        if (path && access(path, F_OK)) {
            free(path);
            return NULL;
        }
    } else {
        return NULL;
    }
    if (!path) error_memory(e, x->spec, 0);
    return path;
}
