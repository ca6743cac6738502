/* SPDX-License-Identifier: MIT
** Imports folders and computes their logits with the float64 interpreter, for field_sweep.py:
**   import_logits <LINES >ANSWERS
** A line: FOLDER NAME TOKENS, without spaces in them; what "strata import FOLDER -o NAME" writes is
** made, and NAME.logits, float64, of the tensor "tokens" of the safetensors file TOKENS, as many of
** them as the context of what was imported allows, none beyond its vocabulary.  Answers:
** "ok TIME VOCAB", or STATUS and the message.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "safetensors.h"
#include "stored_logits.h"

/* In the place of the library's: standard output holds the answers only. */
void show_line(FILE *f, const char *before, const char *text, const char *after) {
    (void)f, (void)before, (void)text, (void)after;
}

static int import(char *folder, char *name, Error *e) {
    char word[] = "import", flag[] = "-o";
    char *argv[] = { word, folder, flag, name, NULL };
    Options o;
    int status = options_parse(&o, &strata_options, 4, argv, e);
    if (status) return status;
    status = command_import(&o, e);
    options_free(&o);
    return status;
}

/* The first 'time' tokens of each row, none beyond the vocabulary. */
static int32_t *read_tokens(const char *path, int64_t vocab, int64_t *batch, int64_t *time,
                            Error *e) {
    Safetensors s;
    if (safetensors_open(&s, path, e)) return NULL;
    const Tensor *t = safetensors_find(&s, "tokens");
    int32_t *ids = malloc((size_t)t->count * sizeof *ids);
    *batch = t->shape[0];
    if (!ids || safetensors_read_i32(&s, t, ids, e)) abort();
    int64_t rows = t->shape[1];
    for (int64_t i = 0; i < t->count; i++)
        if (ids[i] >= vocab) ids[i] = (int32_t)vocab - 1;
    if (*time > rows) *time = rows;
    for (int64_t b = 0; b < *batch; b++)
        memmove(ids + b * *time, ids + b * rows, (size_t)*time * sizeof *ids);
    safetensors_close(&s);
    return ids;
}

static int compute(const char *name, const char *tokens, int64_t *time, int64_t *vocab, Error *e) {
    char path[4096];
    int64_t batch, count;
    print_text(path, sizeof path, "%s.lua", name);
    Model *m = spec_load(path, NULL, e);
    if (!m) return e->status;
    *time = m->context;
    *vocab = m->vocab;
    int32_t *ids = read_tokens(tokens, m->vocab, &batch, time, e);
    print_text(path, sizeof path, "%s.safetensors", name);
    double *logits = ids ? stored_logits(m, path, batch, *time, ids, &count, e) : NULL;
    print_text(path, sizeof path, "%s.logits", name);
    FILE *f = logits ? fopen(path, "wb") : NULL;
    if (f) fwrite(logits, sizeof *logits, (size_t)count, f);
    if (f) fclose(f);
    free(logits);
    free(ids);
    spec_free(m);
    return e->status;
}

int main(void) {
    char folder[1024], name[1024], tokens[1024];
    while (scanf("%1023s %1023s %1023s", folder, name, tokens) == 3) {
        Error e = { 0 };
        int64_t time = 0, vocab = 0;
        int status = import(folder, name, &e);
        if (!status) status = compute(name, tokens, &time, &vocab, &e);
        e.text[strcspn(e.text, "\n")] = 0;
        if (status) printf("%d %s\n", status, e.text);
        else printf("ok %lld %lld\n", (long long)time, (long long)vocab);
        fflush(stdout);
    }
    return 0;
}
