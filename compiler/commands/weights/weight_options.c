/* SPDX-License-Identifier: MIT
** Compares the values of a spec's options with those that weights were trained with.
*/
#include "command.h"
#include "model_identity.h"
#include "trained_options.h"
#include "weight_tools.h"

#include <string.h>

static bool is_declared(const Model *m, const char *name, size_t n) {
    for (int i = 0; i < m->noption; i++)
        if (strlen(m->option[i].name) == n && !strncmp(m->option[i].name, name, n)) return true;
    return false;
}

/* --changed names options of the spec. */
static int check_names(const char *names, const Model *m, const char *spec, Error *e) {
    for (const char *at = names; at && *at;) {
        size_t n = strcspn(at, ",");
        if (!is_declared(m, at, n))
            return error_set(e, STATUS_USER,
                             "--changed: expected names of options of %s with commas, found '%.*s'",
                             spec, (int)n, at);
        at += n + (at[n] == ',');
    }
    return STATUS_OK;
}

int weight_file_options(const Safetensors *s, const Model *m, const Options *o, const char *spec,
                        Error *e) {
    const char *changed = option_of(o, STRATA_OPTION_CHANGED)->text;
    ReadingModel own = { m->options, model_function(m), changed, spec, false };
    int status = check_names(changed, m, spec, e);
    return status ? status : trained_options_check(s, &own, e);
}
