/* SPDX-License-Identifier: MIT
** The inputs and outputs of a program's probe.  At strata_model.probe_table are the inputs, then
** the results, then for each of the model's tensors the number of its layer, as the results count
** layers (-1: none).  The compiler writes the table (codegen/tables/descriptor.c), the command
** probe reads it.
*/
#ifndef STRATA_PROBE_TABLE_H
#define STRATA_PROBE_TABLE_H

#include "abi.h"

/* Inputs and results; compiler/analysis/probe_graph.h says what is in them. */
typedef enum ProbeKind {
    INPUT_CODES,
    INPUT_KEEP,
    INPUT_DIRECTION,
    RESULT_SOURCE,
    RESULT_READ,
    RESULT_GATE,
    RESULT_LAYER,
    RESULT_SIMILARITY,
    RESULT_ROUTE,
    RESULT_LOAD,
    PROBE_KINDS
} ProbeKind;

typedef struct ProbeEntry {
    int32_t kind, index; /* entries of a kind count from 0; some may be missing */
    int32_t layer;       /* RESULT_SOURCE: that it is a part of; -1: none */
    uint32_t site, last; /* strings: of results, where in the model; the last part of that */
    int32_t zero;
    int64_t at, count; /* floats: of an input in WEIGHTS, of a result in what probe fills */
} ProbeEntry;

static inline const ProbeEntry *probe_entries(const strata_model *m) {
    return (const ProbeEntry *)strata_string(m, m->probe_table);
}

static inline const int32_t *probe_tensor_layers(const strata_model *m) {
    return (const int32_t *)(probe_entries(m) + m->probe_inputs + m->probe_results);
}

#endif
