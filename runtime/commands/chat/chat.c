/* SPDX-License-Identifier: MIT
** The command chat: a line of standard input is a message, and the answer appears token by token,
** until the input ends.  The sequence stays between messages, so that nothing is read again.  An
** interrupt ends an answer, or drops the line being typed, but does not end the program.
*/
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chat_template.h"
#include "commands.h"
#include "escape.h"
#include "writing.h"

static volatile int interrupted; /* set by the signal's handler */

static void interrupt(int number) {
    (void)number;
    interrupted = 1;
}

typedef struct Chat {
    const Program *p;
    const ChatTemplate *template;
    TokenWriter writing;
    int32_t stop;  /* the template's token that ends an answer; -1: none */
    bool terminal; /* somebody types */
    bool answered; /* there is an answer whose end is not in the sequence yet */
    Text system;   /* what the conversation begins with; empty: nothing */
    Text lines;    /* of a message that goes on */
    char *line;    /* bytes of the input that were read */
    size_t length, room;
    bool ended;   /* the input has */
    int64_t most; /* tokens of an answer */
} Chat;

/* == Lines ================================================================ */

/* Moves what follows n bytes to the front. */
static void chat_drop(Chat *c, size_t n) {
    c->length -= n;
    memmove(c->line, c->line + n, c->length);
}

static void chat_tell(const char *text) { (void)!write(STDERR_FILENO, text, strlen(text)); }

/* More of the input; an interrupt drops the line, as terminals do. */
static int read_more(Chat *c, Error *e) {
    if (c->length == c->room)
        return error_set(e, STATUS_LIMIT,
                         "chat: expected a message of at most %zu bytes, found a longer one",
                         c->room);
    ssize_t n = read(STDIN_FILENO, c->line + c->length, c->room - c->length);
    if (n < 0 && errno == EINTR) {
        if (interrupted && c->terminal) chat_tell("\n(Ctrl-D or /quit ends)\n> ");
        if (interrupted) c->length = 0;
        interrupted = 0;
        return STATUS_OK;
    }
    if (n < 0) return error_set(e, STATUS_IO, "standard input: cannot read: %s", strerror(errno));
    if (n == 0) c->ended = true;
    c->length += n > 0 ? (size_t)n : 0;
    return STATUS_OK;
}

