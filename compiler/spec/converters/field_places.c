/* SPDX-License-Identifier: MIT
** Finds the line of a field in a table that is written directly after its constructor, as in
**   model {
**     dim = 64,
** Lua only knows the line of the call.  This reads the source from there, token by token; if the
** table is written in another way (as a variable, for example), it finds nothing.
*/
#include "bindings.h"

#include <ctype.h>
#include <string.h>

/* What stands at a place: 'a' a word, 's' a string, 0 the end, or a character. */
typedef struct SourceToken {
    char kind;
    const char *at;
    size_t length; /* of a word, or of what is in the quotes */
} SourceToken;

typedef struct Scan {
    const char *at, *end;
    int line;
} Scan;

/* Bytes of "[==[", 0 where there is none. */
static size_t long_bracket(const Scan *s) {
    const char *p = s->at + 1;
    if (s->at >= s->end || *s->at != '[') return 0;
    while (p < s->end && *p == '=')
        p++;
    return p < s->end && *p == '[' ? (size_t)(p - s->at) + 1 : 0;
}

/* Goes behind "]==]" of as many bytes. */
static void skip_long(Scan *s, size_t n) {
    for (s->at += n; s->at < s->end; s->at++) {
        if (*s->at == '\n') s->line++;
        const char *p = s->at + 1;
        if (*s->at != ']') continue;
        while (p < s->end && *p == '=')
            p++;
        if (p < s->end && *p == ']' && (size_t)(p - s->at) + 1 == n) {
            s->at = p + 1;
            return;
        }
    }
}

/* Behind "--". */
static void skip_comment(Scan *s) {
    s->at += 2;
    size_t n = long_bracket(s);
    if (n) skip_long(s, n);
    else
        while (s->at < s->end && *s->at != '\n')
            s->at++;
}

static void skip_blank(Scan *s) {
    while (s->at < s->end) {
        bool comment = s->at + 1 < s->end && s->at[0] == '-' && s->at[1] == '-';
        if (!comment && !isspace((unsigned char)*s->at)) return;
        if (comment) skip_comment(s);
        else s->line += *s->at++ == '\n';
    }
}

static bool places_is_letter(char c) { return isalnum((unsigned char)c) || c == '_'; }

static SourceToken string_token(Scan *s) {
    char quote = *s->at++;
    SourceToken t = { 's', s->at, 0 };
    for (; s->at < s->end && *s->at != quote && *s->at != '\n'; s->at++)
        if (*s->at == '\\' && s->at + 1 < s->end) s->at++;
    t.length = (size_t)(s->at - t.at);
    if (s->at < s->end && *s->at == quote) s->at++;
    return t;
}

static SourceToken next_token(Scan *s) {
    skip_blank(s);
    SourceToken t = { 0, s->at, 1 };
    if (s->at >= s->end) return t;
    size_t n = long_bracket(s);
    if (n) {
        skip_long(s, n);
        return t.kind = 's', t.length = 0, t;
    }
    if (*s->at == '"' || *s->at == '\'') return string_token(s);
    t.kind = places_is_letter(*s->at) ? 'a' : *s->at;
    while (t.kind == 'a' && s->at + 1 < s->end && places_is_letter(s->at[1]))
        s->at++;
    s->at++;
    t.length = (size_t)(s->at - t.at);
    return t;
}

static bool places_is_text(const SourceToken *t, const char *text, size_t n) {
    return (t->kind == 'a' || t->kind == 's') && t->length == n && !memcmp(t->at, text, n);
}

static int nesting(const SourceToken *t) {
    static const char *const opens[] = { "function", "if", "do", "repeat" };
    static const char *const ends[] = { "end", "until" };
    if (strchr("{([", t->kind) && t->kind) return 1;
    if (strchr("})]", t->kind) && t->kind) return -1;
    for (size_t i = 0; t->kind == 'a' && i < 4; i++)
        if (places_is_text(t, opens[i], strlen(opens[i]))) return 1;
    for (size_t i = 0; t->kind == 'a' && i < 2; i++)
        if (places_is_text(t, ends[i], strlen(ends[i]))) return -1;
    return 0;
}

/* Goes behind the first "NAME {" or "NAME ({" that begins on this line. */
static bool find_table(Scan *s, const char *name, size_t n) {
    int line = s->line;
    for (SourceToken t = next_token(s); t.kind && s->line == line; t = next_token(s)) {
        if (!places_is_text(&t, name, n)) continue;
        Scan behind = *s;
        t = next_token(&behind);
        if (t.kind == '(') t = next_token(&behind);
        if (t.kind != '{') continue;
        *s = behind;
        return true;
    }
    return false;
}

/* Where a field begins: goes behind "NAME =" or "["NAME"] =", if it is this one. */
static bool is_field(Scan *s, SourceToken t, const char *name, size_t n) {
    Scan behind = *s;
    bool bracket = t.kind == '[';
    if (bracket) t = next_token(&behind);
    if (!places_is_text(&t, name, n) || (bracket && next_token(&behind).kind != ']')) return false;
    if (next_token(&behind).kind != '=' || (behind.at < behind.end && *behind.at == '='))
        return false;
    *s = behind;
    return true;
}

/* Behind "{": goes behind "NAME =" of this table; false where it ends before. */
static bool find_field(Scan *s, const char *name, size_t n) {
    bool begins = true;
    for (int depth = 1; depth > 0;) {
        SourceToken t = next_token(s);
        if (!t.kind) return false;
        if (begins && depth == 1 && is_field(s, t, name, n)) return true;
        depth += nesting(&t);
        begins = t.kind == ',' || t.kind == ';';
    }
    return false;
}

/* The line of "model.embedding.tied", as far as it is found; 0: nowhere. */
static int find_line(Scan *s, const char *path) {
    size_t n = strcspn(path, ".");
    if (!find_table(s, path, n)) return 0;
    for (int line = 0;;) {
        path += n + (path[n] == '.');
        n = strcspn(path, ".");
        if (!n || !find_field(s, path, n)) return line;
        line = s->line;
        if (next_token(s).kind != '{') return line;
    }
}

/* field_line(path): the line of the field in the file of spec_here(); nil: it is not found */
int places_call_field(lua_State *L) {
    const char *path = luaL_checkstring(L, 1);
    Loc at = spec_here(L);
    const SourceFile *f = front(L)->source;
    while (f && strcmp(f->path, at.file) != 0)
        f = f->next;
    if (!f) return 0;
    Scan s = { f->text, f->text + f->size, 1 };
    sandbox_charge(L, (s.end - s.at) / 8);
    for (; s.line < at.line && s.at < s.end; s.at++)
        s.line += *s.at == '\n';
    int line = find_line(&s, path);
    if (!line) return 0;
    lua_pushinteger(L, line);
    return 1;
}
