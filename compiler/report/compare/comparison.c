/* SPDX-License-Identifier: MIT
** A comparison's variants and how their numbers are written; see comparison.h. */
#include "comparison.h"

#include "console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *compare_number(char to[32], Unit unit, double value) {
    if (!isfinite(value)) print_text(to, 32, "-");
    else if (unit == UNIT_BYTES) human_bytes(to, value);
    else if (unit == UNIT_LOSS) print_text(to, 32, "%.4f", value);
    else if (unit == UNIT_RATE) print_text(to, 32, "%.6g", value);
    else if (unit == UNIT_SECONDS && value < 1e-3)
        print_text(to, 32, "%s us", FIGURES(1e6 * value, 3));
    else if (unit == UNIT_SECONDS)
        print_text(to, 32, "%s %s", FIGURES(value < 1 ? 1e3 * value : value, 3),
                   value < 1 ? "ms" : "s");
    else if (fabs(value) < 10000 && value == floor(value)) print_text(to, 32, "%.0f", value);
    else if (fabs(value) < 100) print_text(to, 32, "%.2f", value);
    else human_count(to, value);
    return to;
}

char *compare_difference(char to[32], double value, double base) {
    double percent = 100 * (value / base - 1);
    *to = 0;
    if (!isfinite(value) || !isfinite(base)) return to;
    if (value == base) print_text(to, 32, "=");
    else if (base != 0)
        print_text(to, 32,
                   fabs(percent) < 0.0005      ? "%+.0f %%"
                       : fabs(percent) < 0.095 ? "%+.1g %%"
                       : fabs(percent) < 999   ? "%+.1f %%"
                                               : "%+.0f %%",
                   percent);
    return to;
}

void run_free(TrainRun *r) {
    free(r->loss);
    free(r->routed);
    free(r->route);
    free(r->seconds);
    free(r->step);
    free(r->value);
    *r = (TrainRun){ 0 };
}

void compare_free(Comparison *c) {
    free(c->made.file);
    for (int i = 0; i < c->n; i++) {
        Variant *v = &c->variant[i];
        report_free(v->report);
        free(v->timing.seconds);
        free(v->timing.kernel);
        for (int s = 0; v->run && s < c->seeds; s++)
            run_free(&v->run[s]);
        free(v->run);
        mixing_free(v->trained);
        free(v->assembly);
    }
}

const char *compare_routes_note(const Comparison *c) {
    int routes = 0;
    for (int i = 0; i < c->n; i++)
        routes += graph_lists(c->variant[i].report->model->graph);
    return routes ? "FLOPs, bytes moved and memory of a spec with routes are as if each took every "
                    "token; strata inspect --cost counts shares."
                  : "";
}
