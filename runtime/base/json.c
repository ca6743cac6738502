/* SPDX-License-Identifier: MIT
** The strict JSON reader of json.h: a recursive descent that decodes in place.  A decoded string
** is never longer than its text, and its NUL takes the place of the closing quote.  A number moves
** one byte to the left, over the sign or blank before it that was already read, so that its NUL
** fits too.
*/
#include "json.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

typedef struct Parser {
    Json *j;
    const char *file;
    char *start, *p, *end;
    uint32_t limit, in;
    int depth;
    Error *e;
} Parser;

static int value(Parser *r, const char *key);

static int expected(Parser *r, const char *what) {
    size_t at = (size_t)(r->p - r->start);
    if (r->p >= r->end)
        return error_set(r->e, STATUS_USER, "%s:byte %zu: expected %s, found the end", r->file, at,
                         what);
    unsigned char c = (unsigned char)*r->p;
    if (c < 0x20 || c > 0x7e)
        return error_set(r->e, STATUS_USER, "%s:byte %zu: expected %s, found byte 0x%02x", r->file,
                         at, what, c);
    return error_set(r->e, STATUS_USER, "%s:byte %zu: expected %s, found '%c'", r->file, at, what,
                     c);
}

static void blanks(Parser *r) {
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
        r->p++;
}

static bool accept(Parser *r, char c) {
    if (r->p >= r->end || *r->p != c) return false;
    r->p++;
    return true;
}

static int json_push(Parser *r, JsonType type, const char *key, uint32_t *index) {
    Json *j = r->j;
    if (j->count == r->limit)
        return error_set(r->e, STATUS_LIMIT, "%s: expected at most %u values, found more", r->file,
                         r->limit);
    if (j->count == j->room) {
        uint32_t room = j->room ? (j->room > r->limit / 2 ? r->limit : 2 * j->room) : 64;
        JsonNode *bigger = realloc(j->node, room * sizeof *bigger);
        if (!bigger) return error_memory(r->e, r->file, room * sizeof *bigger);
        j->node = bigger;
        j->room = room;
    }
    *index = j->count++;
    j->node[*index] = (JsonNode){ .type = type, .next = *index + 1, .in = r->in, .key = key };
    return STATUS_OK;
}

/* == Scalars ============================================================== */

static int hex4(Parser *r, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 4; i++, r->p++) {
        char c = r->p < r->end ? *r->p : 0;
        uint32_t digit;
        if (c >= '0' && c <= '9') digit = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f') digit = (uint32_t)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F') digit = (uint32_t)(c - 'A' + 10);
        else return expected(r, "a hexadecimal digit");
        *out = *out << 4 | digit;
    }
    return STATUS_OK;
}

/* After "\u".  Pairs of surrogates become one character; half a pair is an error. */
static int unicode_escape(Parser *r, char **to) {
    uint32_t c, low;
    int status = hex4(r, &c);
    if (status) return status;
    if (c >= 0xd800 && c < 0xdc00) {
        if (!accept(r, '\\') || !accept(r, 'u'))
            return expected(r, "the second half of a surrogate pair");
        if ((status = hex4(r, &low))) return status;
        if (low < 0xdc00 || low > 0xdfff) return expected(r, "the second half of a surrogate pair");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    } else if (c >= 0xdc00 && c < 0xe000) {
        return expected(r, "the first half of a surrogate pair before its second");
    }
    if (!c) return expected(r, "a string without NUL characters");
    *to += utf8proc_encode_char((utf8proc_int32_t)c, (utf8proc_uint8_t *)*to);
    return STATUS_OK;
}

static int escape(Parser *r, char **to) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    char c = r->p < r->end ? *r->p : 0;
    if (c == 'u') {
        r->p++;
        return unicode_escape(r, to);
    }
    const char *known = c ? strchr(from, c) : NULL;
    if (!known) return expected(r, "an escape");
    r->p++;
    *(*to)++ = into[known - from];
    return STATUS_OK;
}

