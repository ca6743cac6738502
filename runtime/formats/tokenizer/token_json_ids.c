/* SPDX-License-Identifier: MIT
** tokenizer.json: post-processors and decoders, the parts that deal with ids. */
#include "token_json.h"

#include <stdlib.h>
#include <string.h>

/* == Post-processors ====================================================== */

enum { AROUND_MOST = 4096 };

static int add_around(TokenJson *r, const JsonNode *token, int32_t **list, int *count) {
    const JsonNode *ids;
    int status = token_json_list(r, token, "ids", &ids);
    if (status) return status;
    if (ids->count > AROUND_MOST || *count + (int)ids->count > AROUND_MOST)
        return error_set(r->e, STATUS_LIMIT,
                         "%s:post_processor: expected at most %d ids around a text, found more",
                         r->what, AROUND_MOST);
    int32_t *bigger = realloc(*list, ((size_t)*count + ids->count + 1) * sizeof *bigger);
    if (!bigger) return error_memory(r->e, r->what, ids->count * sizeof *bigger);
    *list = bigger;
    for (const JsonNode *c = json_first(r->j, ids); c; c = json_next(r->j, c)) {
        int64_t id;
        if (!json_int64(c, &id) || id < 0 || id >= r->f->pieces.ids
            || !vocabulary_has(&r->f->pieces, (int32_t)id))
            return token_json_wrong(r, c, "ids of the vocabulary");
        bigger[(*count)++] = (int32_t)id;
    }
    return STATUS_OK;
}

static int read_special(TokenJson *r, const JsonNode *special, const JsonNode *specials,
                        bool behind) {
    const JsonNode *name = json_member(r->j, special, "id"),
                   *token = name && name->type == JSON_STRING && specials
        ? json_member(r->j, specials, name->text)
        : NULL;
    if (!token) return token_json_lacks(r, special, "id", "a name of special_tokens");
    return behind ? add_around(r, token, &r->f->after, &r->f->after_count)
                  : add_around(r, token, &r->f->before, &r->f->before_count);
}

static int read_template(TokenJson *r, const JsonNode *part) {
    const JsonNode *single, *specials = json_member(r->j, part, "special_tokens");
    bool behind = false;
    if (r->f->before || r->f->after) return token_json_wrong(r, part, "one template");
    int status = token_json_list(r, part, "single", &single);
    if (!status && specials && specials->type != JSON_OBJECT)
        status = token_json_wrong(r, specials, "an object");
    const JsonNode *c = status ? NULL : json_first(r->j, single);
    for (; c && !status; c = json_next(r->j, c)) {
        const JsonNode *special = json_member(r->j, c, "SpecialToken"),
                       *text = json_member(r->j, c, "Sequence");
        if (special) status = read_special(r, special, specials, behind);
        else if (text && !token_json_has(r, text, "id", "A"))
            status = token_json_lacks(r, text, "id", "A");
        else if (text && !behind) behind = true;
        else return token_json_wrong(r, c, "a template of one text");
    }
    if (!status && !behind) status = token_json_wrong(r, single, "a template with a text");
    return status;
}

int token_json_template(TokenJson *r, const JsonNode *part) {
    const JsonNode *list;
    if (!part || part->type == JSON_NULL || token_json_is(r, part, "ByteLevel")) return STATUS_OK;
    if (token_json_is(r, part, "TemplateProcessing")) return read_template(r, part);
    if (!token_json_is(r, part, "Sequence")) return token_json_unknown(r, part);
    int status = token_json_list(r, part, "processors", &list);
    const JsonNode *c = status ? NULL : json_first(r->j, list);
    for (; c && !status; c = json_next(r->j, c))
        status = token_json_template(r, c);
    return status;
}

/* == Decoders ============================================================= */

enum { DECODE_STEPS = 16 };

typedef struct DecodeStep {
    const char *from, *with; /* from NULL: bytes' pieces become bytes */
} DecodeStep;

typedef struct DecodePlan {
    DecodeStep step[DECODE_STEPS];
    int count;
    const char *mark; /* of a Metaspace, whose first piece has none */
    bool bytes, fused, any;
} DecodePlan;

static int plan_step(TokenJson *r, const JsonNode *part, DecodePlan *p, const char *from,
                     const char *with) {
    if (p->count == DECODE_STEPS || p->fused || p->bytes)
        return token_json_lacks(r, part, "type",
                                p->bytes       ? "nothing behind ByteLevel"
                                    : p->fused ? "Strip or nothing behind Fuse"
                                               : "at most 16 steps");
    p->step[p->count++] = (DecodeStep){ from, with };
    return STATUS_OK;
}

static int plan_replace(TokenJson *r, const JsonNode *part, DecodePlan *p) {
    const char *string, *regex, *with;
    int status = token_json_pattern(r, part, &string, &regex);
    if (!status) status = token_json_string(r, part, "content", TOKEN_JSON_STRING, &with);
    if (!status && (regex || !*string))
        status = token_json_wrong(r, json_member(r->j, part, "pattern"), "a String with text");
    if (!status && !with) status = token_json_lacks(r, part, "content", "a string");
    return status ? status : plan_step(r, part, p, string, with);
}

