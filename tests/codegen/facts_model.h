/* SPDX-License-Identifier: MIT
** Models of every residual, built and run, for what must be so of all of them.  Everything
** asserts.
*/
#ifndef TESTS_FACTS_MODEL_H
#define TESTS_FACTS_MODEL_H

#include "compiled_spec.h"

enum { VOCAB = 31, CONTEXT = 24, T = 13, B = 3, RESIDUALS = 13 };

extern const char *const residuals[RESIDUALS];
extern const char rope[]; /* options of attention */

/* A model compiled from a residual and attention options, ready to run. */
typedef struct FactsModel {
    Model *m;
    Compiled c;
    Instance r;
} FactsModel;

typedef enum How { TRAINS, CHECKED, FORWARD_ONLY } How;

void facts_open(FactsModel *b, const char *residual, const char *attention, const char *eps,
                int workers, How how); /* for B * CONTEXT tokens */
void facts_open_for(FactsModel *b, int64_t tokens, const char *residual, const char *attention,
                    const char *eps, int workers, How how);
void facts_close(FactsModel *b);
/* Every query and static logit gets numbers too: all weights matter then. */
void stir(FactsModel *b);

void draw_tokens(int32_t *ids, int n, uint32_t seed);
void run_logits(FactsModel *b, const int32_t *ids, int64_t batch, int64_t time, float *out);
/* Of B sequences of T tokens. */
strata_loss run_gradients(FactsModel *b, const int32_t *ids, const int32_t *targets,
                          uint32_t flags);

#endif
