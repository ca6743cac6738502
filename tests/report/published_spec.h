/* SPDX-License-Identifier: MIT
** Models of the sizes that papers have, with the residual that is asked for. */
#ifndef TEST_PUBLISHED_SPEC_H
#define TEST_PUBLISHED_SPEC_H

#include "report.h"

typedef struct Sizes {
    int layers, dim, hidden, vocab;
} Sizes;

/* Of the HAARES paper's experiments. */
static const Sizes small_48 = { 48, 128, 1024, 256 };

static inline Sizes at_depth(Sizes s, int layers) {
    s.layers = layers;
    return s;
}

/* The spec is written into the test's folder. */
Report *paper_report_how(void **folder, const char *residual, Sizes s, TwoPhase how);
/* With every read a pass of its own. */
Report *paper_report(void **folder, const char *residual, Sizes s);

#endif
