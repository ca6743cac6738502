/* SPDX-License-Identifier: MIT
** What a trained model does inside, averaged over tokens of a text.  The model's probe
** (compiler/analysis/probe_graph.h) returns sums over tokens, from which this computes weights of
** reads, magnitudes and gradients by layer, and the loss without each layer.  What exists for some
** tokens only, in the sublayers of a routed layer, is averaged over these tokens.  The decisions
** of routes are also shown token by token for a passage.
**
** Sources of reads are numbered: 0 is the embedding, then the outputs of the sublayers.  Read r
** belongs to sublayer r, counted from 0, and the last one is the final read; it sees sources 0 …
** r.
*/
#ifndef STRATA_PROBE_H
#define STRATA_PROBE_H

#include "data.h"
#include "session.h"
#include "tokenizer.h"

/* Windows of a text: [count, length] each. */
typedef struct ProbeText {
    int32_t *tokens, *targets;
    int64_t count, length;
    int shown;               /* tokens of the passage, with which the first window begins */
    const char *const *name; /* of the text: files, or folders */
    int names;
    /* their texts; "": a character goes on in the next token, or there is no text */
    char **piece; /* one block */
} ProbeText;

/* What the rule of a buffer gets, per token: of experts, the share of tokens that each takes. */
typedef struct ProbeLoad {
    const char *buffer;
    int64_t count;
    double *mean; /* [count] */
} ProbeLoad;

typedef struct Probe {
    const strata_model *m;
    const ProbeText *text;
    double loss;    /* nats per token */
    int64_t tokens; /* that were looked at */
    int sources, reads, layers, gates;
    const char **source_site, **read_site, **layer_name, **gate_site;
    const char **read_for; /* the kind of sublayer: the last part of its site */
    /* [reads, sources]: mean over tokens, and its deviation; NULL: not followed */
    double *weight, *deviation;
    double *source_rms, *read_rms, *layer_rms;
    double *gate_mean, *gate_deviation;
    double *similarity; /* [layers, layers], cosines of layers' outputs; NULL: too many */
    /* [layers], of the parameters' gradients; NULL: no gradients in this program */
    double *gradient_norm;
    int routes;
    double *routed; /* [routes], share of tokens that each takes */
    /* [routes], outputs of what it decides about, at those tokens and at the others */
    double *taken_rms, *other_rms;
    uint8_t *taken;        /* [routes, passage]: 1 if the route takes the token */
    double *loss_increase; /* [layers], nats per token, the layer's outputs being 0 */
    int loads;
    ProbeLoad *load;
} Probe;

/* Probes the weights that are in s (session_weights). 'tells': shows progress on standard error. */
int probe_measure(Probe *x, Session *s, const ProbeText *text, bool tells, Error *e);
void probe_free(Probe *x);

/* Where a kind of sublayer takes its weight from, of absolute weights, in parts of 1. */
typedef struct ProbeShare {
    const char *kind; /* "attention", "mlp", …, the last part of a site */
    int reads;
    double embedding, diagonal, far; /* source 0; the newest source; all between */
} ProbeShare;

/* At most 'most' kinds in order of appearance; returns how many. */
int probe_shares(const Probe *x, ProbeShare *share, int most);

/* A source that reads further up take much of, whatever the input: it has at least
** twice an even share of their weight, on average, and its weight varies by less than half of
** itself over tokens. */
typedef struct ProbeSink {
    int source;
    double share, even; /* mean over those reads */
    double variation;   /* deviation over tokens, in parts of the weight */
} ProbeSink;

int probe_sinks(const Probe *x, ProbeSink *sink, int most);

/* probe_passage.c: the passage, its pieces of text told apart; 'most' tokens at most. */
int probe_passage(ProbeText *x, const Tokenizer *tokenizer, int64_t most, Error *e);
bool probe_takes(const Probe *x, int route, int token);
int probe_count(const Probe *x, int token);      /* routes that take it */
bool probe_ends_line(const Probe *x, int token); /* the last byte of its text is a line break */
/* A shade for so many routes of all, 0 for none to PROBE_SHADES for all. */
enum { PROBE_SHADES = 5 };
int probe_shade(const Probe *x, int count);
/* counts that have it; false: none */
bool probe_shade_range(const Probe *x, int shade, int *low, int *high);
const char *probe_route(const Probe *x, int route);               /* its site, without "layers." */
void probe_json_routes(const Probe *x, const char *key, Text *t); /* "KEY": their sites */
void probe_print_passage(const Probe *x, bool colours, Text *t);
void probe_json_passage(const Probe *x, Text *t);
/* A token as it can be shown: what drives terminals is escaped, a line break a sign, and something
** for nothing. */
enum { PROBE_PIECE = 128 };
void probe_piece(const Probe *x, int token, char to[PROBE_PIECE]);
/* Where there is room for one character: the first, with its carrier; a box for what is escaped. */
void probe_sign(const Probe *x, int token, char to[PROBE_PIECE]);
/* probe_passage_page.c: what each route takes, as text, picture and table. */
void probe_page_passage(const Probe *x, const char *title, Text *t);

/* probe_loads.c: of how many numbers, the largest and the smallest over their mean, how many are 0.
*/
typedef struct ProbeSpread {
    double largest, smallest;
    int64_t zeros;
} ProbeSpread;
ProbeSpread probe_spread(const ProbeLoad *x);
void probe_loads_free(Probe *x);
void probe_print_loads(const Probe *x, Text *t);
void probe_json_loads(const Probe *x, Text *t); /* "loads": by buffer */

/* probe_text.c: for the terminal, and as JSON; 'before' may be NULL. */
void probe_print(const Probe *x, const Probe *before, bool colours, Text *t);
void probe_json(const Probe *x, const Probe *before, Text *t);
/* Weights are measured in single precision over tokens. */
#define PROBE_ALIKE 1e-3

/* probe_summary.c: what there is to know first, in a sentence without its full stop; whether all
** weights of reads are ones, as those of a residual stream, so that they tell nothing. */
void probe_headline(const Probe *x, Text *t);
bool probe_all_ones(const Probe *x);

/* probe_mixing_page.c: pictures of depth mixing, shares, sinks. */
void probe_page_mixing(const Probe *x, const Probe *before, Text *t);
/* probe_page.c: one HTML file. */
void probe_page(const Probe *x, const Probe *before, const char *weights,
                const char *weights_before, Text *t);

#endif
