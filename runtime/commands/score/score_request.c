/* SPDX-License-Identifier: MIT
** Lines of a file to tokens to score; see score.h. */
#include <stdlib.h>
#include <string.h>

#include "score.h"

void score_request_free(ScoreRequest *q) {
    for (int32_t i = 0; i < q->spans; i++)
        free(q->span[i].ids);
    free(q->span);
    *q = (ScoreRequest){ 0 };
}

/* == Texts to tokens ====================================================== */

/* Ids of one text, with room for one more in front of them. */
typedef struct Encoded {
    int32_t *at; /* [1 + count] */
    int64_t count;
    size_t first; /* bytes that the first id stands for */
} Encoded;

/* The token that begins texts is in front, unless the text has it, as lm-eval 0.4.13 does. */
static int encode(const ScoreReader *r, bool template, const char *text, size_t length,
                  Encoded *out, Error *e) {
    TokenIds ids = { .width = 4, .grows = true, .open = true };
    ids.template = template && !tokenizer_spells_begin(r->tokenizer, text, length);
    *out = (Encoded){ 0 };
    int status = token_ids_encode(&ids, r->tokenizer, r->lines.place, text, length, e);
    int32_t *more = status ? NULL : realloc(ids.at, ((size_t)ids.count + 1) * sizeof *more);
    if (!more) {
        free(ids.at);
        return status ? status : error_memory(e, r->lines.place, (size_t)ids.count * sizeof *more);
    }
    memmove(more + 1, more, (size_t)ids.count * sizeof *more);
    *out = (Encoded){ more, ids.count, ids.first };
    return STATUS_OK;
}

/* == Requests ============================================================= */

static int wrong(const ScoreReader *r, const char *what, Error *e) {
    return error_set(e, STATUS_USER, "%s: expected %s", r->lines.place, what);
}

#define TEXTS "'continuation' to be a text or a list of texts"

static int wrong_member(const ScoreReader *r, const char *what, const JsonNode *found, Error *e) {
    return error_set(e, STATUS_USER, "%s: expected %s, found %s", r->lines.place, what,
                     json_kind(found));
}

static int whole_text(ScoreReader *r, const char *text, ScoreSpan *out, Error *e) {
    Encoded ids;
    size_t length = strlen(text);
    int status = encode(r, true, text, length, &ids, e);
    bool prefixed = r->prefix >= 0;
    if (!status && ids.count + prefixed < 2)
        status = wrong(r,
                       ids.count ? "a text of at least two tokens, or --prefix, found one token"
                                 : "a text, found an empty one",
                       e);
    if (status) {
        free(ids.at);
        return status;
    }
    if (prefixed) ids.at[0] = r->prefix;
    else memmove(ids.at, ids.at + 1, (size_t)ids.count * sizeof *ids.at);
    *out = (ScoreSpan){ .ids = ids.at,
                        .context = 1,
                        .count = ids.count - !prefixed,
                        .bytes = (int64_t)(length - (prefixed ? 0 : ids.first)) };
    return STATUS_OK;
}

/* What is too long loses its first tokens; the last token is predicted only, it needs no room. */
static int fit(const ScoreReader *r, ScoreSpan *x, Error *e) {
    int64_t most = r->p->m->context, over = x->context + x->count - 1 - most;
    if (x->count > most)
        return error_set(e, STATUS_USER,
                         "%s: expected a continuation of at most the context, %lld tokens, found "
                         "%lld",
                         r->lines.place, (long long)most, (long long)x->count);
    if (over <= 0) return STATUS_OK;
    x->dropped = over;
    x->context -= over;
    memmove(x->ids, x->ids + over, (size_t)(x->context + x->count) * sizeof *x->ids);
    return STATUS_OK;
}

/* Tokens of the context alone in front of those that the whole has more. */
static int join(const ScoreReader *r, const Encoded *context, const Encoded *whole, ScoreSpan *x,
                Error *e) {
    int64_t count = whole->count - context->count, before = context->count;
    if (!before && r->prefix < 0)
        return wrong(r, "a context of at least one token, or --prefix, found none", e);
    if (count < 1) return wrong(r, "a continuation of at least one token, found none", e);
    x->context = before ? before : 1;
    x->count = count;
    x->ids = malloc((size_t)(x->context + count) * sizeof *x->ids);
    if (!x->ids) return error_memory(e, r->lines.place, (size_t)whole->count * sizeof *x->ids);
    if (before) memcpy(x->ids, context->at + 1, (size_t)before * sizeof *x->ids);
    else x->ids[0] = r->prefix;
    memcpy(x->ids + x->context, whole->at + 1 + before, (size_t)count * sizeof *x->ids);
    return fit(r, x, e);
}

