/* SPDX-License-Identifier: MIT
** Matching by PCRE2, compiled to machine code where the system allows that; see pattern.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* The machine's stack for compiled expressions, and KiB for others, is taken as it is needed. */
enum { MATCH_STEPS = 50000000, MATCH_HEAP = 262144, JIT_LEAST = 32768, JIT_MOST = 1 << 24 };

/* Matches are looked for in WINDOW bytes at first, and at one place in GROWTH times as many where
** more is asked for, by PCRE2's partial matching. One that takes more than STEPS steps, of which
** each may look at all of the window, is made again with every character counted that it looks at;
** that of more than WINDOW bytes is counted at once, where steps themselves may be uncounted.
** What is counted is bounded by FREE, and SHARE for each byte of the text. What looks on to the end
** of a text and takes a character costs its length each time; the expressions of GPT-2, Llama 3,
** o200k and the like take what they looked at. */
enum { WINDOW = 64, GROWTH = 4, STEPS = 256, FREE = 1 << 25, SHARE = 32 };

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

static pcre2_code *compile(const Text *text, uint32_t options, pcre2_compile_context *c,
                           const char *what, Error *e) {
    int number;
    PCRE2_SIZE at;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text->at, text->length, options, &number, &at, c);
    if (!code && number == PCRE2_ERROR_HEAP_FAILED) error_memory(e, what, text->length);
    else if (!code) bad(what, text->at, number, at, e);
    return code;
}

/* Twice: for speed, and to be counted, item by item. */
static int compile_both(Pattern *p, const Text *text, PatternSyntax syntax, const char *what,
                        Error *e) {
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C
        | (syntax == PATTERN_ONIGURUMA ? PCRE2_MULTILINE : PCRE2_DOLLAR_ENDONLY);
    pcre2_compile_context *c = pcre2_compile_context_create(NULL);
    if (!c) return error_memory(e, what, text->length);
    pcre2_set_newline(c, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(c, 50);
    p->code = compile(text, options | PCRE2_USE_OFFSET_LIMIT, c, what, e);
    if (p->code) p->counted = compile(text, options | PCRE2_AUTO_CALLOUT, c, what, e);
    pcre2_compile_context_free(c);
    if (!p->counted) return pattern_free(p), e->status;
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
    if (!status) status = compile_both(p, &rewritten, syntax, what, e);
    if (!status) pattern_cost(rewritten.at, &p->flat, &p->least);
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
    pcre2_code_free(p->code);
    pcre2_code_free(p->counted);
    free(p->source);
    *p = (Pattern){ 0 };
}

typedef struct PatternMemory {
    pcre2_match_data *found;
    pcre2_match_context *context, *counting;
    pcre2_jit_stack *stack; /* NULL: what a thread has at least */
    uint64_t allowed, spent;
    size_t last;   /* where the match that is counted looked */
    uint32_t item; /* what each of its items may look at besides */
} PatternMemory;

static bool spend(PatternMemory *m, uint64_t cost) {
    m->spent += cost;
    return m->spent <= m->allowed;
}

/* Before each item of an expression: what was looked at since the one before. */
static int count_item(pcre2_callout_block *b, void *memory) {
    PatternMemory *m = memory;
    size_t at = b->current_position, far = at > m->last ? at - m->last : m->last - at;
    m->last = at;
    return spend(m, 1 + far + m->item) ? 0 : PATTERN_SPENT;
}

static PatternMemory *new_memory(void) {
    PatternMemory *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->found = pcre2_match_data_create(1, NULL);
    m->context = pcre2_match_context_create(NULL);
    m->counting = pcre2_match_context_create(NULL);
    if (!m->found || !m->context || !m->counting) {
        pattern_done(m);
        return NULL;
    }
    m->allowed = FREE;
    pcre2_set_heap_limit(m->context, MATCH_HEAP);
    pcre2_set_match_limit(m->context, STEPS);
    pcre2_set_heap_limit(m->counting, MATCH_HEAP);
    pcre2_set_match_limit(m->counting, MATCH_STEPS);
    pcre2_set_callout(m->counting, count_item, m);
    m->stack = pcre2_jit_stack_create(JIT_LEAST, JIT_MOST, NULL);
    if (m->stack) pcre2_jit_stack_assign(m->context, NULL, m->stack);
    return m;
}

static int pattern_match(const Pattern *p, PatternMemory *m, const char *text, size_t length,
                         size_t at, uint32_t options) {
    options |= PCRE2_NO_UTF_CHECK;
    int n = pcre2_match(p->code, (PCRE2_SPTR)text, length, at, options, m->found, m->context);
    if (n == PCRE2_ERROR_JIT_STACKLIMIT)
        n = pcre2_match(p->code, (PCRE2_SPTR)text, length, at, options | PCRE2_NO_JIT, m->found,
                        m->context);
    return n;
}

/* One that begins at 'at'. */
static int match_at(const Pattern *p, PatternMemory *m, const char *text, size_t length, size_t at,
                    uint32_t options) {
    int n = PCRE2_ERROR_MATCHLIMIT;
    if (p->flat) {
        pcre2_set_offset_limit(m->context, at);
        n = pattern_match(p, m, text, length, at, options);
        pcre2_set_offset_limit(m->context, PCRE2_UNSET);
    }
    if (n != PCRE2_ERROR_MATCHLIMIT) return n;
    m->last = at;
    m->item = p->least;
    return pcre2_match(p->counted, (PCRE2_SPTR)text, length, at,
                       options | PCRE2_NO_UTF_CHECK | PCRE2_ANCHORED, m->found, m->counting);
}

/* Where a window ends, between characters. */
static size_t pattern_end_of(const char *text, size_t length, size_t at, size_t window) {
    if (window >= length - at) return length;
    size_t end = at + window;
    while ((text[end] & 0xc0) == 0x80)
        end--;
    return end;
}

/* The same, seen through windows that grow until nothing behind them matters. */
static int match_wide(const Pattern *p, PatternMemory *m, const char *text, size_t length,
                      size_t at) {
    for (size_t window = WINDOW;; window *= GROWTH) {
        size_t end = pattern_end_of(text, length, at, window);
        if (!spend(m, end - at)) return PATTERN_SPENT;
        int n = match_at(p, m, text, end, at, end < length ? PCRE2_PARTIAL_HARD : 0);
        if (n != PCRE2_ERROR_PARTIAL) return n;
    }
}

/* The first match.  Places before one whose match asks for more have none. */
static int first_match(const Pattern *p, PatternMemory *m, const char *text, size_t length,
                       size_t at) {
    for (;;) {
        size_t end = pattern_end_of(text, length, at, WINDOW);
        int n = pattern_match(p, m, text, end, at, end < length ? PCRE2_PARTIAL_HARD : 0);
        bool wide = n == PCRE2_ERROR_PARTIAL || n == PCRE2_ERROR_MATCHLIMIT;
        if (n == PCRE2_ERROR_NOMATCH && end < length) {
            at = end;
            continue;
        }
        if (!wide) return n;
        if (!spend(m, WINDOW)) return PATTERN_SPENT;
        if (n == PCRE2_ERROR_PARTIAL) at = pcre2_get_ovector_pointer(m->found)[0];
        n = match_wide(p, m, text, length, at);
        if (n != PCRE2_ERROR_NOMATCH || at == length) return n;
        do
            at++;
        while (at < length && (text[at] & 0xc0) == 0x80);
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
    pcre2_match_context_free(m->counting);
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
