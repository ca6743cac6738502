/* SPDX-License-Identifier: MIT
** See model_info.h. */
#include "model_info.h"

#include "model_identity.h"

ModelInfo model_info(const Model *m) {
    return (ModelInfo){
        .name = m->name,
        .rules = m->rules,
        .file = m->file,
        .tokenizer = m->tokenizer,
        .mixer = m->mixer,
        .options = m->options,
        .acausal = m->acausal,
        .ahead = m->ahead,
        .vocab = m->vocab,
        .context = m->context,
        .dim = m->dim,
        .layers = m->layers,
        .sublayers = m->sublayers,
        .hash = m->hash,
        .function = model_function(m),
        .train = m->train,
    };
}