/* The next line, *n bytes at c->line without its end; 'taken' bytes of it are to be dropped. */
static int chat_next_line(Chat *c, size_t *n, size_t *taken, Error *e) {
    if (c->terminal) chat_tell("> ");
    for (;;) {
        char *end = memchr(c->line, '\n', c->length);
        *n = end ? (size_t)(end - c->line) : c->length;
        *taken = *n + (end != NULL);
        if (end || c->ended) return STATUS_OK;
        int status = read_more(c, e);
        if (status) return status;
    }
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* == Messages ============================================================= */

/* The end of the last answer, and what follows it. */
static int add_end(const Chat *c, TokenIds *ids, Error *e) {
    const ChatTemplate *t = c->template;
    int32_t end = c->stop >= 0 ? c->stop : c->writing.tokenizer->end;
    if (!c->answered) return STATUS_OK;
    if (!t->end_byte && end >= 0) token_ids_add(ids, end);
    return chat_template_write(c->writing.tokenizer, t->after, "", 0, ids, e);
}

/* What the conversation begins with. */
static int add_begin(const Chat *c, TokenIds *ids, Error *e) {
    const Tokenizer *t = c->writing.tokenizer;
    TokenIds own = { .width = 4, .grows = true, .template = true, .open = true };
    int status = token_ids_encode(&own, t, "begin", "", 0, e);
    const int32_t *id = own.at;
    for (int64_t i = 0; i < own.count; i++)
        token_ids_add(ids, id[i]);
    int32_t first = own.count ? -1 : tokenizer_find(t, c->template->begin);
    if (!status && first >= 0) token_ids_add(ids, first);
    free(own.at);
    if (status || !c->system.length || chat_template_inner_system(c->template)) return status;
    return chat_template_write(t, c->template->system, c->system.at, c->system.length, ids, e);
}

/* Tokens of the conversation. */
static int64_t said(const Chat *c) { return sequence_tokens(c->writing.sequence); }

static int full(const Chat *c, int64_t count, Error *e) {
    return error_set(e, STATUS_USER,
                     "chat: expected a conversation of at most the context, %d tokens, found %lld; "
                     "/reset begins another",
                     c->p->m->context, (long long)(c->writing.sequence->position + count));
}

/* A note in the place of an error that ends nothing. */
static void note(const Error *e) {
    Text t = { 0 };
    char shown[sizeof e->text * 2];
    text_escape_lines(shown, sizeof shown, e->text, strlen(e->text));
    text_add(&t, "note: %s\n", shown);
    if (t.at) chat_tell(t.at);
    text_free(&t);
}

static int answer(Chat *c, const TokenIds *ids, Error *e) {
    TokenWriter *x = &c->writing;
    int64_t left = c->p->m->context - said(c) - ids->count;
    int status = writing_read(x, ids->at, ids->count, e);
    c->answered = true;
    if (!status) status = writing_answer(x, c->most < left ? c->most : left, e);
    if (!status) status = writing_end(x, e);
    if (!status && !isatty(STDOUT_FILENO) && !c->template->end_byte && !x->last)
        status = console_write("\n", 1, &x->closed, e);
    if (!status && c->most >= left && said(c) >= c->p->m->context)
        chat_tell("note: the context is full; /reset begins another conversation\n");
    interrupted = 0;
    return status;
}

/* What is read before an answer: the first message may have the system message within it. */
static int add_message(const Chat *c, const char *text, size_t length, TokenIds *ids, Error *e) {
    const TokenWriter *x = &c->writing;
    const ChatTemplate *t = c->template;
    Text both = { 0 };
    int status = said(c) ? add_end(c, ids, e) : add_begin(c, ids, e);
    if (status) return status;
    if (!said(c) && c->system.length && chat_template_inner_system(t)) {
        text_bytes(&both, c->system.at, c->system.length);
        text_bytes(&both, t->system + 2, strlen(t->system + 2));
    }
    text_bytes(&both, text, length);
    status = text_status(&both, e);
    if (!status) status = chat_template_write(x->tokenizer, t->user, both.at, both.length, ids, e);
    text_free(&both);
    return status;
}

/* What the model does not get as it was typed. */
static void chat_tell_text(const Tokenizer *t, const TokenIds *ids) {
    char unknown[UNKNOWN_WORDS], stray[STRAY_WORDS];
    program_note(tokenizer_unknown(unknown, t, "the message", ids->unknown, ids->count));
    program_note(tokenizer_stray(stray, t, "the message", ids->stray));
}

/* One message and its answer; what cannot be read leaves the conversation as it was. */
static int message(Chat *c, const char *text, size_t length, Error *e) {
    TokenIds ids = { .width = 4, .grows = true };
    const TokenWriter *x = &c->writing;
    int status = add_message(c, text, length, &ids, e);
    if (!status && said(c) + ids.count >= c->p->m->context) status = full(c, ids.count, e);
    else if (!status) {
        chat_tell_text(x->tokenizer, &ids);
        status = answer(c, &ids, e);
        free(ids.at);
        return status;
    }
    if (status == STATUS_USER && c->terminal) { /* who types can go on */
        note(e);
        *e = (Error){ 0 };
        status = STATUS_OK;
    }
    free(ids.at);
    return status;
}

static const char help[] = "/reset   begins another conversation\n/quit    ends, as does Ctrl-D\n"
                           "//TEXT   says /TEXT\n"
                           "\\        at a line's end: the message goes on in the next\n"
                           "Ctrl-C   ends an answer\n";

static void unknown_command(const char *word) {
    Text t = { 0 };
    char shown[256];
    text_escape_lines(shown, sizeof shown, word, strlen(word) < 60 ? strlen(word) : 60);
    text_add(&t,
             "note: expected /reset, /quit or /help, found %s: it was not said to the model; "
             "/%s says it\n",
             shown, shown);
    if (t.at) chat_tell(t.at);
    text_free(&t);
}

/* A line that begins with a slash; *quit: it ends the program. */
static int chat_command(Chat *c, const char *word, bool *quit, Error *e) {
    *quit = !strcmp(word, "/quit");
    if (*quit) return STATUS_OK;
    if (!strcmp(word, "/reset")) {
        c->answered = false;
        return sequence_reset(c->writing.sequence, c->writing.how.sampling.seed, e);
    }
    if (!strcmp(word, "/help")) chat_tell(help);
    else unknown_command(word);
    return STATUS_OK;
}

/* One word of letters behind a slash; /etc/hosts, and what has more words, is a message. */
static bool is_command(const char *text, size_t length) {
    size_t n = 1;
    while (n < length && ((text[n] | 32) >= 'a' && (text[n] | 32) <= 'z'))
        n++;
    return length > 1 && *text == '/' && n == length;
}

/* A line that ends with a backslash is kept for the next one. */
static int chat_next_part(Chat *c, const char *text, size_t length, bool *quit, Error *e) {
    bool goes_on = length && text[length - 1] == '\\' && !c->ended;
    if (!c->lines.length && is_command(text, length)) {
        char *word = strndup(text, length);
        int status = word ? chat_command(c, word, quit, e) : error_memory(e, "chat", length);
        free(word);
        return status;
    }
    if (!c->lines.length && length > 1 && !strncmp(text, "//", 2)) text++, length--;
    text_bytes(&c->lines, text, length - goes_on);
    if (goes_on) text_add(&c->lines, "\n");
    int status = text_status(&c->lines, e);
    if (status || goes_on) return status;
    if (c->lines.length) status = message(c, c->lines.at, c->lines.length, e);
    text_clear(&c->lines);
    return status;
}

static int converse(Chat *c, Error *e) {
    bool quit = false;
    int status = STATUS_OK;
    while (!status && !quit && !c->writing.closed) {
        size_t n, taken, from = 0;
        status = chat_next_line(c, &n, &taken, e);
        if (status || (!taken && c->ended)) break;
        while (n > from && is_blank(c->line[n - 1]))
            n--;
        while (from < n && !c->lines.length && is_blank(c->line[from]))
            from++;
        if (from < n || c->lines.length)
            status = chat_next_part(c, c->line + from, n - from, &quit, e);
        chat_drop(c, taken);
    }
    if (!status && c->lines.length) status = message(c, c->lines.at, c->lines.length, e);
    if (c->terminal && c->ended) chat_tell("\n");
    return status;
}

/* == The command ========================================================== */

static int check_system(const Chat *c, Error *e) {
    if (!option(c->p, OPTION_SYSTEM)->given || *c->template->system) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "chat: --system: expected a template that has a system message, found %s",
                     c->template->name);
}

