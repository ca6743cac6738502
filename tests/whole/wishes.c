/* SPDX-License-Identifier: MIT
** See wishes.h. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "learners.h"
#include "weights.h"
#include "wishes.h"

#define LAYERS(name, context, layers)                                                       \
    "return model { name = '" name "', vocab = 256, context = " context                     \
    ", dim = 24, tokenizer = 'bytes', norm = rmsnorm {}, layers = times(2, layer { " layers \
    " }), train = { batch = 4, optimizer = adamw { lr = 1e-2 } } }\n"

static const Learner learner[MODELS] = {
    { "full", LAYERS("full", "48", "attention { heads = 2, rope = {} }, mlp { hidden = 32 }") },
    { "window", LAYERS("window", "40", "attention { heads = 2, window = 3, rope = {} }") },
    { "past", LAYERS("past", "48", "gated_delta { heads = 2, head_dim = 6, conv = 3 }") },
    { "route",
      LAYERS("route", "48",
             "attention { heads = 2, rope = {} }, mlp { hidden = 32 }, route = dtr {}") },
};

static Folder folder;
static strata_api api[MODELS];
Session wish_session[MODELS];
static Tokenizer tokenizer;
Error wish_error;

void wish_check(int status) {
    if (status) fail_msg("status %d: %s", status, wish_error.text);
}

int wish_open(void **state) {
    static char text[TEXT + 1];
    static Ran ran;
    (void)state;
    learners_open(&folder, text);
    for (int i = 0; i < MODELS; i++) {
        char path[300];
        Session *s = &wish_session[i];
        learner_load(&folder, &learner[i], "", &api[i]);
        program_run(&ran, &api[i], &folder, NULL,
                    "train --data text --steps 60 --out w --overwrite");
        if (ran.status) fail_msg("%s: %s", learner[i].name, ran.err);
        snprintf(path, sizeof path, "%s/w", folder.path);
        wish_check(i ? session_beside(s, &api[i], &wish_session[0], &wish_error)
                     : session_open(s, &api[i], NULL, 2, &wish_error));
        wish_check(session_weights(s, &wish_error));
        wish_check(weights_load(s->m, path, session_write_weights(s), &wish_error));
    }
    wish_check(tokenizer_learn(&tokenizer, &tokenizer_bytes, 256, text, TEXT, &wish_error));
    return 0;
}

int wish_close(void **state) {
    (void)state;
    for (int i = MODELS; i-- > 0;)
        session_close(&wish_session[i]);
    tokenizer_free(&tokenizer);
    folder_close(&folder);
    return 0;
}

/* == Requests ============================================================= */

static const char *const stops[] = { "nder", "unde" };

const Wish wish[WISHES] = {
    { "the ", 20, { .name = "likeliest", .sampling = { .top_p = 1, .penalty = 1 } } },
    { "under a bri", 30, { .name = "warm", .sampling = { 1, 0, 1, 0, 1, 3 } } },
    { "x", 12, { .name = "cut", .sampling = { 1.3, 20, 0.9, 0.01, 1, 4 } } },
    { "the stone", 25, { .name = "new", .sampling = { 0.8, 0, 1, 0, 1.4, 5 } } },
    { "a", 35, { .name = "stops", .sampling = { 0.3, 0, 1, 0, 1, 6 }, .stop = stops, .stops = 2 } },
    { "light and", 90, { .name = "slides", .sampling = { 1, 0, 1, 0, 1.1, 7 }, .slide = true } },
    { "riv", 1, { .name = "one", .sampling = { 1, 0, 1, 0, 1, 8 } } },
};

void wish_read(Writing *w, const char *text) {
    int32_t ids[100];
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        ids[i] = (unsigned char)text[i];
    wish_check(sequence_read(w->x, ids, (int64_t)n, &wish_error));
}

Writing wish_begin(Generator *g, const Wish *want) {
    Writing w = { .wish = want };
    wish_check(generator_add(g, &w.x, &want->how, &wish_error));
    wish_read(&w, want->prompt);
    sequence_start(w.x, want->most);
    return w;
}

bool wish_take(Writing *w) {
    if (!w->x) return false;
    text_bytes(&w->text, w->x->text->at, w->x->text->length);
    if (w->x->phase == SEQUENCE_WRITES) return true;
    wish_check(sequence_finish(w->x, &wish_error));
    text_bytes(&w->text, w->x->text->at, w->x->text->length);
    sequence_close(w->x);
    w->x = NULL;
    return false;
}

Generator *wish_slots(Session *s, int32_t slots) {
    Generator *g;
    wish_check(generator_open(&g, s, &tokenizer, slots, s->m->context, &wish_error));
    return g;
}

char *wish_alone(Session *s, const Wish *want) {
    Generator *g = wish_slots(s, 1);
    Writing w = wish_begin(g, want);
    do
        wish_check(generator_step(g, &wish_error));
    while (wish_take(&w));
    generator_close(g);
    wish_check(text_status(&w.text, &wish_error));
    assert_non_null(w.text.at);
    return w.text.at;
}

void wish_same(const Session *s, Writing *w, const char *expected) {
    if (!w->text.at || strcmp(w->text.at, expected))
        fail_msg("%s, '%s': alone '%s', beside others '%s'", strata_string(s->m, s->m->name),
                 w->wish->how.name, expected, w->text.at ? w->text.at : "");
    text_free(&w->text);
}