/* At the opening quote; *out is the decoded text. */
static int string_json(Parser *r, const char **out) {
    if (!accept(r, '"')) return expected(r, "a string");
    char *to = r->p;
    *out = to;
    for (;;) {
        utf8proc_int32_t c;
        size_t rest = (size_t)(r->end - r->p);
        if (!rest || (unsigned char)*r->p < 0x20)
            return expected(r, "a string's character or '\"'");
        if (*r->p == '"') break;
        if (*r->p == '\\') {
            r->p++;
            int status = escape(r, &to);
            if (status) return status;
            continue;
        }
        utf8proc_ssize_t n = utf8proc_iterate((utf8proc_uint8_t *)r->p,
                                              rest < 4 ? (utf8proc_ssize_t)rest : 4, &c);
        if (n <= 0) return expected(r, "UTF-8");
        memmove(to, r->p, (size_t)n);
        to += n;
        r->p += n;
    }
    r->p++;
    *to = 0;
    return STATUS_OK;
}

static bool skip_digits(Parser *r) {
    char *from = r->p;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
        r->p++;
    return r->p > from;
}

static int number(Parser *r, const char **out) {
    char *from = r->p;
    accept(r, '-');
    if (!accept(r, '0') && !skip_digits(r)) return expected(r, "a digit");
    if (accept(r, '.') && !skip_digits(r)) return expected(r, "a digit");
    if (accept(r, 'e') || accept(r, 'E')) {
        if (!accept(r, '-')) accept(r, '+');
        if (!skip_digits(r)) return expected(r, "a digit");
    }
    size_t n = (size_t)(r->p - from);
    memmove(from - 1, from, n);
    from[n - 1] = 0;
    *out = from - 1;
    return STATUS_OK;
}

static int json_word(Parser *r, JsonType type, const char *key, const char *text) {
    size_t n = strlen(text);
    uint32_t index;
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, text, n)) return expected(r, "a value");
    r->p += n;
    return json_push(r, type, key, &index);
}

/* == Containers =========================================================== */

static int json_by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* No key twice: pairs are compared where there are few, sorted where there are many. */
static int check_keys(Parser *r, uint32_t object) {
    const Json *j = r->j;
    const JsonNode *o = &j->node[object];
    const char *few[8], **key = few, *twice = NULL;
    if (o->count < 2) return STATUS_OK;
    if (o->count > 8 && !(key = malloc(o->count * sizeof *key)))
        return error_memory(r->e, r->file, o->count * sizeof *key);
    uint32_t n = 0;
    for (const JsonNode *c = json_first(j, o); c; c = json_next(j, c))
        key[n++] = c->key;
    qsort(key, n, sizeof *key, json_by_text);
    for (uint32_t i = 1; i < n && !twice; i++)
        if (!strcmp(key[i - 1], key[i])) twice = key[i];
    int status = STATUS_OK;
    if (twice)
        status = error_set(r->e, STATUS_USER, "%s:%s: expected one value, found the key twice",
                           r->file, twice);
    if (key != few) free(key);
    return status;
}

static int member_json(Parser *r, bool keyed) {
    const char *key = NULL;
    if (keyed) {
        blanks(r);
        int status = string_json(r, &key);
        if (status) return status;
        blanks(r);
        if (!accept(r, ':')) return expected(r, "':'");
    }
    return value(r, key);
}

static int members(Parser *r, uint32_t self, bool keyed, char close) {
    blanks(r);
    if (accept(r, close)) return STATUS_OK;
    for (;;) {
        int status = member_json(r, keyed);
        if (status) return status;
        r->j->node[self].count++;
        blanks(r);
        if (accept(r, close)) return STATUS_OK;
        if (!accept(r, ',')) return expected(r, keyed ? "',' or '}'" : "',' or ']'");
    }
}

