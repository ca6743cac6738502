/* SPDX-License-Identifier: MIT
** The command generate: reads a prompt in one call, then draws, writes and feeds back one token
** after another (writing.h).  Standard output gets the continuation only; a terminal shows the
** prompt before it.  If the reader of the output goes away, generate ends quietly.
*/
#include "commands.h"
#include "escape.h"
#include "program_tokenizer.h"
#include "writing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Prompt {
    char *text;
    size_t length;
    int32_t *ids;
    int64_t count, unknown, stray;
    bool owned; /* text was read, not given */
} Prompt;

static bool slides(const Program *p) { return option(p, OPTION_SLIDE)->given; }

/* For some bytes more than there are, and a NUL. */
static int generate_make_room(Prompt *q, size_t *room, Error *e) {
    if (q->length < *room) return STATUS_OK;
    size_t more = *room ? 2 * *room : 4096;
    char *text = realloc(q->text, more + 1);
    if (!text) return error_memory(e, "prompt", more + 1);
    q->text = text;
    *room = more;
    return STATUS_OK;
}

/* All of standard input, up to what could ever fit. */
static int generate_read_input(const Program *p, Prompt *q, Error *e) {
    size_t most = slides(p) ? SIZE_MAX : (size_t)p->m->context * LONGEST_TOKEN + 1, room = 0;
    q->owned = true;
    while (q->length < most) {
        int status = generate_make_room(q, &room, e);
        if (status) return status;
        ssize_t n = read(STDIN_FILENO, q->text + q->length, room - q->length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return error_set(e, STATUS_IO, "standard input: cannot read: %s", strerror(errno));
        if (n == 0) return STATUS_OK;
        q->length += (size_t)n;
    }
    return error_set(e, STATUS_USER,
                     "standard input: expected a prompt that fits into the context, %d tokens; "
                     "--slide takes any",
                     p->m->context);
}

static int read_prompt(const Program *p, Prompt *q, const Tokenizer *t, Error *e) {
    const char *given = option(p, OPTION_PROMPT)->text;
    bool input = strcmp(given, "-") == 0;
    int status = STATUS_OK;
    if (input) status = generate_read_input(p, q, e);
    else *q = (Prompt){ .text = (char *)given, .length = strlen(given) };
    if (status) return status;
    TokenIds ids = { .width = sizeof *q->ids, .grows = true, .template = true, .open = true };
    status = token_ids_encode(&ids, t, input ? "standard input" : "--prompt", q->text, q->length,
                              e);
    q->ids = ids.at;
    q->count = ids.count;
    q->unknown = ids.unknown;
    q->stray = ids.stray;
    if (!status && q->count == 0)
        return error_set(e, STATUS_USER,
                         "generate: --prompt: expected at least one token, found nothing");
    return status;
}

/* How many tokens to write: as asked, within the context unless it slides. */
static int count_tokens(const Program *p, const Prompt *q, int64_t *count, Error *e) {
    const OptionValue *most = option(p, OPTION_MAX_TOKENS);
    int64_t context = p->m->context;
    if (slides(p)) {
        *count = most->given ? most->count : context;
        return STATUS_OK;
    }
    if (q->count > context)
        return error_set(e, STATUS_USER,
                         "generate: --prompt: expected at most the context, %lld tokens, found "
                         "%lld; --slide reads "
                         "the last part of it, or a model can be built with a larger context",
                         (long long)context, (long long)q->count);
    *count = most->given ? most->count : context - q->count;
    if (q->count + *count > context)
        return error_set(
            e, STATUS_USER,
            "generate: --max-tokens: expected at most %lld, what a prompt of %lld tokens "
            "leaves of the context of %lld, found %lld",
            (long long)(context - q->count), (long long)q->count, (long long)context,
            (long long)*count);
    return STATUS_OK;
}

static int show_prompt(const Prompt *q, Error *e) {
    if (!isatty(STDOUT_FILENO)) return STATUS_OK;
    bool plain = getenv("NO_COLOR") && *getenv("NO_COLOR");
    Text t = { 0 };
    text_add(&t, "%s", plain ? "" : "\033[2m");
    size_t room = text_escape_room(q->length);
    char *shown = malloc(room);
    if (shown) text_bytes(&t, shown, text_escape_lines(shown, room, q->text, q->length));
    else t.failed = true;
    free(shown);
    text_add(&t, "%s", plain ? "" : "\033[0m");
    return console_text(&t, e);
}

/* One of several texts, from the prompt on. */
static int sample(TokenWriter *x, const Prompt *q, int64_t count, Error *e) {
    int status = writing_read(x, q->ids, q->count, e);
    if (!status) status = show_prompt(q, e);
    if (!status) status = writing_answer(x, count, e);
    return status ? status : writing_end(x, e);
}

/* Numbers that nobody typed. */
static void tell_sampling(const TokenWriter *x) {
    Text line = { 0 };
    writing_tell(x, &line);
    if (line.length) (void)!write(STDERR_FILENO, line.at, line.length);
    text_free(&line);
}

static int generate(const Program *p, Session *s, const Tokenizer *t, const Prompt *q,
                    int64_t count, Error *e) {
    TokenWriter x = { 0 };
    int64_t samples = option(p, OPTION_SAMPLES)->count;
    writing_settings(&x, p, t, "generate");
    int status = writing_open(&x, p, s, e);
    if (!status) tell_sampling(&x);
    if (!status) status = sample(&x, q, count, e);
    for (int64_t i = 1; i < samples && !status && !x.closed; i++) {
        status = console_write("---\n", 4, &x.closed, e);
        if (!status) status = sequence_reset(x.sequence, x.how.sampling.seed + (uint64_t)i, e);
        if (!status) status = sample(&x, q, count, e);
    }
    if (!status) writing_tell_draft(&x);
    writing_close(&x);
    return status;
}

/* Which weights they are is told to somebody who watches. */
static void tell_weights(const char *about) {
    char line[ABOUT_WEIGHTS + 16];
    int n = print_text(line, sizeof line, "weights: %s\n", about);
    if (*about && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO))
        (void)!write(STDERR_FILENO, line, (size_t)n);
}

static void tell_prompt(const Tokenizer *t, const Prompt *q) {
    char words[UNKNOWN_WORDS], twice[TWICE_WORDS], stray[STRAY_WORDS];
    program_note(program_tokenizer_twice(twice, t, "the prompt", q->text, q->length));
    program_note(tokenizer_unknown(words, t, "the prompt", q->unknown, q->count));
    program_note(tokenizer_stray(stray, t, "the prompt", q->stray));
}

int command_generate(const Program *p, Error *e) {
    Session s = { 0 };
    char about[ABOUT_WEIGHTS];
    Tokenizer t = { 0 };
    Prompt q = { 0 };
    int64_t count = 0;
    int status = program_causal(p, "generate", e);
    if (!status) status = options_require(&p->options, OPTION_WEIGHTS, e);
    if (!status) status = program_session(p, &s, e);
    if (!status) status = program_weights_about(p, &s, &t, about, e);
    if (!status) tell_weights(about);
    if (!status) status = program_reads_text(p, e);
    if (!status) status = read_prompt(p, &q, &t, e);
    if (!status) tell_prompt(&t, &q);
    if (!status) status = count_tokens(p, &q, &count, e);
    if (!status) status = generate(p, &s, &t, &q, count, e);
    if (q.owned) free(q.text);
    free(q.ids);
    tokenizer_free(&t);
    session_close(&s);
    return status;
}
