/* SPDX-License-Identifier: MIT
** See json_text.h. */
#include "json_text.h"

static void line(Text *t, int depth) {
    if (depth >= 0) text_add(t, "\n%*s", 2 * depth, "");
}

/* depth below 0: all on one line */
static void value(Text *t, const Json *j, const JsonNode *n, int depth) {
    static const char *const word[] = { [JSON_NULL] = "null",
                                        [JSON_FALSE] = "false",
                                        [JSON_TRUE] = "true" };
    bool object = n->type == JSON_OBJECT, first = true;
    int inner = depth < 0 ? depth : depth + 1;
    if (n->type == JSON_STRING) return text_json_string(t, n->text);
    if (n->type == JSON_NUMBER) return text_add(t, "%s", n->text);
    if (!object && n->type != JSON_ARRAY) return text_add(t, "%s", word[n->type]);
    text_add(t, object ? "{" : "[");
    for (const JsonNode *c = json_first(j, n); c; c = json_next(j, c)) {
        text_add(t, first ? "" : depth < 0 ? ", " : ",");
        line(t, inner);
        if (object) text_json_string(t, c->key), text_add(t, ": ");
        value(t, j, c, inner);
        first = false;
    }
    if (!first) line(t, depth);
    text_add(t, object ? "}" : "]");
}

void json_text(Text *t, const Json *j, const JsonNode *n) { value(t, j, n, -1); }

void json_lines(Text *t, const Json *j, const JsonNode *n, int depth) { value(t, j, n, depth); }

void json_key(Text *t, const char *key, bool *first) {
    text_add(t, *first ? "" : ", ");
    text_json_string(t, key);
    text_add(t, ": ");
    *first = false;
}
