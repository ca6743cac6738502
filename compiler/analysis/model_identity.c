/* SPDX-License-Identifier: MIT
** See model_identity.h. */
#include "model_identity.h"

#include "fatal.h"
#include "hash.h"
#include "op.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add_graph(Sha256 *s, const Graph *g) {
    char *text;
    size_t size;
    if (!g) return;
    FILE *f = checked_file(&text, &size);
    graph_print(g, f, false);
    checked_written(f, &text);
    sha256_add(s, text, size + 1);
    free(text);
}

static void identity_add_word(Sha256 *s, const char *word) {
    if (word) sha256_add(s, word, strlen(word));
    sha256_add(s, word ? "" : "-", word ? 1 : 2);
}

/* Each by name, so that another setting changes no others' place. */
static void add_settings(Sha256 *s, const Settings *x) {
    char line[128];
#define SETTING(type, name, from) \
    sha256_add(s, line, (size_t)snprintf(line, sizeof line, #name " %.17g\n", (double)x->name));
#include "settings.def"
}

void model_identity(const Model *m, char to[65]) {
    Sha256 s;
    char line[160];
    sha256_start(&s);
    sha256_add(&s, STRATA_VERSION, sizeof STRATA_VERSION);
    sha256_add(&s, line,
               (size_t)snprintf(line, sizeof line,
                                "vocab %" PRId64 " context %" PRId64 " lora %.17g\n", m->vocab,
                                m->context, m->adapter_scale));
    identity_add_word(&s, m->name);
    identity_add_word(&s, m->tokenizer);
    identity_add_word(&s, m->tokenizer_file.sha256);
    add_settings(&s, &m->train);
    add_graph(&s, m->graph);
    add_graph(&s, m->rules);
    sha256_text(&s, to);
}

static void add_node(FILE *f, const Node *n) {
    graph_print_op(n, f);
    for (int i = 0; i < n->nin; i++)
        fprintf(f, " %d", n->in[i]->id);
    fprintf(f, " : %d %d", (int)n->shape.type, (int)n->shape.lead);
    for (int i = 0; i < n->shape.rank; i++)
        fprintf(f, " %" PRId64, n->shape.dim[i]);
    fputc('\n', f);
}

uint64_t model_function(const Model *m) {
    static const char *const outputs[] = { "logits", NULL };
    char *text;
    size_t size;
    Graph *g = graph_extract(m->graph, outputs);
    FILE *f = checked_file(&text, &size);
    for (int i = 0; i < g->n; i++)
        add_node(f, g->node[i]);
    checked_written(f, &text);
    Xxh64 x;
    xxh64_start(&x, 0);
    xxh64_add(&x, text, size);
    uint64_t sum = xxh64_end(&x);
    free(text);
    graph_free(g);
    return sum ? sum : 1;
}
