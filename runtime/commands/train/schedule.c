/* SPDX-License-Identifier: MIT
** constant   lr
** cosine     linear warm-up over the first warmup * steps, then half a cosine to min_lr
** wsd        linear warm-up, lr, then linear decay to min_lr over the last decay * steps
** The last step of a warm-up has lr, the last step of the run min_lr.
*/
#include "schedule.h"

#include <math.h>

static double line(double from, double to, double share) { return from + (to - from) * share; }

/* At 'at' of 'all', both in steps or in shares of the run, of which warm-up and decay take some. */
static double rate_schedule(const Checkpoint *run, double at, double all, double warm,
                            double decay) {
    const double pi = 3.14159265358979323846;
    if (at <= warm) return run->lr * at / warm;
    if (run->schedule == SCHEDULE_COSINE)
        return line(run->min_lr, run->lr, 0.5 * (1 + cos(pi * (at - warm) / (all - warm))));
    if (decay > all - warm) decay = all - warm;
    if (at <= all - decay) return run->lr;
    double late = (at - (all - decay)) / decay; /* rounded, it may be more than 1 */
    return line(run->lr, run->min_lr, fmin(1, late));
}

double schedule_rate(const Checkpoint *run, int64_t step) {
    if (run->schedule == SCHEDULE_CONSTANT) return run->lr;
    double steps = (double)(run->steps - run->begun), at = (double)(step - run->begun);
    return rate_schedule(run, at, steps, floor(run->warmup * steps + 0.5),
                         floor(run->decay * steps + 0.5));
}

double schedule_rate_by_time(const Checkpoint *run, double share) {
    if (run->schedule == SCHEDULE_CONSTANT) return run->lr;
    return rate_schedule(run, share, 1, run->warmup, run->decay);
}
