/* SPDX-License-Identifier: MIT
** The passage: tokens of the probed text one by one, with the number of routes that take each, for
** the terminal and as JSON.  A terminal with colours shows shades from pale to strong; otherwise
** the number stands below the token.
*/
#include "escape.h"
#include "probe.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

enum { COLUMNS = 72 };

#define NOTHING "\xc2\xb7"     /* a middle dot */
#define BREAK "\xe2\x86\xb5"   /* a return arrow */
#define ZERO "\xe2\x90\x80"    /* the sign for byte 0 */
#define BOX "\xe2\x96\xa1"     /* what is no character to be shown */
#define CARRIER "\xe2\x97\x8c" /* a dotted circle, for marks that combine with what is before */

/* == Pieces =============================================================== */

/* Byte 0 would end the piece: its sign stands there instead. */
static void passage_add_piece(Text *all, const Text *piece) {
    for (size_t i = 0; i < piece->length; i++)
        text_bytes(all, piece->at[i] ? piece->at + i : ZERO, piece->at[i] ? 1 : 3);
    text_bytes(all, "", 1);
}

/* Pointers to the pieces of 'all', and it, in one block. */
static char **piece_list(const Text *all, int count, Error *e) {
    size_t pointers = (size_t)count * sizeof(char *);
    char **list = malloc(pointers + all->length + 1);
    if (!list) {
        error_memory(e, "the passage", pointers + all->length);
        return NULL;
    }
    char *at = (char *)(list + count);
    memcpy(at, all->at ? all->at : "", all->at ? all->length : 1);
    for (int i = 0; i < count; i++, at += strlen(at) + 1)
        list[i] = at;
    return list;
}

int probe_passage(ProbeText *x, const Tokenizer *tokenizer, int64_t most, Error *e) {
    Decoder d = { 0 };
    Text all = { 0 };
    int status = STATUS_OK;
    x->shown = (int)(x->length < most ? x->length : most);
    for (int i = 0; i < x->shown && !status; i++) {
        if (tokenizer->kind) status = decoder_push(&d, tokenizer, x->tokens[i], e);
        if (!status) passage_add_piece(&all, &d.text);
    }
    if (!status) status = text_status(&all, e);
    x->piece = status ? NULL : piece_list(&all, x->shown, e);
    if (!status && !x->piece) status = STATUS_LIMIT;
    decoder_free(&d);
    text_free(&all);
    return status;
}

static int width_of(const char *s) {
    int32_t c;
    int width = 0;
    for (int n; (n = utf8_next(s, strlen(s), &c)) > 0; s += n)
        width += utf8proc_charwidth(c);
    return width;
}

void probe_piece(const Probe *x, int token, char to[PROBE_PIECE]) {
    const char *piece = x->text->piece[token];
    text_escape(to, PROBE_PIECE, piece, strlen(piece));
    if (!*piece) strcpy(to, NOTHING);
    else if (strcmp(piece, "\n") == 0) strcpy(to, BREAK);
    else if (!width_of(to)) print_text(to, PROBE_PIECE, CARRIER "%s", piece);
}

bool probe_ends_line(const Probe *x, int token) {
    const char *piece = x->text->piece[token];
    return *piece && piece[strlen(piece) - 1] == '\n';
}

void probe_sign(const Probe *x, int token, char to[PROBE_PIECE]) {
    int32_t point;
    probe_piece(x, token, to);
    if (*to == '\\' && x->text->piece[token][0] != '\\') strcpy(to, BOX);
    int first = utf8_next(to, strlen(to), &point),
        more = strncmp(to, CARRIER, 3) == 0 ? utf8_next(to + first, strlen(to + first), &point) : 0;
    to[first + (more > 0 ? more : 0)] = 0;
}

/* == Routes =============================================================== */

bool probe_takes(const Probe *x, int route, int token) {
    return x->taken[(size_t)route * (size_t)x->text->shown + (size_t)token];
}

int probe_count(const Probe *x, int token) {
    int count = 0;
    for (int i = 0; i < x->routes; i++)
        count += probe_takes(x, i, token);
    return count;
}

int probe_shade(const Probe *x, int count) {
    return (int)(((int64_t)count * PROBE_SHADES + x->routes - 1) / x->routes);
}

const char *probe_route(const Probe *x, int route) {
    static const char layers[] = "layers.";
    const char *site = strata_routed(x->m, route);
    return strncmp(site, layers, sizeof layers - 1) == 0 ? site + sizeof layers - 1 : site;
}

