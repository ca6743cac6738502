/* SPDX-License-Identifier: MIT
** Turns lines of a file into tokens to score; see score.h. */
#include <stdlib.h>
#include <string.h>

#include "characters.h"
#include "score.h"
#include "utf8.h"

void score_request_free(ScoreRequest *q) {
    for (int32_t i = 0; i < q->spans; i++)
        free(q->span[i].ids);
    free(q->span);
    *q = (ScoreRequest){ 0 };
}

/* == Texts to tokens ====================================================== */

void score_why(const ScoreReader *r, const ScoreSpan *x, char to[128]) {
    static const char *const why[] = {
        [SCORE_DONE] = "",
        [SCORE_JOINED] = "the context's last token takes in the continuation's beginning",
        [SCORE_EMPTY] = "the continuation is empty",
        [SCORE_BARE] = "the context is empty, and there is no token for its place (--prefix)",
        [SCORE_NO_TEXT] = "the text is empty",
        [SCORE_ONE_TOKEN] = "the text is one token, and there is none before it (--prefix)",
    };
    if (x->why == SCORE_LONG)
        print_text(to, 128, "the continuation has %lld tokens, more than the context, %lld",
                   (long long)x->found, (long long)r->p->m->context);
    else print_text(to, 128, "%s", why[x->why]);
}

/* Ids of one text, with room for one more in front of them. */
typedef struct Encoded {
    int32_t *at; /* [1 + count] */
    int64_t count, unknown;
    size_t first; /* bytes that the first id stands for */
} Encoded;

/* The token that begins texts is in front, unless the text has it, as lm-eval 0.4.13 does. */
static int request_encode(const ScoreReader *r, bool template, const char *text, size_t length,
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
    *out = (Encoded){ more, ids.count, ids.unknown, ids.first };
    return STATUS_OK;
}

/* == Requests ============================================================= */

static int request_wrong(const ScoreReader *r, const char *what, Error *e) {
    return error_set(e, STATUS_USER, "%s: expected %s", r->lines.place, what);
}

#define TEXTS "'continuation' to be a text or a list of texts"

static int wrong_member(const ScoreReader *r, const char *what, const JsonNode *found, Error *e) {
    return error_set(e, STATUS_USER, "%s: expected %s, found %s", r->lines.place, what,
                     json_kind(found));
}

/* Frees the ids of what is not scored. */
static int not_scored(ScoreSpan *x, ScoreWhy why, int32_t *ids) {
    free(ids);
    *x = (ScoreSpan){ .why = why, .found = x->count };
    return STATUS_OK;
}

/* 'more' has what 'before' has, which was counted. */
static void count_ids(ScoreReader *r, const Encoded *before, const Encoded *more) {
    r->encoded += more->count - (before ? before->count : 0);
    r->unknown += more->unknown - (before ? before->unknown : 0);
}

static int whole_text(ScoreReader *r, const char *text, ScoreSpan *out, Error *e) {
    Encoded ids;
    size_t length = strlen(text);
    int status = request_encode(r, true, text, length, &ids, e);
    bool prefixed = r->prefix >= 0;
    if (status) return status;
    count_ids(r, NULL, &ids);
    if (ids.count + prefixed < 2)
        return not_scored(out, ids.count ? SCORE_ONE_TOKEN : SCORE_NO_TEXT, ids.at);
    if (!ids.count) return not_scored(out, SCORE_NO_TEXT, ids.at);
    if (prefixed) ids.at[0] = r->prefix;
    else memmove(ids.at, ids.at + 1, (size_t)ids.count * sizeof *ids.at);
    *out = (ScoreSpan){ .ids = ids.at,
                        .context = 1,
                        .count = ids.count - !prefixed,
                        .bytes = (int64_t)(length - (prefixed ? 0 : ids.first)) };
    return STATUS_OK;
}

/* What is too long loses its first tokens; the last token is predicted only, it needs no room. */
static int fit(const ScoreReader *r, ScoreSpan *x) {
    int64_t most = r->p->m->context, over = x->context + x->count - 1 - most;
    if (x->count > most) return not_scored(x, SCORE_LONG, x->ids);
    if (over <= 0) return STATUS_OK;
    x->dropped = over;
    x->context -= over;
    memmove(x->ids, x->ids + over, (size_t)(x->context + x->count) * sizeof *x->ids);
    return STATUS_OK;
}

