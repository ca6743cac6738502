/* SPDX-License-Identifier: MIT
** Matching by PCRE2, compiled to machine code where the system allows that; see pattern.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* The machine's stack for compiled expressions, and KiB for others, is taken as it is needed. */
enum { MATCH_STEPS = 50000000, MATCH_HEAP = 262144, JIT_LEAST = 32768, JIT_MOST = 1 << 24 };

static int bad(const char *what, const char *text, int number, size_t at, Error *e) {
    PCRE2_UCHAR said[128];
    pcre2_get_error_message(number, said, sizeof said);
    return error_set(e, STATUS_USER, "%s: expected a regular expression, found %s: %s", what,
                     text + (at <= strlen(text) ? at : 0), (char *)said);
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
    pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); /* else it is interpreted */
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
    return status;
}

void pattern_free(Pattern *p) {
    if (p->code) pcre2_code_free(p->code);
    *p = (Pattern){ 0 };
}

typedef struct PatternMemory {
    pcre2_match_data *found;
    pcre2_match_context *context;
    pcre2_jit_stack *stack; /* NULL: what a thread has at least */
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
    pcre2_set_match_limit(m->context, MATCH_STEPS);
    pcre2_set_heap_limit(m->context, MATCH_HEAP);
    m->stack = pcre2_jit_stack_create(JIT_LEAST, JIT_MOST, NULL);
    if (m->stack) pcre2_jit_stack_assign(m->context, NULL, m->stack);
    return m;
}

int pattern_next(const Pattern *p, const char *text, size_t length, size_t at, size_t *from,
                 size_t *to, void **memory) {
    if (!*memory && !(*memory = new_memory())) return PCRE2_ERROR_NOMEMORY;
    PatternMemory *m = *memory;
    int n = pcre2_match(p->code, (PCRE2_SPTR)text, length, at, PCRE2_NO_UTF_CHECK, m->found,
                        m->context);
    if (n == PCRE2_ERROR_JIT_STACKLIMIT)
        n = pcre2_match(p->code, (PCRE2_SPTR)text, length, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                        m->found, m->context);
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

int pattern_failed(int code, const char *what, Error *e) {
    PCRE2_UCHAR said[128];
    if (code == PCRE2_ERROR_NOMEMORY) return error_memory(e, what, sizeof(PatternMemory));
    pcre2_get_error_message(code, said, sizeof said);
    return error_set(e, STATUS_LIMIT,
                     "%s: expected text that the tokenizer's regular expression can take apart, "
                     "found one beyond its limits: %s",
                     what, (char *)said);
}
