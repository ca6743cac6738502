/* SPDX-License-Identifier: MIT
** See probe_entries.h. */
#include "probe_entries.h"

#include <stdlib.h>

static void count_entries(ProbeEntries *x, const ProbeEntry *entry, int n) {
    for (int i = 0; i < n; i++) {
        const ProbeEntry *t = &entry[i];
        int *count = &x->kind[t->kind].count;
        *count = t->index >= *count ? t->index + 1 : *count;
        if (t->kind >= RESULT_SOURCE && t->at + t->count > x->floats) x->floats = t->at + t->count;
    }
}

bool entries_open(ProbeEntries *x, const strata_model *m) {
    const ProbeEntry *entry = probe_entries(m);
    int n = m->probe_inputs + m->probe_results;
    *x = (ProbeEntries){ .m = m };
    count_entries(x, entry, n);
    for (int k = 0; k < PROBE_KINDS; k++) {
        x->kind[k].at = calloc((size_t)x->kind[k].count + 1, sizeof *x->kind[k].at);
        if (!x->kind[k].at) return false;
    }
    for (int i = 0; i < n; i++)
        x->kind[entry[i].kind].at[entry[i].index] = &entry[i];
    return true;
}

void entries_close(ProbeEntries *x) {
    for (int k = 0; k < PROBE_KINDS; k++)
        free(x->kind[k].at);
}

const ProbeEntry *entry_of(const ProbeEntries *x, ProbeKind kind, int64_t index) {
    return index < x->kind[kind].count ? x->kind[kind].at[index] : NULL;
}

static const char **strings(const ProbeEntries *x, ProbeKind kind, bool last) {
    const char **s = calloc((size_t)x->kind[kind].count + 1, sizeof *s);
    for (int i = 0; s && i < x->kind[kind].count; i++) {
        const ProbeEntry *t = x->kind[kind].at[i];
        s[i] = t ? strata_string(x->m, last ? t->last : t->site) : "";
    }
    return s;
}

const char **entry_sites(const ProbeEntries *x, ProbeKind kind) { return strings(x, kind, false); }

const char **entry_lasts(const ProbeEntries *x, ProbeKind kind) { return strings(x, kind, true); }
