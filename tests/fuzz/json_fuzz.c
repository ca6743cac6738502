/* SPDX-License-Identifier: MIT
** JSON.  A document that is accepted is a tree: its nodes are reached once, in order. */
#include <string.h>

#include "fuzz.h"
#include "json.h"

const int fuzz_bytes = 6;
const char *const fuzz_words[] = { "{",
                                   "}",
                                   "[",
                                   "]",
                                   ",",
                                   ":",
                                   "\"",
                                   "\\",
                                   "\\u0000",
                                   "\\ud83d\\ude00",
                                   "\\udc00",
                                   "true",
                                   "null",
                                   "-0",
                                   "1e309",
                                   "1E-9",
                                   "\xf0\x9f\x98\x80",
                                   "\xc0\x80",
                                   "\xed\xa0\x80",
                                   "[[[[[[[[[[[[[[[[",
                                   "\"a\":",
                                   NULL };

size_t fuzz_seed(size_t k, unsigned char *to) {
    static const char *const valid[] = {
        "{\"a\": [1, -2.5e3, true, false, null, \"x\\u00e9\\n\"], \"b\": {\"c\": {}}}",
        "[[], {}, \"\", 0, 9223372036854775807, 1e-300]",
        "\"\\ud83d\\ude00 \xf0\x9f\x98\x80\"",
    };
    if (k >= sizeof valid / sizeof *valid) return 0;
    memcpy(to, valid[k], strlen(valid[k]));
    return strlen(valid[k]);
}

void fuzz_repair(FuzzInput *f) { (void)f; }

static void check_children(const Json *j, uint32_t at) {
    const JsonNode *n = &j->node[at];
    uint32_t children = 0;
    if (n->next <= at || n->next > j->count) fuzz_broken("a node ends before itself");
    if (n->type != JSON_ARRAY && n->type != JSON_OBJECT) return;
    for (const JsonNode *c = json_first(j, n); c; c = json_next(j, c), children++) {
        if (&j->node[c->in] != n) fuzz_broken("a child is in another container");
        if ((n->type == JSON_OBJECT) != (c->key != NULL)) fuzz_broken("a key is missing");
        /* linear: in large objects of some */
        if (c->key && children < 50 && json_member(j, n, c->key) != c)
            fuzz_broken("a key is there twice");
    }
    if (children != n->count) fuzz_broken("children are miscounted");
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    Json j = { 0 };
    Error e = { 0 };
    int64_t integer;
    double number;
    int status = json_parse(&j, "fuzz", (const char *)bytes, n, 10000, &e);
    if (status && !e.text[0]) fuzz_broken("an error says nothing");
    if (status) return 0;
    for (uint32_t i = 0; i < j.count; i++) {
        check_children(&j, i);
        if (j.node[i].type != JSON_NUMBER) continue;
        if (json_int64(&j.node[i], &integer) && !json_double(&j.node[i], &number))
            fuzz_broken("an integer is no number");
    }
    json_free(&j);
    return 1;
}
