/* SPDX-License-Identifier: MIT
** See probe_result.h. */
#include "probe_result.h"

#include "test.h"

#include <math.h>

const double *probe_result(const ProbeGraph *g, const Eval *ev, ProbeKind kind, int index) {
    for (int i = 0; i < g->nresult; i++)
        if (g->result[i].kind == kind && g->result[i].index == index)
            return eval_value(ev, g->graph->out[i].node);
    return NULL;
}

void expect_near(double found, double expected, double tolerance, const char *what, int index) {
    if (!(fabs(found - expected) <= tolerance * (1 + fabs(expected))))
        fail_msg("%s %d: expected %.9g, found %.9g", what, index, expected, found);
}
