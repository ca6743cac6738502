/* SPDX-License-Identifier: MIT
** See json_get.h. */
#include "json_get.h"

#include "test.h"

const JsonNode *json_get(const Json *j, const JsonNode *n, const char *key) {
    const JsonNode *found = json_member(j, n, key);
    if (!found) fail_msg("expected the key %s", key);
    return found;
}

double json_get_number(const Json *j, const JsonNode *n, const char *key) {
    double x;
    assert_true(json_double(json_get(j, n, key), &x));
    return x;
}
