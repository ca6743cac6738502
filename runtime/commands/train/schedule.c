/* SPDX-License-Identifier: MIT
** constant   lr
** cosine     linear warm-up over the first warmup * steps, then half a cosine to min_lr
** wsd        linear warm-up, lr, then linear decay to min_lr over the last decay * steps
** The last step of a warm-up has lr, the last step of the run min_lr.
*/
#include "schedule.h"

#include <math.h>

static double line(double from, double to, double share) { return from + (to - from) * share; }

double schedule_rate(const Checkpoint *run, int64_t step) {
    if (run->schedule == SCHEDULE_CONSTANT) return run->lr;
    const double pi = 3.14159265358979323846;
    double steps = (double)run->steps, at = (double)step;
    double warm = floor(run->warmup * steps + 0.5);
    if (at <= warm) return run->lr * at / warm;
    if (run->schedule == SCHEDULE_COSINE)
        return line(run->min_lr, run->lr, 0.5 * (1 + cos(pi * (at - warm) / (steps - warm))));
    double decay = floor(run->decay * steps + 0.5);
    if (decay > steps - warm) decay = steps - warm;
    return at <= steps - decay ? run->lr
                               : line(run->lr, run->min_lr, (at - (steps - decay)) / decay);
}
