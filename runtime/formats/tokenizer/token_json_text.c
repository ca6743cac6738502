/* SPDX-License-Identifier: MIT
** tokenizer.json: normalizers and pre-tokenizers, the parts that text goes through first. */
#include "token_json.h"

#include <stdlib.h>
#include <string.h>

#include "scanner.h"

static int text_copy(const TokenJson *r, char **to, const char *text) {
    *to = strdup(text);
    return *to ? STATUS_OK : error_memory(r->e, r->what, strlen(text) + 1);
}

/* == Normalizers ========================================================== */

static int read_prepend(TokenJson *r, const JsonNode *part, NormalizeStep *s) {
    const char *text;
    int status = token_json_only(r, part, "type prepend");
    if (!status) status = token_json_string(r, part, "prepend", TOKEN_JSON_STRING, &text);
    if (!status && !text) status = token_json_lacks(r, part, "prepend", "a string");
    s->kind = NORMALIZE_PREPEND;
    return status ? status : text_copy(r, &s->with, text);
}

static int read_replace(TokenJson *r, const JsonNode *part, NormalizeStep *s) {
    const char *string, *regex, *with;
    int status = token_json_only(r, part, "type pattern content");
    if (!status) status = token_json_pattern(r, part, &string, &regex);
    if (!status) status = token_json_string(r, part, "content", TOKEN_JSON_STRING, &with);
    if (!status && !with) status = token_json_lacks(r, part, "content", "a string");
    s->kind = NORMALIZE_REPLACE;
    if (!status) status = text_copy(r, &s->with, with);
    if (!status && string) status = text_copy(r, &s->from, string);
    if (!status && regex) status = token_json_regex(r, part, regex, &s->pattern);
    return status;
}

static int read_strip(TokenJson *r, const JsonNode *part, NormalizeStep *s) {
    s->kind = NORMALIZE_STRIP;
    s->left = s->right = true;
    int status = token_json_only(r, part, "type strip_left strip_right");
    if (!status) status = token_json_bool(r, part, "strip_left", &s->left);
    return status ? status : token_json_bool(r, part, "strip_right", &s->right);
}

static int read_sequence(TokenJson *r, const JsonNode *part, const char *key,
                         int (*one)(TokenJson *r, const JsonNode *part)) {
    const JsonNode *list;
    int status = token_json_list(r, part, key, &list);
    const JsonNode *c = status ? NULL : json_first(r->j, list);
    for (; c && !status; c = json_next(r->j, c))
        status = one(r, c);
    return status;
}

int token_json_normalizer(TokenJson *r, const JsonNode *part) {
    static const struct {
        const char *type;
        NormalizeKind kind;
    } plain[] = { { "NFC", NORMALIZE_NFC },
                  { "NFD", NORMALIZE_NFD },
                  { "NFKC", NORMALIZE_NFKC },
                  { "NFKD", NORMALIZE_NFKD },
                  { "Lowercase", NORMALIZE_LOWERCASE } };
    Normalizer *x = &r->f->normalizer;
    if (!part || part->type == JSON_NULL) return STATUS_OK;
    if (token_json_is(r, part, "Sequence"))
        return read_sequence(r, part, "normalizers", token_json_normalizer);
    if (x->count == NORMALIZE_STEPS)
        return error_set(r->e, STATUS_LIMIT, "%s:normalizer: expected at most %d, found more",
                         r->what, NORMALIZE_STEPS);
    NormalizeStep *s = &x->step[x->count++];
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (token_json_is(r, part, plain[i].type)) {
            s->kind = plain[i].kind;
            return token_json_only(r, part, "type");
        }
    if (token_json_is(r, part, "Prepend")) return read_prepend(r, part, s);
    if (token_json_is(r, part, "Replace")) return read_replace(r, part, s);
    if (token_json_is(r, part, "Strip")) return read_strip(r, part, s);
    s->kind = NORMALIZE_PRECOMPILED;
    if (token_json_is(r, part, "Precompiled")) return token_json_precompiled(r, part, &s->map);
    x->count--;
    return token_json_unknown(r, part);
}

/* == Pre-tokenizers ======================================================= */

static int new_step(TokenJson *r, SplitKind kind, SplitBehavior behavior, SplitStep **out) {
    Splitter *x = &r->f->splitter;
    *out = NULL;
    if (x->count == SPLIT_STEPS)
        return error_set(r->e, STATUS_LIMIT, "%s:pre_tokenizer: expected at most %d, found more",
                         r->what, SPLIT_STEPS);
    *out = &x->step[x->count++];
    **out = (SplitStep){ .kind = kind, .behavior = behavior };
    return STATUS_OK;
}

static int read_behavior(TokenJson *r, const JsonNode *part, SplitBehavior *out) {
    static const char *const name[] = { "Removed", "Isolated", "Contiguous", "MergedWithPrevious",
                                        "MergedWithNext" };
    const char *text;
    int status = token_json_string(r, part, "behavior", TOKEN_JSON_STRING, &text);
    if (status || !text) return status;
    for (int i = 0; i < 5; i++)
        if (!strcmp(text, name[i])) {
            *out = (SplitBehavior)i;
            return STATUS_OK;
        }
    return token_json_lacks(r, part, "behavior", "that of a split");
}

/* A regular expression: by a scanner where there is one for it and its parts are all. */
static int set_regex(TokenJson *r, const JsonNode *part, SplitStep *s, const char *regex) {
    s->scanner = scanner_find(regex);
    bool all = s->behavior == SPLIT_ISOLATED || (s->behavior == SPLIT_REMOVED && s->invert);
    if (s->scanner >= 0 && all) {
        s->kind = SPLIT_SCANNED;
        return STATUS_OK;
    }
    s->kind = SPLIT_PATTERN;
    return token_json_regex(r, part, regex, &s->pattern);
}

