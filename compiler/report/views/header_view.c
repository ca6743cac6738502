/* The C header of the model's object, as build --emit obj writes it. */
#include "model_info.h"
#include "views.h"

#include <stdio.h>
#include <stdlib.h>

void report_header(const Report *r, Text *t) {
    ModelInfo info = model_info(r->model);
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f) {
        codegen_header(&r->planned.code, &info, r->model->name, f);
        if (!fclose(f)) text_bytes(t, text, size);
    }
    if (!text) t->failed = true;
    free(text);
}