static int plan_strip(TokenJson *r, const JsonNode *part, DecodePlan *p) {
    const JsonNode *start = json_member(r->j, part, "start"),
                   *stop = json_member(r->j, part, "stop");
    const char *content;
    int64_t left = -1, right = -1;
    int status = token_json_string(r, part, "content", TOKEN_JSON_STRING, &content);
    if (status) return status;
    if (!p->fused) return token_json_lacks(r, part, "type", "no Strip before Fuse");
    if (!content || strcmp(content, " ") != 0)
        return token_json_lacks(r, part, "content", "one space");
    if (!start || !json_int64(start, &left) || (left != 0 && left != 1))
        return token_json_lacks(r, part, "start", "0 or 1");
    if (!stop || !json_int64(stop, &right) || right != 0)
        return token_json_lacks(r, part, "stop", "0");
    if (r->f->start != START_AS_IS)
        return token_json_lacks(r, part, "type", "one Strip, or Metaspace without any");
    if (left) r->f->start = START_STRIP;
    return STATUS_OK;
}

static int plan_metaspace(TokenJson *r, const JsonNode *part, DecodePlan *p) {
    const char *mark;
    SplitPrepend prepend;
    int status = token_json_character(r, part, "replacement", &mark);
    if (!status) status = token_json_prepend(r, part, &prepend);
    if (status) return status;
    if (!mark) mark = MARK;
    if (prepend != SPLIT_NEVER) {
        if (p->count) return token_json_lacks(r, part, "type", "Metaspace first");
        p->mark = mark;
        r->f->start = START_MARKS;
    }
    return plan_step(r, part, p, mark, " ");
}

static int ids_plan(TokenJson *r, const JsonNode *part, DecodePlan *p) {
    p->any = true;
    if (token_json_is(r, part, "Sequence")) {
        const JsonNode *list;
        int status = token_json_list(r, part, "decoders", &list);
        const JsonNode *c = status ? NULL : json_first(r->j, list);
        for (; c && !status; c = json_next(r->j, c))
            status = ids_plan(r, c, p);
        return status;
    }
    if (token_json_is(r, part, "ByteLevel") && !p->count && !p->fused) {
        p->bytes = true;
        return STATUS_OK;
    }
    if (token_json_is(r, part, "Fuse")) {
        p->fused = true;
        return STATUS_OK;
    }
    if (token_json_is(r, part, "ByteFallback")) return plan_step(r, part, p, NULL, NULL);
    if (token_json_is(r, part, "Replace")) return plan_replace(r, part, p);
    if (token_json_is(r, part, "Metaspace")) return plan_metaspace(r, part, p);
    if (token_json_is(r, part, "Strip")) return plan_strip(r, part, p);
    return token_json_unknown(r, part);
}

/* No further than 'most' bytes, of which there are more then. */
static void ids_replace(Text *out, size_t most, const char *text, size_t length, const char *from,
                        const char *with) {
    size_t n = strlen(from);
    const char *end = text + length, *found;
    text_clear(out);
    text_bytes(out, "", 0);
    while (out->length <= most && (found = memmem(text, (size_t)(end - text), from, n))) {
        text_bytes(out, text, (size_t)(found - text));
        text_bytes(out, with, strlen(with));
        text = found + n;
    }
    text_bytes(out, text, (size_t)(end - text));
}

/* The text of an id into *v; 'work' are two texts. */
static int ids_show(TokenJson *r, const DecodePlan *p, Vocabulary *v, int32_t id, Text work[2]) {
    size_t length;
    bool renamed = vocabulary_has(&r->renamed, id);
    const char *text = vocabulary_text(renamed ? &r->renamed : &r->f->pieces, id, &length);
    const size_t most = TOKEN_JSON_STRING * length; /* what one Replace may make of it */
    char one;
    for (int i = 0; i < p->count; i++) {
        const DecodeStep *s = &p->step[i];
        Text *out = &work[i & 1];
        if (!s->from) {
            int byte = byte_of_piece(text, length);
            if (byte < 0) continue;
            one = (char)byte;
            text = &one;
            length = 1;
            r->f->flags[id] |= TOKEN_BYTE;
            continue;
        }
        bool first = v == &r->f->begins && s->from == p->mark;
        ids_replace(out, most, text, length, s->from, first ? "" : s->with);
        if (out->failed) return text_status(out, r->e);
        if (out->length > most)
            return error_set(r->e, STATUS_LIMIT,
                             "%s:decoder: expected at most %zu bytes as the text of id %d, found "
                             "more",
                             r->what, most, id);
        text = out->at;
        length = out->length;
    }
    return vocabulary_set(v, id, text, length, false, r->what, r->e);
}

static int show_all(TokenJson *r, const DecodePlan *p, Vocabulary *v) {
    Text work[2] = { 0 };
    int status = vocabulary_open(v, r->f->pieces.ids, r->what, r->e);
    for (int32_t id = 0; id < v->ids && !status; id++)
        if (vocabulary_has(&r->f->pieces, id)) status = ids_show(r, p, v, id, work);
    text_free(&work[0]);
    text_free(&work[1]);
    return status;
}

int token_json_decoder(TokenJson *r, const JsonNode *part) {
    DecodePlan p = { 0 };
    if (!part || part->type == JSON_NULL)
        return token_json_lacks(r, r->j->node, "decoder", "one, by which ids become text");
    int status = ids_plan(r, part, &p);
    if (!status && p.bytes != r->f->bytes)
        status = token_json_lacks(r, part, "type",
                                  r->f->bytes ? "ByteLevel, as the pre_tokenizer"
                                              : "one that is not ByteLevel, as the pre_tokenizer");
    if (!status && p.bytes && r->f->start != START_AS_IS)
        status = token_json_wrong(r, part, "no Strip beside ByteLevel");
    if (!status && p.count) status = show_all(r, &p, &r->f->shown);
    if (!status && p.bytes) { /* the others are as words have them */
        r->f->shown = r->renamed;
        r->renamed = (Vocabulary){ 0 };
    }
    if (!status && p.mark) status = show_all(r, &p, &r->f->begins);
    return status;
}
