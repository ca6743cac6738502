/* SPDX-License-Identifier: MIT
** JSON, strictly: a reader for untrusted text and a writer.
** The reader accepts RFC 8259 and nothing else: UTF-8 checked, depth at most
** JSON_DEPTH, no key twice in an object at any level, no NUL in strings, at most
** 'limit' values.  It works on a private copy of the text and needs 32 bytes a value.
** Nodes lie in document order: a container's first child is the node after it.
*/
#ifndef STRATA_JSON_H
#define STRATA_JSON_H

#include "error.h"
#include "file_limits.h"

typedef enum JsonType {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} JsonType;

typedef struct JsonNode {
    JsonType type;
    uint32_t count;   /* children of an array or object */
    uint32_t next;    /* index of the node after this one and all in it */
    uint32_t in;      /* index of the container; the root's is 0 */
    const char *key;  /* in an object: NUL-terminated, else NULL */
    const char *text; /* string: decoded, NUL-terminated; number: as written */
} JsonNode;

typedef struct Json {
    char *text;     /* the private copy; keys and strings point into it */
    JsonNode *node; /* node[0] is the root */
    uint32_t count, room;
} Json;

/* "a string", "true": what a value is, in messages. */
const char *json_kind(const JsonNode *n);

/* Reads 'length' bytes.  'file' is for messages: "FILE:byte N: expected …, found …". */
int json_parse(Json *j, const char *file, const char *text, size_t length, uint32_t limit,
               Error *e);
void json_free(Json *j);

/* for (n = json_first(j, box); n; n = json_next(j, n)) … */
const JsonNode *json_first(const Json *j, const JsonNode *box);
const JsonNode *json_next(const Json *j, const JsonNode *n);
/* NULL: none; linear */
const JsonNode *json_member(const Json *j, const JsonNode *object, const char *key);
/* Where a value is, "a.b[2].c", "" of the root; what 'to' has no room for is left out. */
char *json_place(const Json *j, const JsonNode *n, char *to, size_t size);
/* an integer written without fraction or exponent */
bool json_int64(const JsonNode *n, int64_t *out);
bool json_double(const JsonNode *n, double *out);

/*
** The writer: a text that grows.  A failed allocation is remembered and told by
** text_status, so callers add without checking.  Start from {0}.
*/
typedef struct Text {
    char *at; /* NUL-terminated once something was added */
    size_t length, room;
    bool failed;
} Text;

/* C locale */
void text_add(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_bytes(Text *t, const char *bytes, size_t length);
/* quoted and escaped; invalid UTF-8 becomes U+FFFD */
void text_json_string(Text *t, const char *s);
void text_json_number(Text *t, double value); /* shortest; null where not finite */
void text_clear(Text *t);                     /* length 0, keeps the memory */
void text_free(Text *t);
int text_status(const Text *t, Error *e);

#endif
