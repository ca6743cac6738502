/* SPDX-License-Identifier: MIT
** What follows from a tokenizer's object and its tokens' names; see text_facts.h. */
#include "text_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file_tables.h"
#include "tokenizer_file.h"

const char *const tokenizer_begins[] = { "<|begin_of_text|>",
                                         "<s>",
                                         "<bos>",
                                         "[BOS]",
                                         "<\xef\xbd\x9c"
                                         "begin\xe2\x96\x81of\xe2\x96\x81sentence"
                                         "\xef\xbd\x9c>",
                                         "<|endoftext|>",
                                         NULL };

const char *const tokenizer_ends[] = { "<|endoftext|>",
                                       "<|end_of_text|>",
                                       "</s>",
                                       "<|im_end|>",
                                       "<eos>",
                                       "<|eot_id|>",
                                       "[EOS]",
                                       "<\xef\xbd\x9c"
                                       "end\xe2\x96\x81of\xe2\x96\x81sentence"
                                       "\xef\xbd\x9c>",
                                       NULL };

static const struct {
    double low, high;
} sampling_range[SAMPLINGS] = {
#define SAMPLING(id, name, low, high) { low, high },
#include "sampling.def"
};

/* == Numbers and ids ====================================================== */

/* The object of these that says how a model generates: a file of its own, or config's. */
static const JsonNode *generation(const TextObject *x) {
    const JsonNode *n = text_object_member(x, "generation_config");
    return n ? n : text_object_member(x, "config");
}

/* An id that the tokenizer has; *id stays where there is none. */
static int take_id(const TextObject *x, const JsonNode *n, int32_t ids, int32_t *id, Error *e) {
    int64_t value;
    if (!n || n->type == JSON_NULL) return STATUS_OK;
    if (!json_int64(n, &value) || value > INT32_MAX)
        return text_object_wrong(x, n, "an id of a token", e);
    if (value >= 0 && value < ids) *id = (int32_t)value;
    return STATUS_OK;
}

static int add_end(const TextObject *x, TextFacts *f, int32_t id, Error *e) {
    if (id < 0 || text_facts_ends(f, id)) return STATUS_OK;
    if (f->ends == TEXT_ENDS)
        return error_set(e, STATUS_LIMIT,
                         "%s: expected at most %d tokens that end a text, found more", x->what,
                         TEXT_ENDS);
    f->end[f->ends++] = id;
    return STATUS_OK;
}

/* An id, or a list of them. */
static int take_ends(const TextObject *x, const JsonNode *n, int32_t ids, TextFacts *f, Error *e) {
    int status = STATUS_OK;
    bool list = n && n->type == JSON_ARRAY;
    const JsonNode *one = list ? json_first(x->j, n) : n;
    for (; one && !status; one = list ? json_next(x->j, one) : NULL) {
        int32_t id = -1;
        status = take_id(x, one, ids, &id, e);
        if (!status) status = add_end(x, f, id, e);
    }
    return status;
}

static int take_sampling(const TextObject *x, const JsonNode *from, TextFacts *f, Error *e) {
    const JsonNode *sample = from ? json_member(x->j, from, "do_sample") : NULL;
    for (int i = 0; from && i < SAMPLINGS; i++) {
        const JsonNode *n = json_member(x->j, from, sampling_name[i]);
        double value, low = sampling_range[i].low, high = sampling_range[i].high;
        char expected[96], a[32], b[32];
        if (!n || n->type == JSON_NULL) continue;
        print_text(expected, sizeof expected, "a number from %s to %s", print_double(a, low),
                   print_double(b, high));
        if (!json_double(n, &value) || !(value >= low && value <= high)
            || (i == SAMPLING_TOP_K && value != floor(value)))
            return text_object_wrong(x, n, expected, e);
        f->sampling[i] = value;
        f->sampled = true;
    }
    if (!sample || sample->type == JSON_NULL) return STATUS_OK;
    if (sample->type != JSON_TRUE && sample->type != JSON_FALSE)
        return text_object_wrong(x, sample, "true or false", e);
    f->greedy = sample->type == JSON_FALSE;
    f->sampled = true;
    return STATUS_OK;
}

