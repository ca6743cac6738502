/* SPDX-License-Identifier: MIT
** Ids that a call of encode has found, and those of a piece that is none.
*/
#include "file_tables.h"

void token_add(TokenCall *c, int32_t id) {
    token_ids_add(c->ids, id);
    if (c->made_count < TOKEN_CACHED) c->made[c->made_count] = id;
    c->made_count++;
}

void token_piece(TokenCall *c, int32_t id, const char *text, size_t length) {
    bool unknown = id < 0 || c->f->flags[id] & TOKEN_UNKNOWN;
    if (!unknown) {
        token_add(c, id);
    } else if (c->f->byte_fallback) {
        for (size_t i = 0; i < length; i++)
            token_add(c, c->f->byte_id[(unsigned char)text[i]]);
    } else if (!c->unknown) {
        token_add(c, c->f->unknown);
    }
    c->unknown = unknown;
}