bool probe_shade_range(const Probe *x, int shade, int *low, int *high) {
    *low = x->routes + 1, *high = -1;
    for (int count = 0; count <= x->routes; count++)
        if (probe_shade(x, count) == shade) {
            *low = count < *low ? count : *low;
            *high = count;
        }
    return *high >= 0;
}

/* == Terminal ============================================================= */

/* Grey, then oranges of the 256 colours, below black: readable whatever the terminal's own are. */
static const int background[PROBE_SHADES + 1] = { 254, 230, 223, 216, 209, 202 };

typedef struct PassageLine {
    Text text, marks;
    int column;
} PassageLine;

static void end_line(PassageLine *l, bool colours, Text *t) {
    if (l->text.failed || l->marks.failed) {
        t->failed = true;
    } else if (l->column) {
        text_add(t, "  %s\n", l->text.at);
        if (!colours) text_add(t, "  %s\n", l->marks.at);
    }
    text_clear(&l->text), text_clear(&l->marks);
    l->column = 0;
}

/* 0 to 9, then letters; + beyond those. */
static char digit(int count) {
    return count < 10 ? (char)('0' + count) : count < 36 ? (char)('a' + count - 10) : '+';
}

static void passage_add_token(const Probe *x, int token, bool colours, PassageLine *l, Text *t) {
    char piece[PROBE_PIECE];
    int count = probe_count(x, token), width;
    probe_piece(x, token, piece);
    width = width_of(piece);
    if (l->column && l->column + width > COLUMNS) end_line(l, colours, t);
    if (colours)
        text_add(&l->text, "\033[38;5;16;48;5;%dm%s\033[0m", background[probe_shade(x, count)],
                 piece);
    else text_add(&l->text, "%s", piece);
    text_add(&l->marks, "%c%*s", digit(count), width - 1, "");
    l->column += width;
    if (probe_ends_line(x, token)) end_line(l, colours, t);
}

static void passage_add_legend(const Probe *x, bool colours, Text *t) {
    text_add(t, "  ");
    for (int shade = 0, low, high; colours && shade <= PROBE_SHADES; shade++)
        if (probe_shade_range(x, shade, &low, &high))
            text_add(t,
                     low < high ? "\033[38;5;16;48;5;%dm %d-%d \033[0m "
                                : "\033[38;5;16;48;5;%dm %d \033[0m ",
                     background[shade], low, high);
    text_add(
        t, "%s; " BREAK " a line break, " NOTHING " no text yet: a character's next bytes follow\n",
        colours              ? "routes"
            : x->routes < 10 ? "below each token: how many"
                             : "below each token: how many, a for 10, b for 11 …");
}

void probe_print_passage(const Probe *x, bool colours, Text *t) {
    PassageLine l = { 0 };
    if (!x->routes || !x->text->shown) return;
    text_add(t, "\nfirst %d tokens, by how many of %d routes take them\n", x->text->shown,
             x->routes);
    passage_add_legend(x, colours, t);
    for (int i = 0; i < x->text->shown; i++)
        passage_add_token(x, i, colours, &l, t);
    end_line(&l, colours, t);
    text_free(&l.text), text_free(&l.marks);
}

/* == JSON ================================================================= */

void probe_json_routes(const Probe *x, const char *key, Text *t) {
    text_add(t, "\"%s\": [", key);
    for (int i = 0; i < x->routes; i++) {
        text_add(t, i ? ", " : "");
        text_json_string(t, strata_routed(x->m, i));
    }
    text_add(t, "]");
}

static void json_taken(const Probe *x, int route, Text *t) {
    text_add(t, route ? ",\n  [" : "\n  [");
    for (int i = 0; i < x->text->shown; i++)
        text_add(t, i ? ", %d" : "%d", probe_takes(x, route, i));
    text_add(t, "]");
}

void probe_json_passage(const Probe *x, Text *t) {
    text_add(t, ", \"routed_tokens\": {\"tokens\": [");
    for (int i = 0; i < x->text->shown; i++)
        text_add(t, i ? ", %d" : "%d", x->text->tokens[i]);
    text_add(t, "],\n \"text\": [");
    for (int i = 0; i < x->text->shown; i++) {
        text_add(t, i ? ", " : "");
        text_json_string(t, x->text->piece[i]);
    }
    text_add(t, "],\n ");
    probe_json_routes(x, "layers", t);
    text_add(t, ",\n \"taken\": [");
    for (int i = 0; i < x->routes; i++)
        json_taken(x, i, t);
    text_add(t, "]}");
}