static int container(Parser *r, const char *key) {
    bool keyed = *r->p++ == '{';
    uint32_t self, outer = r->in;
    if (r->depth == JSON_DEPTH)
        return error_set(r->e, STATUS_LIMIT,
                         "%s:byte %zu: expected a depth of at most %d, found more", r->file,
                         (size_t)(r->p - 1 - r->start), JSON_DEPTH);
    int status = json_push(r, keyed ? JSON_OBJECT : JSON_ARRAY, key, &self);
    if (status) return status;
    r->depth++;
    r->in = self;
    status = members(r, self, keyed, keyed ? '}' : ']');
    r->j->node[self].next = r->j->count;
    r->in = outer;
    r->depth--;
    if (!status && keyed) status = check_keys(r, self);
    return status;
}

static int value(Parser *r, const char *key) {
    blanks(r);
    char c = r->p < r->end ? *r->p : 0;
    uint32_t index;
    const char *text;
    int status;
    if (c == '{' || c == '[') return container(r, key);
    if (c == 'n') return json_word(r, JSON_NULL, key, "null");
    if (c == 'f') return json_word(r, JSON_FALSE, key, "false");
    if (c == 't') return json_word(r, JSON_TRUE, key, "true");
    if (c == '"') status = string_json(r, &text);
    else if (c == '-' || (c >= '0' && c <= '9')) status = number(r, &text);
    else return expected(r, "a value");
    if (!status) status = json_push(r, c == '"' ? JSON_STRING : JSON_NUMBER, key, &index);
    if (!status) r->j->node[index].text = text;
    return status;
}

int json_parse(Json *j, const char *file, const char *text, size_t length, uint32_t limit,
               Error *e) {
    *j = (Json){ 0 };
    if (!(j->text = malloc(length + 1))) return error_memory(e, file, length + 1);
    j->text[0] = ' '; /* room for a number at the very start */
    memcpy(j->text + 1, text, length);
    Parser r = { j, file, j->text + 1, j->text + 1, j->text + 1 + length, limit, 0, 0, e };
    int status = value(&r, NULL);
    blanks(&r);
    if (!status && r.p < r.end) status = expected(&r, "the end");
    if (status) json_free(j);
    return status;
}

void json_free(Json *j) {
    free(j->text);
    free(j->node);
    *j = (Json){ 0 };
}

const char *json_kind(const JsonNode *n) {
    static const char *const name[] = { "null",     "false",    "true",     "a number",
                                        "a string", "an array", "an object" };
    return name[n->type];
}

/* == Walking ============================================================== */

const JsonNode *json_first(const Json *j, const JsonNode *box) {
    return box->count ? &j->node[box - j->node + 1] : NULL;
}

const JsonNode *json_next(const Json *j, const JsonNode *n) {
    const JsonNode *box = &j->node[n->in];
    return n == box || n->next >= box->next ? NULL : &j->node[n->next];
}

const JsonNode *json_member(const Json *j, const JsonNode *object, const char *key) {
    if (object->type != JSON_OBJECT) return NULL;
    for (const JsonNode *c = json_first(j, object); c; c = json_next(j, c))
        if (!strcmp(c->key, key)) return c;
    return NULL;
}

char *json_place(const Json *j, const JsonNode *n, char *to, size_t size) {
    const JsonNode *box = &j->node[n->in];
    int i = 0;
    *to = 0;
    if (n == j->node) return to;
    size_t have = strlen(json_place(j, box, to, size));
    if (box->type == JSON_OBJECT) {
        print_text(to + have, size - have, "%s%s", have ? "." : "", n->key);
        return to;
    }
    for (const JsonNode *c = json_first(j, box); c != n; c = json_next(j, c))
        i++;
    print_text(to + have, size - have, "[%d]", i);
    return to;
}

bool json_int64(const JsonNode *n, int64_t *out) {
    return n->type == JSON_NUMBER && parse_int64(n->text, INT64_MIN, INT64_MAX, out);
}

bool json_double(const JsonNode *n, double *out) {
    return n->type == JSON_NUMBER && parse_double(n->text, -__builtin_inf(), __builtin_inf(), out);
}
