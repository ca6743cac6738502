/* See model_info.h. */
#include "model_info.h"

ModelInfo model_info(const Model *m) {
    return (ModelInfo){
        .name = m->name,
        .file = m->file,
        .tokenizer = m->tokenizer,
        .mixer = m->mixer,
        .acausal = m->acausal,
        .ahead = m->ahead,
        .vocab = m->vocab,
        .context = m->context,
        .dim = m->dim,
        .layers = m->layers,
        .sublayers = m->sublayers,
        .batch = m->batch,
        .seed = m->seed,
        .hash = m->hash,
        .lr = m->lr,
        .beta1 = m->beta1,
        .beta2 = m->beta2,
        .eps = m->eps,
        .weight_decay = m->weight_decay,
        .clip = m->clip,
        .schedule = (int)m->schedule,
        .warmup = m->warmup,
        .decay = m->decay,
        .min_lr = m->min_lr,
    };
}