/* == The whole ============================================================ */

static int32_t first_named(const Tokenizer *t, const char *const *names) {
    int32_t id = -1;
    for (; *names && id < 0; names++)
        id = tokenizer_find(t, *names);
    return id;
}

static int32_t text_facts_named(const Tokenizer *t, const TextObject *x, const char *name) {
    const char *piece = text_named(x, name);
    return piece ? tokenizer_find(t, piece) : -1;
}

/* 'own' is what the tokenizer's file says itself, -1: nothing. */
static int read_ends(Tokenizer *t, const TextObject *x, int32_t own, Error *e) {
    TextFacts *f = &t->facts;
    const JsonNode *from = generation(x), *config = text_object_member(x, "config"),
                   *ends = from ? json_member(x->j, from, "eos_token_id") : NULL;
    if ((!ends || ends->type == JSON_NULL) && config)
        ends = json_member(x->j, config, "eos_token_id");
    f->eos = text_facts_named(t, x, "eos_token");
    if (f->eos < 0 && !text_named(x, "eos_token")) f->eos = own;
    int status = take_ends(x, ends, t->ids, f, e);
    if (!status) status = add_end(x, f, f->eos, e);
    f->said = f->ends > 0 && x->object;
    int32_t known = own >= 0 ? own : first_named(t, tokenizer_ends);
    if (!status && !f->ends) status = add_end(x, f, known, e);
    t->end = !f->ends ? -1 : text_facts_ends(f, known) ? known : f->end[0];
    return status;
}

static int read_begin(Tokenizer *t, const TextObject *x, Error *e) {
    const TokenFile *file = t->tables;
    TextFacts *f = &t->facts;
    const JsonNode *from = generation(x), *config = text_object_member(x, "config"),
                   *map = text_object_member(x, "tokenizer_config");
    int status = STATUS_OK;
    f->begin = text_facts_named(t, x, "bos_token");
    f->pad = text_facts_named(t, x, "pad_token");
    for (int i = 0; i < 2 && !status; i++, from = config) {
        if (!from) continue;
        if (f->begin < 0)
            status = take_id(x, json_member(x->j, from, "bos_token_id"), t->ids, &f->begin, e);
        if (!status && f->pad < 0)
            status = take_id(x, json_member(x->j, from, "pad_token_id"), t->ids, &f->pad, e);
    }
    if (f->begin < 0 && !map) f->begin = first_named(t, tokenizer_begins);
    bool among = false;
    for (int i = 0; i < file->before_count; i++)
        among = among || file->before[i] == f->begin;
    if (file->before_count && !among) f->begin = file->before[0];
    return status;
}

/* Tokens of a text that the file's own template does not know of: .model and .tiktoken. */
static int add_around(Tokenizer *t, const TextObject *x, Error *e) {
    TokenFile *f = t->tables;
    if (f->format == FORMAT_JSON || !x->object) return STATUS_OK;
    int32_t begin = text_facts_named(t, x, "bos_token"), end = t->facts.eos;
    if (begin >= 0 && text_flag(x, "add_bos_token", false)) {
        f->before = malloc(sizeof *f->before);
        if (!f->before) return error_memory(e, x->what, sizeof *f->before);
        f->before[f->before_count++] = begin;
    }
    if (end >= 0 && text_flag(x, "add_eos_token", false)) {
        f->after = malloc(sizeof *f->after);
        if (!f->after) return error_memory(e, x->what, sizeof *f->after);
        f->after[f->after_count++] = end;
    }
    return STATUS_OK;
}

int text_facts_read(Tokenizer *t, const TextObject *x, Error *e) {
    int32_t own = t->end;
    const char *template = NULL;
    text_facts_none(&t->facts);
    int status = read_ends(t, x, own, e);
    if (!status) status = add_around(t, x, e);
    if (!status) status = read_begin(t, x, e);
    if (!status) status = take_sampling(x, generation(x), &t->facts, e);
    if (!status) status = text_template(x, &template, e);
    if (!status && template && !(t->facts.template = strdup(template)))
        status = error_memory(e, x->what, strlen(template));
    return status;
}
