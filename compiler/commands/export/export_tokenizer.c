/* SPDX-License-Identifier: MIT
** Finds the tokenizer's file of a spec: the one that the spec names, or the one that import wrote
** beside it.  Otherwise it says that there is none that another program could read.
*/
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export.h"

static const char *const endings[EXPORT_TOKENIZERS] = { "json", "model", "tiktoken" };

int export_tokenizer_form(const char *file) {
    const char *dot = strrchr(file, '.');
    int i = EXPORT_TOKENIZERS - 1;
    while (i >= 0 && (!dot || strcmp(dot + 1, endings[i]) != 0))
        i--;
    return i;
}

/* FOLDER/NAME, FOLDER being the spec's. */
static char *tokenizer_beside(const char *spec, const char *name) {
    const char *slash = strrchr(spec, '/');
    char *path;
    int n = slash ? (int)(slash - spec) + 1 : 0;
    return asprintf(&path, "%.*s%s", n, spec, name) < 0 ? NULL : path;
}

/* A file that import wrote for NAME.lua, though programs cannot read it; NULL: none. */
static char *imported(const char *spec, Error *e) {
    static const char *const names[] = { "tokenizer.json", "tokenizer.model", "tiktoken" };
    size_t n = strlen(spec);
    if (n <= 4 || strcmp(spec + n - 4, ".lua") != 0) return NULL;
    for (int i = 0; i < EXPORT_TOKENIZERS; i++) {
        char *path;
        if (asprintf(&path, "%.*s.%s", (int)n - 4, spec, names[i]) < 0)
            return error_memory(e, spec, n), NULL;
        if (!access(path, F_OK)) return path;
        free(path);
    }
    return NULL;
}

char *export_tokenizer(const Export *x, Error *e) {
    const char *own = x->model->tokenizer;
    if (!own) return imported(x->spec, e);
    if (export_tokenizer_form(own) < 0) return NULL;
    char *path = tokenizer_beside(x->spec, own);
    if (!path) error_memory(e, x->spec, 0);
    return path;
}

void export_tokenizer_tell(const Export *x, const char *file, const char *reader) {
    const char *own = x->model->tokenizer;
    char text[200] = "";
    if (!file && own)
        print_text(text, sizeof text, "%s has no tokenizer of kind '%s': none is written", reader,
                   own);
    else if (file && export_tokenizer_form(file) == EXPORT_TIKTOKEN)
        print_text(text, sizeof text,
                   "%s reads no .tiktoken: tokenizer.tiktoken is written for other readers",
                   reader);
    if (*text) show_line(x->allowance->console, "note: ", text, "");
}
