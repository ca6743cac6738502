/* SPDX-License-Identifier: MIT
** The C header of the model's object, as build --emit obj writes it. */
#include "model_info.h"
#include "fatal.h"
#include "views.h"

#include <stdio.h>
#include <stdlib.h>

void report_header(const Report *r, Text *t) {
    ModelInfo info = model_info(r->model);
    char *text = NULL;
    size_t size = 0;
    FILE *f = checked_file(&text, &size);
    codegen_header(&r->planned.code, &info, r->model->name, f);
    checked_written(f, &text);
    text_bytes(t, text, size);
    free(text);
}