static int read_split(TokenJson *r, const JsonNode *part) {
    const char *string, *regex;
    SplitStep *s;
    int status = token_json_only(r, part, "type pattern behavior invert");
    if (!status) status = new_step(r, SPLIT_TEXT, SPLIT_ISOLATED, &s);
    if (!status) status = token_json_pattern(r, part, &string, &regex);
    if (!status) status = read_behavior(r, part, &s->behavior);
    if (!status) status = token_json_bool(r, part, "invert", &s->invert);
    if (status) return status;
    return string ? text_copy(r, &s->text, string) : set_regex(r, part, s, regex);
}

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

static int read_byte_level(TokenJson *r, const JsonNode *part) {
    bool space = true, regex = true, trim;
    SplitStep *s;
    int status = token_json_only(r, part, "type add_prefix_space trim_offsets use_regex");
    if (!status) status = token_json_bool(r, part, "add_prefix_space", &space);
    if (!status) status = token_json_bool(r, part, "use_regex", &regex);
    if (!status) status = token_json_bool(r, part, "trim_offsets", &trim);
    if (!status && space) status = new_step(r, SPLIT_SPACE_FIRST, SPLIT_ISOLATED, &s);
    if (!status && regex) {
        status = new_step(r, SPLIT_SCANNED, SPLIT_ISOLATED, &s);
        if (!status) status = set_regex(r, part, s, GPT2);
    }
    r->f->bytes = true;
    return status;
}

int token_json_prepend(const TokenJson *r, const JsonNode *part, SplitPrepend *out) {
    const char *scheme;
    bool old = true;
    *out = SPLIT_ALWAYS;
    int status = token_json_string(r, part, "prepend_scheme", TOKEN_JSON_STRING, &scheme);
    if (!status) status = token_json_bool(r, part, "add_prefix_space", &old);
    if (status) return status;
    if (scheme && !strcmp(scheme, "first")) *out = SPLIT_FIRST;
    else if (scheme && !strcmp(scheme, "never")) *out = SPLIT_NEVER;
    else if (scheme && strcmp(scheme, "always") != 0)
        return token_json_lacks(r, part, "prepend_scheme", "always, first or never");
    if (old || *out == SPLIT_NEVER) return STATUS_OK;
    if (scheme) return token_json_lacks(r, part, "add_prefix_space", "what prepend_scheme says");
    *out = SPLIT_NEVER;
    return STATUS_OK;
}

static int read_metaspace(TokenJson *r, const JsonNode *part) {
    const char *mark;
    SplitStep *s;
    int status = token_json_only(r, part,
                                 "type replacement str_rep add_prefix_space prepend_scheme split");
    if (!status) status = new_step(r, SPLIT_METASPACE, SPLIT_NEXT, &s);
    if (!status) status = token_json_character(r, part, "replacement", &mark);
    if (!status) status = token_json_prepend(r, part, &s->prepend);
    if (status) return status;
    s->splits = true;
    status = token_json_bool(r, part, "split", &s->splits);
    return status ? status : text_copy(r, &s->text, mark ? mark : MARK);
}

static int read_characters(TokenJson *r, const JsonNode *part) {
    bool individual = false;
    SplitStep *s;
    int status = new_step(r, SPLIT_NUMBERS, SPLIT_CONTIGUOUS, &s);
    if (status) return status;
    if (token_json_is(r, part, "Digits")) {
        status = token_json_only(r, part, "type individual_digits");
        if (!status) status = token_json_bool(r, part, "individual_digits", &individual);
        if (individual) s->behavior = SPLIT_ISOLATED;
    } else if (token_json_is(r, part, "Punctuation")) {
        *s = (SplitStep){ .kind = SPLIT_PUNCTUATION, .behavior = SPLIT_ISOLATED };
        status = token_json_only(r, part, "type behavior");
        if (!status) status = read_behavior(r, part, &s->behavior);
    } else {
        bool words = token_json_is(r, part, "Whitespace");
        *s = (SplitStep){ .kind = words ? SPLIT_WORDS : SPLIT_SPACES,
                          .behavior = SPLIT_REMOVED,
                          .invert = words };
        status = token_json_only(r, part, "type");
    }
    return status;
}

static int read_delimiter(TokenJson *r, const JsonNode *part) {
    const char *text;
    SplitStep *s;
    int status = token_json_only(r, part, "type delimiter");
    if (!status) status = new_step(r, SPLIT_TEXT, SPLIT_REMOVED, &s);
    if (!status) status = token_json_character(r, part, "delimiter", &text);
    if (!status && !text) status = token_json_lacks(r, part, "delimiter", "one character");
    return status ? status : text_copy(r, &s->text, text);
}

int token_json_splitter(TokenJson *r, const JsonNode *part) {
    if (!part || part->type == JSON_NULL) return STATUS_OK;
    if (token_json_is(r, part, "Sequence"))
        return read_sequence(r, part, "pretokenizers", token_json_splitter);
    if (r->f->bytes) return token_json_lacks(r, part, "type", "nothing behind ByteLevel");
    if (token_json_is(r, part, "ByteLevel")) return read_byte_level(r, part);
    if (token_json_is(r, part, "Split")) return read_split(r, part);
    if (token_json_is(r, part, "Metaspace")) return read_metaspace(r, part);
    if (token_json_is(r, part, "CharDelimiterSplit")) return read_delimiter(r, part);
    if (token_json_is(r, part, "Digits") || token_json_is(r, part, "Punctuation")
        || token_json_is(r, part, "Whitespace") || token_json_is(r, part, "WhitespaceSplit"))
        return read_characters(r, part);
    return token_json_unknown(r, part);
}
