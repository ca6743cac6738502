/* SPDX-License-Identifier: MIT
** Ids of pieces and of added tokens. */
#include "token_json.h"

int token_json_id(const TokenJson *r, const JsonNode *n, int32_t *out) {
    int64_t id;
    char expected[64];
    if (json_int64(n, &id) && id >= 0 && id < VOCABULARY_IDS) {
        *out = (int32_t)id;
        return STATUS_OK;
    }
    print_text(expected, sizeof expected, "an id from 0 to %d", VOCABULARY_IDS - 1);
    return token_json_wrong(r, n, expected);
}

int token_json_added_id(const TokenJson *r, const JsonNode *token, int32_t *out) {
    const JsonNode *n = json_member(r->j, token, "id");
    return n ? token_json_id(r, n, out) : token_json_lacks(r, token, "id", "an id");
}

int token_json_added_ids(const TokenJson *r, const JsonNode *added, int32_t *count) {
    int32_t id;
    int status = STATUS_OK;
    const JsonNode *c = added ? json_first(r->j, added) : NULL;
    for (; c && !status; c = json_next(r->j, c)) {
        status = token_json_added_id(r, c, &id);
        if (!status && id >= *count) *count = id + 1;
    }
    return status;
}
