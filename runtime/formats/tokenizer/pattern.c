/* SPDX-License-Identifier: MIT
** Matching by PCRE2, compiled to machine code where the system allows that; see pattern.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* The machine's stack for compiled expressions, and KiB for others, is taken as it is needed. */
enum { MATCH_STEPS = 50000000, MATCH_HEAP = 262144, JIT_LEAST = 32768, JIT_MOST = 1 << 24 };

/* A match looks at WINDOW bytes, and at GROWTH times as many where it asks for more, by PCRE2's
** partial matching; it takes STEPS steps a byte, and more where these are not enough.  What is more
** is counted: FREE, and SHARE for each byte of the text. What looks on to the end of a text and
** takes a character costs its length each time; the expressions of GPT-2, Llama 3, o200k and the
** like take what they looked at. */
enum { WINDOW = 64, GROWTH = 4, STEPS = 16, FREE = 1 << 26, SHARE = 64 };

static int bad(const char *what, const char *text, int number, size_t at, Error *e) {
    PCRE2_UCHAR said[128];
    pcre2_get_error_message(number, said, sizeof said);
    size_t left = at < strlen(text) ? strlen(text) - at : 0;
    if (!left)
        return error_set(e, STATUS_USER, "%s: expected a regular expression, found one whose %s",
                         what, (char *)said);
    return error_set(e, STATUS_USER, "%s: expected a regular expression, found at '%.*s%s': %s",
                     what, (int)(left < 24 ? left : 24), text + at, left > 24 ? "..." : "",
                     (char *)said);
}

