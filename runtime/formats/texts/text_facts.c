/* SPDX-License-Identifier: MIT
** What is known about texts, before anything is read; see text_facts.h. */
#include "text_facts.h"

#include <math.h>
#include <stdlib.h>

const char *const sampling_name[SAMPLINGS] = {
#define SAMPLING(id, name, low, high) name,
#include "sampling.def"
};

const char *const text_config_members[] = { "bos_token_id", "eos_token_id", "pad_token_id",
                                            "do_sample",
#define SAMPLING(id, name, low, high) name,
#include "sampling.def"
                                            NULL };

void text_facts_none(TextFacts *f) {
    *f = (TextFacts){ .begin = -1, .pad = -1, .eos = -1 };
    for (int i = 0; i < SAMPLINGS; i++)
        f->sampling[i] = (double)NAN;
}

void text_facts_free(TextFacts *f) {
    free(f->template);
    text_facts_none(f);
}

bool text_facts_ends(const TextFacts *f, int32_t id) {
    for (int i = 0; i < f->ends; i++)
        if (f->end[i] == id) return true;
    return false;
}
