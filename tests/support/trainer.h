/* SPDX-License-Identifier: MIT
** An independent trainer in float64: the interpreter's gradients, and from there its own
** windows, mean over micro-batches, clipping, schedule and AdamW, each written down from
** its definition.  It shares no code with the runtime's training or a compiled update, and
** is told its settings by the caller, not by the spec.
*/
#ifndef TESTS_TRAINER_H
#define TESTS_TRAINER_H

#include <stdbool.h>
#include <stdint.h>

/* How one parameter is trained. */
typedef struct OwnRecipe {
    bool muon;
    double rate, weight_decay; /* times the recipe's; instead of the recipe's */
} OwnRecipe;

typedef struct Recipe Recipe;
struct Recipe {
    double lr, beta1, beta2, eps, weight_decay, clip;
    double warmup, decay, min_lr; /* of the schedule: shares of the run, and a rate */
    int64_t steps, batch, accumulate;
    int decay_rank; /* weights of at least so many dimensions decay */
    bool correct_bias;
    /* of Muon */
    double momentum;
    int newton_schulz;
    bool nesterov, match_rms;
    void (*own)(const char *name, OwnRecipe *own); /* NULL: all are trained alike */
    double (*rate)(const Recipe *r, int64_t step); /* steps count from 1 */
    /* First token of window 'window' (from 0, over the whole run) in a text of 'count' tokens. */
    int64_t (*start)(const Recipe *r, int64_t count, int64_t context, int64_t window);
};

double rate_cosine(const Recipe *r, int64_t step);
double rate_wsd(const Recipe *r, int64_t step);
int64_t start_sequential(const Recipe *r, int64_t count, int64_t context, int64_t window);

/* What a step's line in the log says. */
typedef struct TrainerStep {
    double loss, cross_entropy, grad_norm, lr;
} TrainerStep;

typedef struct Trainer Trainer;
/* A spec, and what it starts from: 'weight' gives the elements of a parameter and how many
** they are, malloc'ed, and is called once for each.  What the spec freezes stays as it is.
** Asserts. */
Trainer *trainer_open(const char *spec,
                      double *(*weight)(void *user, const char *name, int64_t *count), void *user);
void trainer_close(Trainer *t);
/* One step, the next one, on a text of bytes, which are its tokens. */
TrainerStep trainer_step(Trainer *t, const Recipe *r, const char *text, int64_t count);

#endif
