/* SPDX-License-Identifier: MIT
** Reports the share of tokens that routes took in the last tenth of a run: a layer that no token
** went through was not trained, and its parameters are wasted.
*/
#include "train.h"

static const double FEW = 0.01; /* of the tokens */

/* Whether the last step belongs to the last tenth of the run. */
static bool is_late(const Run *r) {
    const Checkpoint *c = &r->state;
    if (c->minutes > 0) return r->share > 0.9;
    return c->step > c->steps - (c->steps + 9) / 10;
}

void run_routes_step(Run *r, const TrainStep *x) {
    if (!is_late(r)) return;
    r->late++;
    for (int32_t k = 0; k < x->routes; k++)
        r->late_routed[k] += x->routed[k];
}

void run_routes_end(Run *r) {
    const strata_model *m = r->p->m;
    for (int32_t k = 0; r->late && k < m->routed; k++) {
        double share = r->late_routed[k] / (double)r->late;
        if (share < FEW)
            progress_warn(&r->outputs->progress, "%s took %s %% of the last tenth's tokens",
                          strata_routed(m, k), FIGURES(100 * share, 2));
    }
}