/* 'context' is without the blanks that end it, the first 'length' bytes of 'text'. */
static int continuation(ScoreReader *r, const char *text, const char *more, const Encoded *context,
                        ScoreSpan *x, Error *e) {
    size_t before = strlen(text), after = strlen(more);
    char *both = malloc(before + after + 1);
    if (!both) return error_memory(e, r->lines.place, before + after + 1);
    memcpy(both, text, before);
    memcpy(both + before, more, after + 1);
    Encoded whole;
    bool template = *text || r->prefix < 0; /* --prefix is in the place of an empty context */
    int status = encode(r, template, both, before + after, &whole, e);
    *x = (ScoreSpan){ .bytes = (int64_t)after };
    if (!status) status = join(r, context, &whole, x, e);
    if (x->context + x->count - 1 > r->longest) r->longest = x->context + x->count - 1;
    free(whole.at);
    free(both);
    return status;
}

static size_t without_blanks(const char *text) {
    size_t n = strlen(text);
    while (n && strchr(" \t\n\v\f\r", text[n - 1]))
        n--;
    return n;
}

static int continuations(ScoreReader *r, const JsonNode *context, const JsonNode *more,
                         ScoreRequest *q, Error *e) {
    const Json *j = &r->json;
    Encoded ids;
    bool template = *context->text || r->prefix < 0;
    int status = encode(r, template, context->text, without_blanks(context->text), &ids, e);
    const JsonNode *one = more->type == JSON_STRING ? more : json_first(j, more);
    for (int32_t i = 0; i < q->spans && !status; i++, one = json_next(j, one))
        status = one->type != JSON_STRING
            ? wrong_member(r, TEXTS, one, e)
            : continuation(r, context->text, one->text, &ids, &q->span[i], e);
    free(ids.at);
    return status;
}

/* == Lines ================================================================ */

typedef struct Members {
    const JsonNode *text, *context, *continuation;
} Members;

/* Which of them there are, where they do not go together. */
static int wrong_members(const ScoreReader *r, const Members *m, Error *e) {
    const char *name[] = { m->text ? "'text'" : "", m->context ? "'context'" : "",
                           m->continuation ? "'continuation'" : "" };
    char found[64] = "";
    for (int i = 0; i < 3; i++)
        if (*name[i])
            print_text(found + strlen(found), sizeof found - strlen(found), "%s%s",
                       *found ? " and " : "", name[i]);
    return error_set(e, STATUS_USER,
                     "%s: expected either 'text', or 'context' and 'continuation', found %s",
                     r->lines.place, *found ? found : "none of them");
}

static int find_members(const ScoreReader *r, Members *m, Error *e) {
    const JsonNode *line = r->json.node;
    if (line->type != JSON_OBJECT)
        return wrong_member(r, "an object with 'text', or with 'context' and 'continuation'", line,
                            e);
    *m = (Members){ json_member(&r->json, line, "text"), json_member(&r->json, line, "context"),
                    json_member(&r->json, line, "continuation") };
    if (m->text ? m->context || m->continuation : !m->context || !m->continuation)
        return wrong_members(r, m, e);
    if (m->text && m->text->type != JSON_STRING)
        return wrong_member(r, "'text' to be a text", m->text, e);
    if (m->text) return STATUS_OK;
    if (m->context->type != JSON_STRING)
        return wrong_member(r, "'context' to be a text", m->context, e);
    if (m->continuation->type == JSON_ARRAY && !m->continuation->count)
        return wrong(r, TEXTS ", found an empty list", e);
    if (m->continuation->type != JSON_ARRAY && m->continuation->type != JSON_STRING)
        return wrong_member(r, TEXTS, m->continuation, e);
    return STATUS_OK;
}

int score_next(ScoreReader *r, ScoreRequest *q, bool *more, Error *e) {
    Members m = { 0 };
    *q = (ScoreRequest){ 0 };
    int status = jsonl_next(&r->lines, &r->json, more, e);
    if (status || !*more) return status;
    status = find_members(r, &m, e);
    if (status) return status;
    bool list = !m.text && m.continuation->type == JSON_ARRAY;
    q->line = r->lines.line;
    q->kind = m.text ? SCORE_TEXT : list ? SCORE_LIST : SCORE_ONE;
    q->spans = list ? (int32_t)m.continuation->count : 1;
    q->span = calloc((size_t)q->spans, sizeof *q->span);
    if (!q->span) return error_memory(e, r->lines.place, (size_t)q->spans * sizeof *q->span);
    status = m.text ? whole_text(r, m.text->text, q->span, e)
                    : continuations(r, m.context, m.continuation, q, e);
    if (status) score_request_free(q);
    return status;
}
