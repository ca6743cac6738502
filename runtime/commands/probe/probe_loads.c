/* SPDX-License-Identifier: MIT
** Loads of a probe: how evenly the sums for buffers' rules are spread, for the terminal and as
** JSON.
*/
#include "probe.h"

#include <stdlib.h>

#include "json.h"

enum { LOADS = 64 };

void probe_loads_free(Probe *x) {
    for (int i = 0; i < x->loads; i++)
        free(x->load[i].mean);
    free(x->load);
    x->load = NULL, x->loads = 0;
}

ProbeSpread probe_spread(const ProbeLoad *x) {
    ProbeSpread s = { 0 };
    double sum = 0, largest = x->mean[0], smallest = x->mean[0];
    for (int64_t i = 0; i < x->count; i++) {
        sum += x->mean[i];
        s.zeros += x->mean[i] == 0;
        if (x->mean[i] > largest) largest = x->mean[i];
        if (x->mean[i] < smallest) smallest = x->mean[i];
    }
    s.largest = sum > 0 ? largest * (double)x->count / sum : 1;
    s.smallest = sum > 0 ? smallest * (double)x->count / sum : 1;
    return s;
}

void probe_print_loads(const Probe *x, Text *t) {
    if (x->loads)
        text_add(t, "\n%-40s %8s %14s %15s %8s\n", "loads, by the buffer they move", "numbers",
                 "largest / mean", "smallest / mean", "zeros");
    for (int i = 0; i < x->loads && i < LOADS; i++) {
        ProbeSpread s = probe_spread(&x->load[i]);
        text_add(t, "%-40.60s %8lld %14.3f %15.3f %8lld\n", x->load[i].buffer,
                 (long long)x->load[i].count, s.largest, s.smallest, (long long)s.zeros);
    }
    if (x->loads > LOADS) text_add(t, "… %d more; --json and -o list all\n", x->loads - LOADS);
}

void probe_json_loads(const Probe *x, Text *t) {
    text_add(t, ", \"loads\": [");
    for (int i = 0; i < x->loads; i++) {
        text_add(t, i ? ",\n {\"buffer\": " : "{\"buffer\": ");
        text_json_string(t, x->load[i].buffer);
        text_add(t, ", \"per_token\": [");
        for (int64_t k = 0; k < x->load[i].count; k++) {
            text_add(t, k ? ", " : "");
            text_json_number(t, x->load[i].mean[k]);
        }
        text_add(t, "]}");
    }
    text_add(t, "]");
}
