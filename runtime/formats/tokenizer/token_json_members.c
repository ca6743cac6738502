/* SPDX-License-Identifier: MIT
** tokenizer.json: members of its objects, and errors about them.
*/
#include "token_json.h"

#include <string.h>

#include "characters.h"

#define PATTERN "a pattern, {\"String\": ...} or {\"Regex\": ...}"
enum { PLACE = 400 };

/* "FILE:a.b[2]: expected EXPECTED, found ..."; key: of a member of 'n'. */
static int members_wrong(const TokenJson *r, const JsonNode *n, const char *key,
                         const char *expected, const char *quote, const char *found) {
    char place[PLACE];
    json_place(r->j, n, place, sizeof place);
    return error_set(r->e, STATUS_USER, "%s:%s%s%s%sexpected %s, found %s%s%s", r->what, place,
                     key && *place ? "." : "", key ? key : "", key || *place ? ": " : " ", expected,
                     quote, found, quote);
}

int token_json_wrong(const TokenJson *r, const JsonNode *n, const char *expected) {
    bool shown = n->type == JSON_STRING || n->type == JSON_NUMBER;
    return members_wrong(r, n, NULL, expected, shown ? "\"" : "", shown ? n->text : json_kind(n));
}

int token_json_found(const TokenJson *r, const JsonNode *n, const char *expected,
                     const char *found) {
    return members_wrong(r, n, NULL, expected, "", found);
}

int token_json_lacks(const TokenJson *r, const JsonNode *object, const char *key,
                     const char *expected) {
    const JsonNode *n = json_member(r->j, object, key);
    if (object->type != JSON_OBJECT) return token_json_wrong(r, object, "an object");
    return n ? token_json_wrong(r, n, expected)
             : members_wrong(r, object, key, expected, "", "nothing");
}

int token_json_beyond(const TokenJson *r, const JsonNode *n, size_t most, size_t found) {
    char place[PLACE];
    return error_set(r->e, STATUS_LIMIT, "%s:%s: expected at most %zu bytes, found %zu", r->what,
                     json_place(r->j, n, place, sizeof place), most, found);
}

int token_json_unknown(const TokenJson *r, const JsonNode *object) {
    const JsonNode *type = json_member(r->j, object, "type");
    char said[TOKEN_JSON_STRING + 64];
    if (!type || type->type != JSON_STRING)
        return token_json_lacks(r, object, "type", "the name of a type");
    print_text(said, sizeof said, "\"%.*s\": not in this version", TOKEN_JSON_STRING, type->text);
    return token_json_found(r, type, "a type that is known", said);
}

bool token_json_has(const TokenJson *r, const JsonNode *object, const char *key, const char *text) {
    const JsonNode *n = json_member(r->j, object, key);
    return n && n->type == JSON_STRING && !strcmp(n->text, text);
}

bool token_json_is(const TokenJson *r, const JsonNode *object, const char *type) {
    return token_json_has(r, object, "type", type);
}

int token_json_only(const TokenJson *r, const JsonNode *object, const char *known) {
    for (const JsonNode *c = json_first(r->j, object); c; c = json_next(r->j, c)) {
        size_t n = strlen(c->key);
        const char *at = known;
        char expected[TOKEN_JSON_STRING], said[TOKEN_JSON_STRING + 64];
        while (at && (strncmp(at, c->key, n) != 0 || (at[n] && at[n] != ' '))) {
            at = strchr(at, ' ');
            if (at) at++;
        }
        if (at) continue;
        print_text(expected, sizeof expected, "the members %s", known);
        print_text(said, sizeof said, "\"%.*s\": not in this version", TOKEN_JSON_STRING, c->key);
        return token_json_found(r, object, expected, said);
    }
    return STATUS_OK;
}

int token_json_bool(const TokenJson *r, const JsonNode *object, const char *key, bool *out) {
    const JsonNode *n = json_member(r->j, object, key);
    if (!n || n->type == JSON_NULL) return STATUS_OK;
    if (n->type != JSON_TRUE && n->type != JSON_FALSE)
        return token_json_wrong(r, n, "true or false");
    *out = n->type == JSON_TRUE;
    return STATUS_OK;
}

int token_json_string(const TokenJson *r, const JsonNode *object, const char *key, size_t most,
                      const char **out) {
    const JsonNode *n = json_member(r->j, object, key);
    *out = NULL;
    if (!n || n->type == JSON_NULL) return STATUS_OK;
    if (n->type != JSON_STRING) return token_json_wrong(r, n, "a string");
    if (strlen(n->text) > most) return token_json_beyond(r, n, most, strlen(n->text));
    *out = n->text;
    return STATUS_OK;
}

int token_json_character(const TokenJson *r, const JsonNode *object, const char *key,
                         const char **out) {
    int32_t c;
    int status = token_json_string(r, object, key, TOKEN_JSON_STRING, out);
    if (status || !*out) return status;
    size_t n = strlen(*out);
    if (n && (size_t)character_at(*out, n, 0, &c) == n) return STATUS_OK;
    return token_json_lacks(r, object, key, "one character");
}

int token_json_list(const TokenJson *r, const JsonNode *object, const char *key,
                    const JsonNode **out) {
    const JsonNode *n = json_member(r->j, object, key);
    if (!n || n->type != JSON_ARRAY) return token_json_lacks(r, object, key, "a list");
    *out = n;
    return STATUS_OK;
}

int token_json_pattern(const TokenJson *r, const JsonNode *object, const char **string,
                       const char **regex) {
    const JsonNode *n = json_member(r->j, object, "pattern");
    *string = *regex = NULL;
    if (!n || n->type != JSON_OBJECT) return token_json_lacks(r, object, "pattern", PATTERN);
    int status = token_json_string(r, n, "String", TOKEN_JSON_STRING, string);
    if (!status) status = token_json_string(r, n, "Regex", PATTERN_LONGEST, regex);
    if (!status && n->count == 1 && !*string != !*regex) return STATUS_OK;
    return status ? status : token_json_wrong(r, n, PATTERN);
}

int token_json_regex(const TokenJson *r, const JsonNode *object, const char *regex, Pattern *out) {
    char place[PLACE], what[3 * PLACE];
    json_place(r->j, object, place, sizeof place);
    print_text(what, sizeof what, "%.*s:%s.pattern.Regex", PLACE, r->what, place);
    return pattern_open(out, regex, PATTERN_ONIGURUMA, what, r->e);
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