static int compile(Pattern *p, const Text *text, PatternSyntax syntax, const char *what, Error *e) {
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C
        | (syntax == PATTERN_ONIGURUMA ? PCRE2_MULTILINE : PCRE2_DOLLAR_ENDONLY);
    int number;
    PCRE2_SIZE at;
    pcre2_compile_context *c = pcre2_compile_context_create(NULL);
    if (!c) return error_memory(e, what, text->length);
    pcre2_set_newline(c, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(c, 50);
    p->code = pcre2_compile((PCRE2_SPTR)text->at, text->length, options, &number, &at, c);
    pcre2_compile_context_free(c);
    if (!p->code && number == PCRE2_ERROR_HEAP_FAILED) return error_memory(e, what, text->length);
    if (!p->code) return bad(what, text->at, number, at, e);
    /* else it is interpreted */
    pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
    return STATUS_OK;
}

int pattern_open(Pattern *p, const char *text, PatternSyntax syntax, const char *what, Error *e) {
    Text rewritten = { 0 };
    *p = (Pattern){ 0 };
    if (strlen(text) > PATTERN_LONGEST)
        return error_set(e, STATUS_LIMIT,
                         "%s: expected at most %d bytes of a regular expression, found %zu", what,
                         PATTERN_LONGEST, strlen(text));
    int status = pattern_rewrite(&rewritten, text, syntax, what, e);
    if (!status) status = text_status(&rewritten, e);
    if (!status) status = compile(p, &rewritten, syntax, what, e);
    text_free(&rewritten);
    if (status) return status;
    Text source = { 0 };
    text_add(&source, "%s: %s", what, text);
    p->source = source.at;
    status = text_status(&source, e);
    if (status) pattern_free(p);
    return status;
}

void pattern_free(Pattern *p) {
    if (p->code) pcre2_code_free(p->code);
    free(p->source);
    *p = (Pattern){ 0 };
}

typedef struct PatternMemory {
    pcre2_match_data *found;
    pcre2_match_context *context;
    pcre2_jit_stack *stack; /* NULL: what a thread has at least */
    uint64_t allowed, spent;
} PatternMemory;

static PatternMemory *new_memory(void) {
    PatternMemory *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->found = pcre2_match_data_create(1, NULL);
    m->context = pcre2_match_context_create(NULL);
    if (!m->found || !m->context) {
        pattern_done(m);
        return NULL;
    }
    m->allowed = FREE;
    pcre2_set_heap_limit(m->context, MATCH_HEAP);
    m->stack = pcre2_jit_stack_create(JIT_LEAST, JIT_MOST, NULL);
    if (m->stack) pcre2_jit_stack_assign(m->context, NULL, m->stack);
    return m;
}

static int match(const Pattern *p, PatternMemory *m, const char *text, size_t length, size_t at,
                 uint32_t options) {
    options |= PCRE2_NO_UTF_CHECK;
    int n = pcre2_match(p->code, (PCRE2_SPTR)text, length, at, options, m->found, m->context);
    if (n == PCRE2_ERROR_JIT_STACKLIMIT)
        n = pcre2_match(p->code, (PCRE2_SPTR)text, length, at, options | PCRE2_NO_JIT, m->found,
                        m->context);
    return n;
}

static bool spend(PatternMemory *m, uint64_t cost) {
    m->spent += cost;
    return m->spent <= m->allowed;
}

/* In the first 'length' bytes, with as many steps as it takes. */
static int match_within(const Pattern *p, PatternMemory *m, const char *text, size_t length,
                        size_t at, uint32_t options) {
    for (uint64_t steps = STEPS * (uint64_t)(WINDOW + length - at);; steps *= GROWTH) {
        if (steps > MATCH_STEPS) steps = MATCH_STEPS;
        pcre2_set_match_limit(m->context, (uint32_t)steps);
        int n = match(p, m, text, length, at, options);
        if (n != PCRE2_ERROR_MATCHLIMIT || steps == MATCH_STEPS) return n;
        if (!spend(m, steps)) return PATTERN_SPENT;
    }
}

/* The first match, seen through windows that grow until nothing behind them matters. */
static int first_match(const Pattern *p, PatternMemory *m, const char *text, size_t length,
                       size_t at) {
    for (size_t window = WINDOW;; window *= GROWTH) {
        size_t end = window < length - at ? at + window : length;
        if (window > WINDOW && !spend(m, end - at)) return PATTERN_SPENT;
        if (end == length) return match_within(p, m, text, length, at, 0);
        while ((text[end] & 0xc0) == 0x80)
            end--;
        int n = match_within(p, m, text, end, at, PCRE2_PARTIAL_HARD);
        if (n != PCRE2_ERROR_PARTIAL && n != PCRE2_ERROR_NOMATCH) return n;
    }
}

int pattern_next(const Pattern *p, const char *text, size_t length, size_t at, size_t *from,
                 size_t *to, void **memory) {
    if (!*memory && !(*memory = new_memory())) return PCRE2_ERROR_NOMEMORY;
    PatternMemory *m = *memory;
    if (!at) m->allowed += SHARE * (uint64_t)length;
    int n = first_match(p, m, text, length, at);
    if (n == PCRE2_ERROR_NOMATCH) return 0;
    if (n < 0) return n;
    *from = pcre2_get_ovector_pointer(m->found)[0];
    *to = pcre2_get_ovector_pointer(m->found)[1];
    return 1;
}

void pattern_done(void *memory) {
    PatternMemory *m = memory;
    if (!m) return;
    pcre2_match_data_free(m->found);
    pcre2_match_context_free(m->context);
    pcre2_jit_stack_free(m->stack);
    free(m);
}

int pattern_failed(const Pattern *p, int code, const PatternPlace *place, const char *at,
                   Error *e) {
    PCRE2_UCHAR said[128];
    uintptr_t here = (uintptr_t)at, text = (uintptr_t)place->text;
    bool own = here >= text && here <= text + place->length;
    uint64_t byte = place->before + (own ? here - text : place->part);
    if (code == PCRE2_ERROR_NOMEMORY) return error_memory(e, place->what, sizeof(PatternMemory));
    if (code == PATTERN_SPENT)
        print_text((char *)said, sizeof said, "it looks at the same text again and again");
    else pcre2_get_error_message(code, said, sizeof said);
    return error_set(e, STATUS_LIMIT,
                     "%s: expected text that the tokenizer's regular expression can take apart, "
                     "found one beyond its limits %s byte %llu of the text: %s (%s)",
                     place->what, own ? "at" : "in what is made of it from",
                     (unsigned long long)byte, (char *)said, p->source);
}
