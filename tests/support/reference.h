/* SPDX-License-Identifier: MIT
** A second implementation of small models, for mixers to be checked against: the
** embedding, norms, MLPs and the head by the formulas, in float64.  A test says how
** its mixer goes from embeddings to what the final norm reads.  Models have only
** MLPs, in layers of one or two.
*/
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include "numeric.h"
#include "spec.h"

/* Width, vocabulary, hidden units, tokens, sublayers, layers. */
enum { D = 8, V = 11, F = 6, T = 5, S = 7, LAYERS = 4 };

/* Sublayers of each layer: ragged on purpose. */
extern const int in_layer[LAYERS];

typedef struct Reference {
    const char *residual, *activation; /* as the spec says; NULL: swiglu */
    bool layernorm, learned, bare;     /* instead of RMSNorm; positions; sublayers without norms */
    double eps;
    const void *options; /* the mixer's, in the test's own words */
    Model *m;
    Case *c;
    bool used[512];
} Reference;

/* From embeddings to what the final norm reads. */
typedef void Mix(Reference *r, double x[T][D]);

void reference_open(void **state, Reference *r);
void reference_close(Reference *r);
double *reference_logits(const Reference *r); /* the interpreter's, [T, V], malloc'ed */
void expect_close(const char *what, const double *got, const double *want, double tolerance);

/* Opens; the interpreter's logits are those of 'mix', which uses every parameter, and
** its gradients those of finite differences; closes. */
void reference_check(void **state, Reference *r, Mix *mix);

/* The values of a parameter; it counts as used. */
const double *P(Reference *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void site_name(int s, char *out);   /* "layers.1.a" */
void read_prefix(int s, char *out); /* of the read before sublayer s; S is the final read */

double dot(const double *a, const double *b, int n);
double rms(const double *v, double eps);                        /* sqrt(mean(v^2) + eps), of [D] */
void add_to(double *y, double k, const double *x);              /* y += k x, [D] */
void sublayer(Reference *r, int s, const double *h, double *u); /* u = MLP(norm(h)) */

#endif
