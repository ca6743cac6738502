/* SPDX-License-Identifier: MIT
** See published_spec.h. */
#include "published_spec.h"

#include "test.h"

#include <stdio.h>

#include "scratch.h"

Report *paper_report_how(void **folder, const char *residual, Sizes s, TwoPhase how) {
    char path[SCRATCH_PATH];
    Error e = { 0 };
    FILE *f = fopen(scratch_path(folder, "paper.lua", path), "w");
    assert_non_null(f);
    fprintf(f,
            "return model { name = 'paper', vocab = %d, context = 512, dim = %d, norm = rmsnorm "
            "{}, residual = %s,\n"
            "  layers = times(%d, layer { attention { heads = 8, rope = {} }, mlp { hidden = %d, "
            "activation = 'swiglu' } }),\n"
            "  train = { batch = 16 } }\n",
            s.vocab, s.dim, residual, s.layers, s.hidden);
    assert_int_equal(fclose(f), 0);
    Report *r = report_new(path, &(ReportOptions){ .cpu = "x86-64-v3", .passes.two_phase = how },
                           &e);
    if (!r) fail_msg("%s", e.text);
    return r;
}

Report *paper_report(void **folder, const char *residual, Sizes s) {
    return paper_report_how(folder, residual, s, TWO_PHASE_OFF);
}
