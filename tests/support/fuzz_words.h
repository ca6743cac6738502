/* SPDX-License-Identifier: MIT
** What random specs are written with: the words of fuzz_spec.c, fuzz_layers.c and fuzz_own.c. */
#ifndef TESTS_FUZZ_WORDS_H
#define TESTS_FUZZ_WORDS_H

#include <stdbool.h>
#include <stdio.h>

#include "numeric.h"

typedef struct Spec {
    FILE *f;
    Random random;
    int dim, layers, sublayers, context, mixer;
    bool acausal, causal; /* attention: none is to be causal, some is */
    bool unrouted;        /* a sublayer of the layer at work goes with no route */
    bool shaped;          /* what is in the layer may not heed keys that a route chooses */
    bool kept;            /* an earlier sublayer leaves what later ones take */
    int names;            /* of layers that share weights */
} Spec;

static inline int below(Spec *s, int count) { return draw_below(&s->random, count); }
static inline bool coin(Spec *s) { return below(s, 2); }
static inline const char *truth(bool yes) { return yes ? "true" : "false"; }

enum { HIGHWAY = 3, DRR = 10, OWN_MIXER = 14 }; /* those up to HIGHWAY have one stream */

void fuzz_layer(Spec *s);                 /* fuzz_layers.c */
void fuzz_own(Spec *s, const char *name); /* fuzz_own.c: a sublayer of its own, of that name */
void fuzz_own_mixer(Spec *s);

#endif
