/* SPDX-License-Identifier: MIT
** The command export: writes a model and its weights for other programs. */
#include "export.h"

#include <stdlib.h>
#include <string.h>

#include "build.h"

static int export_take(Export *x, const Options *o, Error *e) {
    *x = (Export){ .weights = option_of(o, STRATA_OPTION_EXPORT_WEIGHTS)->text,
                   .check = option_of(o, STRATA_OPTION_EXPORT_CHECK)->given,
                   .overwrite = option_of(o, STRATA_OPTION_OVERWRITE)->given };
    if (o->words != 2)
        return error_set(e, STATUS_USAGE,
                         "strata export: expected SPEC --to hf DIR, or SPEC --to gguf FILE, "
                         "found %s%s%s",
                         o->words ? "'" : "nothing", o->words ? o->word[o->words - 1] : "",
                         o->words > 2   ? "' too"
                             : o->words ? "', and no DIR or FILE that is written"
                                        : "");
    x->spec = o->word[0];
    x->out = o->word[1];
    int status = options_require(o, STRATA_OPTION_EXPORT_WEIGHTS, e);
    if (!status) status = options_require(o, STRATA_OPTION_EXPORT_TO, e);
    if (status || !option_of(o, STRATA_OPTION_EXPORT_TYPE)->given
        || !strcmp(option_of(o, STRATA_OPTION_EXPORT_TO)->text, "gguf"))
        return status;
    return error_set(
        e, STATUS_USAGE,
        "strata export: --type: expected --to gguf with it, found --to hf, which keeps "
        "the weights' type");
}

static int export_check_model(const Export *x, Error *e) {
    if (!x->model->acausal) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "%s: export: expected a causal model, found %s sees later "
                     "tokens",
                     x->spec, x->model->acausal);
}

int command_export(const Options *o, Allowance *a, Error *e) {
    Export x;
    int status = export_take(&x, o, e);
    if (status) return status;
    x.allowance = a;
    x.model = build_load(x.spec, a, e);
    if (!x.model) return e->status;
    status = export_check_model(&x, e);
    if (!status) status = export_weights(&x, o, e);
    if (!status) status = export_unread(&x, e);
    bool gguf = !strcmp(option_of(o, STRATA_OPTION_EXPORT_TO)->text, "gguf");
    if (!status)
        status = gguf ? export_gguf(&x, option_of(o, STRATA_OPTION_EXPORT_TYPE)->text, e)
                      : export_hf(&x, e);
    free(x.folder.tensor);
    safetensors_close(&x.file);
    spec_free(x.model);
    return status;
}
