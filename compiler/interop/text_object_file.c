/* SPDX-License-Identifier: MIT
** See text_object_file.h. */
#include "text_object_file.h"

#include <string.h>

int text_object_parse(Json *j, const char *what, const char *bytes, size_t length, Error *e) {
    size_t from, to;
    *j = (Json){ 0 };
    if (!text_object_span(bytes, length, &from, &to)) return STATUS_OK;
    /* the object begins at its bracket and ends at the last one of what is around it */
    const char *begin = memchr(bytes + from, '{', to - from), *end = bytes + to;
    while (begin && end > begin && end[-1] != '}')
        end--;
    if (!begin || end == begin)
        return error_set(e, STATUS_USER, "%s:" TEXT_MEMBER ": expected an object, found another",
                         what);
    return json_parse(j, what, begin, (size_t)(end - begin), TEXT_VALUES, e);
}

void text_json_token(Text *t, const Tokenizer *tokenizer, int32_t id) {
    Decoder d = { .specials = true, .begun = true };
    Text piece = { 0 };
    const char *text = "";
    int n = tokenizer->kind->decode(tokenizer, id, &d, &text);
    text_bytes(&piece, text, n > 0 ? (size_t)n : 0);
    text_json_string(t, piece.at ? piece.at : "");
    t->failed = t->failed || piece.failed;
    text_free(&piece);
    decoder_free(&d);
}