/* Tokens of the context alone in front of those that the whole has more.  An empty context is the
** prefix, once: a continuation that begins with it has it. */
static int request_join(const ScoreReader *r, const Encoded *context, const Encoded *whole,
                        ScoreSpan *x, Error *e) {
    int64_t before = context->count;
    bool own = !before && whole->count && whole->at[1] == r->prefix;
    int64_t skipped = own ? 1 : before, count = whole->count - skipped;
    if (!x->bytes || (own && !count)) return not_scored(x, SCORE_EMPTY, NULL);
    if (count < 1) return not_scored(x, SCORE_JOINED, NULL);
    if (!before && r->prefix < 0) return not_scored(x, SCORE_BARE, NULL);
    x->context = before ? before : 1;
    x->count = count;
    x->ids = malloc((size_t)(x->context + count) * sizeof *x->ids);
    if (!x->ids) return error_memory(e, r->lines.place, (size_t)whole->count * sizeof *x->ids);
    if (before) memcpy(x->ids, context->at + 1, (size_t)before * sizeof *x->ids);
    else x->ids[0] = r->prefix;
    memcpy(x->ids + x->context, whole->at + 1 + skipped, (size_t)count * sizeof *x->ids);
    return fit(r, x);
}

/* 'context' is the first 'blank' bytes of 'text', behind which there are blanks only. */
static int continuation(ScoreReader *r, const char *text, size_t blank, const char *more,
                        const Encoded *context, ScoreSpan *x, Error *e) {
    size_t before = strlen(text), after = strlen(more);
    char *both = malloc(before + after + 1);
    if (!both) return error_memory(e, r->lines.place, before + after + 1);
    memcpy(both, text, before);
    memcpy(both + before, more, after + 1);
    Encoded whole;
    bool template = *text || r->prefix < 0; /* the prefix is in the place of an empty context */
    int status = request_encode(r, template, both, before + after, &whole, e);
    /* bytes: of what is moved, too; the user's own are counted */
    *x = (ScoreSpan){ .bytes = (int64_t)(before - blank + after) };
    count_ids(r, context, &whole);
    if (!status) status = request_join(r, context, &whole, x, e);
    if (!x->why) x->bytes = (int64_t)after;
    if (x->context + x->count - 1 > r->longest) r->longest = x->context + x->count - 1;
    free(whole.at);
    free(both);
    return status;
}

/* Bytes before the blanks that end a text, which are those of Python's str.isspace: Unicode's white
** space and the four separators of ASCII. */
static size_t without_blanks(const char *text) {
    size_t n = strlen(text);
    while (n) {
        size_t at = n - 1;
        int32_t point;
        while (at && ((unsigned char)text[at] & 0xc0) == 0x80)
            at--;
        if ((size_t)utf8_next(text + at, n - at, &point) != n - at) break;
        if (!character_space(point) && (point < 0x1c || point > 0x1f)) break;
        n = at;
    }
    return n;
}

static int continuations(ScoreReader *r, const JsonNode *context, const JsonNode *more,
                         ScoreRequest *q, Error *e) {
    const Json *j = &r->json;
    Encoded ids;
    size_t blank = without_blanks(context->text);
    bool template = *context->text || r->prefix < 0;
    int status = request_encode(r, template, context->text, blank, &ids, e);
    count_ids(r, NULL, &ids);
    const JsonNode *one = more->type == JSON_STRING ? more : json_first(j, more);
    for (int32_t i = 0; i < q->spans && !status; i++, one = json_next(j, one))
        status = one->type != JSON_STRING
            ? wrong_member(r, TEXTS, one, e)
            : continuation(r, context->text, blank, one->text, &ids, &q->span[i], e);
    free(ids.at);
    return status;
}

int32_t score_default_prefix(const Tokenizer *t) {
    return t->facts.begin >= 0 ? t->facts.begin : t->end;
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
        return request_wrong(r, TEXTS ", found an empty list", e);
    if (m->continuation->type != JSON_ARRAY && m->continuation->type != JSON_STRING)
        return wrong_member(r, TEXTS, m->continuation, e);
    return STATUS_OK;
}

int score_next(ScoreReader *r, ScoreRequest *q, bool *more, Error *e) {
    Members m = { 0 };
    *q = (ScoreRequest){ 0 };
    int status = jsonl_next(&r->lines, &r->json, more, e);
    if (!status && !*more) return STATUS_OK;
    if (!status) status = find_members(r, &m, e);
    if (status == STATUS_USER)
        error_line(e,
                   "a line is {\"context\": TEXT, \"continuation\": TEXT} or {\"text\": TEXT} "
                   "(docs/scoring.md)");
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
