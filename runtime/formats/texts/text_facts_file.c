/* SPDX-License-Identifier: MIT
** Finds the object of text_facts.h in the bytes of a tokenizer's file, and writes the file with
** and without it.  Without the object, the file has its original bytes.
*/
#include "text_facts.h"

#include <string.h>

#include "text_object_model.h"

/* == tokenizer.json ======================================================= */

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static size_t skip_blanks(const char *s, size_t n, size_t at) {
    while (at < n && blank(s[at]))
        at++;
    return at;
}

/* Behind the string that begins at 'at'. */
static size_t skip_string(const char *s, size_t n, size_t at) {
    for (at++; at < n && s[at] != '"'; at++)
        if (s[at] == '\\') at++;
    return at < n ? at + 1 : n;
}

/* Behind a value, up to the comma or bracket that follows it. */
static size_t skip_value(const char *s, size_t n, size_t at) {
    int depth = 0;
    for (; at < n; at++) {
        char c = s[at];
        if (!depth && (c == ',' || c == '}' || c == ']')) return at;
        if (c == '"') at = skip_string(s, n, at) - 1;
        else if (c == '{' || c == '[') depth++;
        else if (c == '}' || c == ']') depth--;
    }
    return n;
}

/* The member with its comma; 'end' gets the place of the object's last bracket. */
static bool json_span(const char *s, size_t n, size_t *from, size_t *to, size_t *end) {
    static const char key[] = "\"" TEXT_MEMBER "\"";
    size_t at = skip_blanks(s, n, 0), comma = 0;
    bool found = false;
    if (at >= n || s[at] != '{') return *end = n, false;
    for (at = skip_blanks(s, n, at + 1); at < n && s[at] == '"';) {
        size_t name = at, behind = skip_string(s, n, at);
        bool ours = behind - name == sizeof key - 1 && !memcmp(s + name, key, sizeof key - 1);
        size_t value = skip_blanks(s, n, behind);
        behind = skip_value(s, n, value < n ? value + 1 : n);
        if (ours && !found) {
            found = true;
            *from = comma ? comma : name;
            *to = behind;
            while (blank(s[*to - 1]))
                --*to;
            if (!comma && behind < n && s[behind] == ',') *to = behind + 1;
        }
        if (behind >= n || s[behind] != ',') return *end = behind, found;
        comma = behind;
        at = skip_blanks(s, n, behind + 1);
    }
    return *end = at, found;
}

/* == The three forms ====================================================== */

static bool is_json(const char *s, size_t n) {
    size_t at = skip_blanks(s, n, 0);
    return at < n && s[at] == '{';
}

/* The last line of a .tiktoken. */
static bool line_span(const char *s, size_t n, size_t *from, size_t *to) {
    static const char word[] = "\n" TEXT_MEMBER " {";
    size_t k = sizeof word - 1;
    size_t at = n > 1 && s[n - 1] == '\n' ? n - 1 : n;
    while (at && s[at - 1] != '\n')
        at--;
    if (at < 1 || n - at < k - 1 || memcmp(s + at - 1, word, k) != 0) return false;
    *from = at;
    *to = n;
    return true;
}

bool text_object_span(const char *bytes, size_t length, size_t *from, size_t *to) {
    size_t end;
    if (is_json(bytes, length)) return json_span(bytes, length, from, to, &end);
    if (length && *bytes == '\n') return text_model_span(bytes, length, from, to);
    return line_span(bytes, length, from, to);
}

/* Into an object's text that ends with 'end', its bracket. */
static void put_member(Text *out, const char *s, size_t n, size_t end, const Text *object) {
    size_t last = end;
    while (last && blank(s[last - 1]))
        last--;
    text_bytes(out, s, last);
    text_add(out, "%s\"" TEXT_MEMBER "\":", last && s[last - 1] == '{' ? "" : ",");
    text_bytes(out, object->at, object->length);
    text_bytes(out, s + last, n - last);
}

static int file_put(Text *out, const char *what, const char *s, size_t n, const Text *object,
                    Error *e) {
    size_t from, to, end;
    if (is_json(s, n)) {
        json_span(s, n, &from, &to, &end);
        if (end >= n || s[end] != '}')
            return error_set(e, STATUS_USER, "%s: expected a tokenizer.json, found something else",
                             what);
        put_member(out, s, n, end, object);
    } else if (n && *s == '\n') {
        text_bytes(out, s, n);
        text_model_put(out, object);
    } else {
        text_bytes(out, s, n);
        text_add(out, "%s" TEXT_MEMBER " ", n && s[n - 1] != '\n' ? "\n" : "");
        text_bytes(out, object->at, object->length);
        text_add(out, "\n");
    }
    return STATUS_OK;
}

int text_object_put(Text *out, const char *what, const char *bytes, size_t length,
                    const Text *object, Error *e) {
    size_t from = length, to = length;
    Text bare = { 0 };
    text_object_span(bytes, length, &from, &to);
    text_bytes(&bare, bytes, from);
    text_bytes(&bare, bytes + to, length - to);
    int status = text_status(&bare, e);
    if (!status && object) status = file_put(out, what, bare.at, bare.length, object, e);
    else if (!status) text_bytes(out, bare.at, bare.length);
    text_free(&bare);
    return status ? status : text_status(out, e);
}
