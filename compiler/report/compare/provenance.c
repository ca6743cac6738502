/* SPDX-License-Identifier: MIT
** See provenance.h. */
#include "provenance.h"

#include <stdlib.h>

static void free_file(SourceFile *f) {
    free(f->name);
    free(f->text);
}

void provenance_free(Provenance *p) {
    for (int i = 0; i < p->files; i++)
        free_file(&p->file[i]);
    free(p->file);
    free_file(&p->data);
    free_file(&p->val);
    *p = (Provenance){ 0 };
}

static void add_string(Text *t, const char *key, const char *value) {
    text_add(t, "\"%s\": ", key);
    text_json_string(t, value);
}

static void add_data(Text *t, const char *key, const SourceFile *f) {
    if (!f->name) return;
    text_add(t, ", \"%s\": {", key);
    add_string(t, "name", f->name);
    text_add(t, ", \"bytes\": %.0f, \"sha256\": \"%s\"}", f->bytes, f->sha256);
}

void provenance_json(const Provenance *p, Text *t) {
    text_add(t, "{");
    add_string(t, "date", p->date);
    text_add(t, ", ");
    add_string(t, "processor", p->processor);
    text_add(t, ", \"processors\": %d, \"load\": [", p->processors);
    text_json_number(t, p->load_before);
    text_add(t, ", ");
    text_json_number(t, p->load_after);
    text_add(t, "]");
    add_data(t, "text", &p->data);
    add_data(t, "validation", &p->val);
    for (int i = 0; i < p->files; i++) {
        text_add(t, i ? ",\n  {" : ", \"files\": [\n  {");
        add_string(t, "name", p->file[i].name);
        text_add(t, ", ");
        add_string(t, "text", p->file[i].text ? p->file[i].text : "");
        text_add(t, "}");
    }
    text_add(t, p->files ? "]}" : "}");
}
