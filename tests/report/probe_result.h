/* SPDX-License-Identifier: MIT
** What tests of the probe ask of its graph. */
#ifndef TEST_PROBE_RESULT_H
#define TEST_PROBE_RESULT_H

#include "probe_graph.h"

/* The values of a result of the kind; NULL: the graph has none. */
const double *probe_result(const ProbeGraph *g, const Eval *ev, ProbeKind kind, int index);
/* 'found' is expected within the tolerance, relative where 'expected' is large; else the test fails
** and says of what. */
void expect_near(double found, double expected, double tolerance, const char *what, int index);

#endif
