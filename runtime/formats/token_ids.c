/* SPDX-License-Identifier: MIT
** A list of ids, as wide as its reader wants them; see tokenizer.h. */
#include "tokenizer.h"

#include <stdlib.h>

static bool ids_grow(TokenIds *ids) {
    int64_t room = ids->room + ids->room / 2 + 64;
    void *bigger = ids->failed ? NULL : realloc(ids->at, (size_t)room * (size_t)ids->width);
    ids->failed = !bigger;
    if (!bigger) return false;
    ids->at = bigger;
    ids->room = room;
    return true;
}

void token_ids_add(TokenIds *ids, int32_t id) {
    int64_t i = ids->count;
    ids->count++;
    if (i >= ids->room && !(ids->grows && ids_grow(ids))) return; /* token_ids_encode says so */
    if (ids->width == 1) ((uint8_t *)ids->at)[i] = (uint8_t)id;
    else if (ids->width == 2) ((uint16_t *)ids->at)[i] = (uint16_t)id;
    else ((int32_t *)ids->at)[i] = id;
}
