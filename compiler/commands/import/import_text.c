/* SPDX-License-Identifier: MIT
** Writes the tokenizer's file of an import: the folder's file, with what the folder's other files
** say about texts.
*/
#include "import.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "folder_text.h"
#include "text_reader.h"
#include "tokenizer_file.h"

/* The file's bytes. */
static int text_read_file(const Import *i, Text *t, Error *e) {
    char *bytes = NULL;
    size_t n;
    int status = folder_bytes(i->tokenizer_from, TOKENIZER_LONGEST, &bytes, &n, e);
    if (status) return status;
    text_bytes(t, bytes, n);
    free(bytes);
    return text_status(t, e);
}

/* Ids of ends that the tokenizer does not have: a text never ends there. */
static void tell_unknown(const TextObject *x, const JsonNode *ends, int32_t ids, Text *t) {
    int64_t id;
    bool list = ends && ends->type == JSON_ARRAY;
    const JsonNode *n = list ? json_first(x->j, ends) : ends;
    for (; n; n = list ? json_next(x->j, n) : NULL)
        if (json_int64(n, &id) && id >= ids)
            text_add(t, "%s%lld", t->length ? ", " : "", (long long)id);
}

/* What the object says, of the tokenizer without it: what is wrong is a file's of the folder. */
static int check_object(const Import *i, Tokenizer *t, const Text *object, Error *e) {
    TextReader r = { 0 };
    Text lost = { 0 };
    int status = json_parse(&r.own, i->folder.path, object->at, object->length, TEXT_VALUES, e);
    r.object = (TextObject){ &r.own, r.own.node, i->folder.path, true };
    if (!status) status = text_object_check(&r.object, e);
    if (!status) status = text_added(&r.object, &r.added, &r.count, e);
    t->end = -1;
    if (!status) status = text_facts_read(t, &r.object, e);
    const JsonNode *from = status ? NULL : text_object_member(&r.object, "generation_config");
    if (!status && !from) from = text_object_member(&r.object, "config");
    if (from)
        tell_unknown(&r.object, json_member(&r.own, from, "eos_token_id"),
                     text_reader_ids(&r, t->ids), &lost);
    if (lost.length) show_line(stderr, "note: eos_token_id: the tokenizer has no id ", lost.at, "");
    text_free(&lost);
    text_reader_close(&r);
    return status;
}

/* Programs carry what they can read; another tokenizer is copied, and no spec names it. */
static int text_check(Import *i, const Text *file, const Text *object, Error *e) {
    int64_t vocab = INT32_MAX;
    Tokenizer t = { 0 };
    const JsonNode *size = json_member(&i->config, i->config.node, "vocab_size");
    if (size) json_int64(size, &vocab);
    int status = tokenizer_parse(&t, i->tokenizer_from, file->at, file->length, &i->refused);
    bool known = !status;
    if (known && object->length) status = check_object(i, &t, object, e);
    tokenizer_free(&t);
    if (known && status) return status;
    if (known)
        status = tokenizer_parse(&t, i->tokenizer_from, i->tokenizer_text.at,
                                 i->tokenizer_text.length, &i->refused);
    if (status && status != STATUS_USER) return error_set(e, status, "%s", i->refused.text);
    if (!status && t.ids > vocab)
        error_set(&i->refused, STATUS_USER,
                  "%s: expected at most the vocabulary, %lld ids, found %d", i->tokenizer_from,
                  (long long)vocab, t.ids);
    tokenizer_free(&t);
    return STATUS_OK;
}

int import_text(Import *i, Error *e) {
    Text object = { 0 }, file = { 0 };
    if (!i->tokenizer) return STATUS_OK;
    int status = folder_text_object(&i->folder, &i->config, &object, e);
    if (!status) status = text_read_file(i, &file, e);
    if (!status && object.length)
        status = text_object_put(&i->tokenizer_text, i->tokenizer_from, file.at, file.length,
                                 &object, e);
    else if (!status) {
        text_bytes(&i->tokenizer_text, file.at, file.length);
        status = text_status(&i->tokenizer_text, e);
    }
    if (!status) status = text_check(i, &file, &object, e);
    text_free(&object);
    text_free(&file);
    return status;
}
