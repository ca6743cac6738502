/*
** constant   lr
** cosine     linear warm-up over the first warmup * steps, then half a cosine to min_lr
** wsd        linear warm-up, lr, then linear decay to min_lr over the last decay * steps
** The last step of a warm-up has lr, the last step of the run min_lr.
*/
#include "schedule.h"

#include <math.h>

static double line(double from, double to, double share) { return from + (to - from) * share; }

double schedule_rate(const Schedule *s, int64_t step) {
    if (s->kind == SCHEDULE_CONSTANT) return s->lr;
    const double pi = 3.14159265358979323846;
    double steps = (double)s->steps, at = (double)step;
    double warm = floor(s->warmup * steps + 0.5);
    if (at <= warm) return s->lr * at / warm;
    if (s->kind == SCHEDULE_COSINE)
        return line(s->min_lr, s->lr, 0.5 * (1 + cos(pi * (at - warm) / (steps - warm))));
    double decay = floor(s->decay * steps + 0.5);
    if (decay > steps - warm) decay = steps - warm;
    return at <= steps - decay ? s->lr : line(s->lr, s->min_lr, (at - (steps - decay)) / decay);
}
