/* SPDX-License-Identifier: MIT
** tokenizer.json: members of its objects, and what is said of wrong ones. */
#include "token_json.h"

#include <string.h>

#include "characters.h"

int token_json_wrong(const TokenJson *r, const char *where, const char *expected,
                     const JsonNode *found) {
    static const char *const type[] = { "null",     "false",    "true",     "a number",
                                        "a string", "an array", "an object" };
    if (found && (found->type == JSON_STRING || found->type == JSON_NUMBER))
        return error_set(r->e, STATUS_USER, "%s:%s: expected %s, found \"%s\"", r->what, where,
                         expected, found->text);
    return error_set(r->e, STATUS_USER, "%s:%s: expected %s, found %s", r->what, where, expected,
                     found ? type[found->type] : "nothing");
}

int token_json_unknown(const TokenJson *r, const char *where, const JsonNode *object) {
    const JsonNode *type = json_member(r->j, object, "type");
    if (!type || type->type != JSON_STRING)
        return token_json_wrong(r, where, "an object with a type", type ? type : object);
    return error_set(r->e, STATUS_USER,
                     "%s:%s: expected a type that is known, found \"%s\": not in this version",
                     r->what, where, type->text);
}

bool token_json_is(const TokenJson *r, const JsonNode *object, const char *type) {
    const JsonNode *n = json_member(r->j, object, "type");
    return n && n->type == JSON_STRING && !strcmp(n->text, type);
}

int token_json_only(const TokenJson *r, const char *where, const JsonNode *object,
                    const char *known) {
    for (const JsonNode *c = json_first(r->j, object); c; c = json_next(r->j, c)) {
        size_t n = strlen(c->key);
        const char *at = known;
        while (at && (strncmp(at, c->key, n) != 0 || (at[n] && at[n] != ' '))) {
            at = strchr(at, ' ');
            if (at) at++;
        }
        if (!at)
            return error_set(r->e, STATUS_USER,
                             "%s:%s: expected the members %s, found \"%s\": not in this version",
                             r->what, where, known, c->key);
    }
    return STATUS_OK;
}

int token_json_bool(const TokenJson *r, const JsonNode *object, const char *key, bool *out) {
    const JsonNode *n = json_member(r->j, object, key);
    if (!n || n->type == JSON_NULL) return STATUS_OK;
    if (n->type != JSON_TRUE && n->type != JSON_FALSE)
        return token_json_wrong(r, key, "true or false", n);
    *out = n->type == JSON_TRUE;
    return STATUS_OK;
}

int token_json_string(const TokenJson *r, const JsonNode *object, const char *key, size_t most,
                      const char **out) {
    const JsonNode *n = json_member(r->j, object, key);
    *out = NULL;
    if (!n || n->type == JSON_NULL) return STATUS_OK;
    if (n->type != JSON_STRING) return token_json_wrong(r, key, "a string", n);
    if (strlen(n->text) > most)
        return error_set(r->e, STATUS_LIMIT, "%s:%s: expected at most %zu bytes, found %zu",
                         r->what, key, most, strlen(n->text));
    *out = n->text;
    return STATUS_OK;
}

int token_json_list(const TokenJson *r, const JsonNode *object, const char *key,
                    const JsonNode **out) {
    const JsonNode *n = json_member(r->j, object, key);
    if (!n || n->type != JSON_ARRAY) return token_json_wrong(r, key, "a list", n);
    *out = n;
    return STATUS_OK;
}

int token_json_pattern(const TokenJson *r, const JsonNode *object, const char *where,
                       const char **string, const char **regex) {
    const JsonNode *n = json_member(r->j, object, "pattern");
    *string = *regex = NULL;
    if (!n || n->type != JSON_OBJECT) return token_json_wrong(r, where, "a pattern", n);
    int status = token_json_string(r, n, "String", TOKEN_JSON_STRING, string);
    if (!status) status = token_json_string(r, n, "Regex", PATTERN_LONGEST, regex);
    if (!status && n->count == 1 && !*string != !*regex) return STATUS_OK;
    return status ? status : token_json_wrong(r, where, "a pattern, String or Regex", n);
}

bool token_json_bytes(Text *out, const char *spelled) {
    size_t length = strlen(spelled);
    int32_t c;
    for (size_t i = 0; i < length;) {
        i += (size_t)character_at(spelled, length, i, &c);
        int byte = byte_of_character(c);
        char one = (char)byte;
        if (byte < 0) return false;
        text_bytes(out, &one, 1);
    }
    return true;
}
