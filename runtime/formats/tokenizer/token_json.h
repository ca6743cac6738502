/* SPDX-License-Identifier: MIT
** Shared by the files that read tokenizer.json.
*/
#ifndef STRATA_TOKEN_JSON_H
#define STRATA_TOKEN_JSON_H

#include "file_tables.h"
#include "text_reader.h"

typedef struct TokenJson {
    Tokenizer *t;
    TokenFile *f;
    const Json *j;
    const char *what;
    TextReader text;    /* the object of text_facts.h */
    Vocabulary renamed; /* added tokens of which normalization leaves another text */
    Error *e;
} TokenJson;

/* "FILE:a.b[2]: expected EXPECTED, found …", of a value. */
int token_json_wrong(const TokenJson *r, const JsonNode *n, const char *expected);
/* The same, with other words for what was found. */
int token_json_found(const TokenJson *r, const JsonNode *n, const char *expected,
                     const char *found);
/* The same of a member, which may be absent, as may be the object. */
int token_json_lacks(const TokenJson *r, const JsonNode *object, const char *key,
                     const char *expected);
/* A value of more bytes than it may have. */
int token_json_beyond(const TokenJson *r, const JsonNode *n, size_t most, size_t found);
/* A type that this version does not do. */
int token_json_unknown(const TokenJson *r, const JsonNode *object);
/* Does the object have this member with this text? */
bool token_json_has(const TokenJson *r, const JsonNode *object, const char *key, const char *text);
/* Does the object have this "type"? */
bool token_json_is(const TokenJson *r, const JsonNode *object, const char *type);
/* An error if it has members that are not among 'known', words with blanks between. */
int token_json_only(const TokenJson *r, const JsonNode *object, const char *known);
/* A member that is true or false; absent or null: *out stays. */
int token_json_bool(const TokenJson *r, const JsonNode *object, const char *key, bool *out);
/* A string of at most 'most' bytes; absent or null: NULL. */
int token_json_string(const TokenJson *r, const JsonNode *object, const char *key, size_t most,
                      const char **out);
/* A string of one character; likewise. */
int token_json_character(const TokenJson *r, const JsonNode *object, const char *key,
                         const char **out);
/* The members of an object's list; an error if it has none. */
int token_json_list(const TokenJson *r, const JsonNode *object, const char *key,
                    const JsonNode **out);
/* A pattern, {"String": …} or {"Regex": …}. */
int token_json_pattern(const TokenJson *r, const JsonNode *object, const char **string,
                       const char **regex);
/* Compiles the regular expression that it was. */
int token_json_regex(const TokenJson *r, const JsonNode *object, const char *regex, Pattern *out);

/* Where a Metaspace, of a pre-tokenizer or a decoder, puts a mark in front. */
int token_json_prepend(const TokenJson *r, const JsonNode *part, SplitPrepend *out);

/* token_json_text.c, token_json_ids.c; the part may be NULL or null */
int token_json_normalizer(TokenJson *r, const JsonNode *part);
int token_json_splitter(TokenJson *r, const JsonNode *part);
int token_json_template(TokenJson *r, const JsonNode *part);
/* token_json_unigram.c */
int token_json_unigram(TokenJson *r, const JsonNode *model, const JsonNode *added);
int token_json_precompiled(const TokenJson *r, const JsonNode *part, Charsmap *map);
/* token_json_id.c: the id that n is, and that an added token has. */
int token_json_id(const TokenJson *r, const JsonNode *n, int32_t *out);
int token_json_added_id(const TokenJson *r, const JsonNode *token, int32_t *out);
/* *count becomes one more than the largest id of the added tokens, if that is more. */
int token_json_added_ids(const TokenJson *r, const JsonNode *added, int32_t *count);
/* Once all pieces are there: what they are in decoded text. */
int token_json_decoder(TokenJson *r, const JsonNode *part);
/* The bytes that a byte-level file spells; false: some characters stand for none. */
bool token_json_bytes(Text *out, const char *spelled);

enum { TOKEN_JSON_STRING = 256 };

#endif