/* --system, else what the checkpoint's template has in its place. */
static int find_system(Chat *c, const Tokenizer *t, Error *e) {
    const char *given = option(c->p, OPTION_SYSTEM)->text, *template = t->facts.template;
    if (given) text_bytes(&c->system, given, strlen(given));
    else if (template && chat_template_family(template) == c->template)
        chat_template_default(c->template, template, &c->system);
    return text_status(&c->system, e);
}

/* What ends an answer, besides the ends of other texts: the template's end, and an interrupt. */
static void open_answers(Chat *c, const Tokenizer *t) {
    TokenWriter *x = &c->writing;
    writing_settings(x, c->p, t, "chat");
    c->stop = tokenizer_find(t, c->template->end);
    x->how.token = &c->stop;
    x->how.tokens = c->stop >= 0;
    x->how.stop_byte = c->template->end_byte;
    x->interrupted = &interrupted;
}

static int open_chat(Chat *c, Session *s, const Tokenizer *t, Error *e) {
    const OptionValue *most = option(c->p, OPTION_MAX_TOKENS);
    int status = chat_template_find(option(c->p, OPTION_TEMPLATE)->text, t, &c->template, e);
    if (!status) status = check_system(c, e);
    if (!status) status = find_system(c, t, e);
    if (status) return status;
    open_answers(c, t);
    status = writing_open(&c->writing, c->p, s, e);
    if (status) return status;
    c->most = most->given ? most->count : c->p->m->context;
    c->terminal = isatty(STDIN_FILENO);
    c->room = (size_t)c->p->m->context * LONGEST_TOKEN;
    c->line = malloc(c->room + 1);
    return c->line ? STATUS_OK : error_memory(e, "chat", c->room);
}

static void hold_interrupts(void) {
    struct sigaction how = { .sa_handler = interrupt }; /* reads are interrupted */
    sigemptyset(&how.sa_mask);
    sigaction(SIGINT, &how, NULL);
}

/* Which form it is, and what is known of the checkpoint's own. */
static void add_form(const Chat *c, Text *t) {
    const Tokenizer *own = c->writing.tokenizer;
    const char *template = own->facts.template, *name = c->template->name;
    const ChatTemplate *family = template ? chat_template_family(template) : NULL;
    text_add(t, "template: %s", name);
    if (!template || option(c->p, OPTION_TEMPLATE)->given) return;
    if (family == c->template) {
        text_add(t, ", by what the checkpoint's own writes");
        return;
    }
    Text tokens = { 0 };
    chat_template_tokens(own, template, &tokens);
    text_add(
        t,
        ", in the place of the checkpoint's own, which is none of the forms that are known%s%s: "
        "answers may be worse than they could be; --template chooses",
        tokens.length ? " and writes " : "", tokens.length ? tokens.at : "");
    text_free(&tokens);
}

static void greet(const Chat *c) {
    Text t = { 0 };
    add_form(c, &t);
    text_add(&t, "%s\n", c->terminal ? "; /reset begins again, /quit ends" : "");
    if (c->system.length && !option(c->p, OPTION_SYSTEM)->given) {
        char shown[2048];
        text_escape_lines(shown, sizeof shown, c->system.at,
                          c->system.length < 400 ? c->system.length : 400);
        text_add(&t, "system: %s (the template's own; --system says another, --system '' none)\n",
                 shown);
    }
    writing_tell(&c->writing, &t);
    if (t.at) chat_tell(t.at);
    text_free(&t);
}

int command_chat(const Program *p, Error *e) {
    Session s = { 0 };
    Tokenizer t = { 0 };
    Chat c = { .p = p };
    int status = program_causal(p, "chat", e);
    if (!status) status = options_require(&p->options, OPTION_WEIGHTS, e);
    if (!status) status = program_session(p, &s, e);
    if (!status) status = program_weights(p, &s, &t, e);
    if (!status) status = program_reads_text(p, e);
    if (!status) status = open_chat(&c, &s, &t, e);
    if (!status) hold_interrupts(), greet(&c);
    if (!status) status = converse(&c, e);
    if (!status) writing_tell_draft(&c.writing);
    free(c.line);
    text_free(&c.system);
    text_free(&c.lines);
    writing_close(&c.writing);
    tokenizer_free(&t);
    session_close(&s);
    return status;
}
