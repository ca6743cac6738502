/* SPDX-License-Identifier: MIT
** How much of a model's work and cache remains with routes, for a sequence of some length,
** compared with its dense twin: the same spec without routes.  Work on the rows of a list is
** multiplied by the list's share of all tokens, pairs of tokens by the shares of queries and of
** keys.
**
** There are two ways to count: as papers publish it, and as executed, by the costs of the kernels.
*/
#ifndef STRATA_ROUTED_H
#define STRATA_ROUTED_H

#include "report.h"

/* Work as papers count it: the products of projections, MLPs and routers, and attention, of whose n
** x n pairs the share 'pairs' is counted.  Without embedding; with the product of the head if
** 'head'. */
typedef struct Convention {
    double pairs;
    bool head;
} Convention;

extern const Convention routed_published; /* all pairs, no head: what 'inspect' prints */

extern const double routed_usual; /* the share of a route that does not say its own */

/* of a number in a cache: in papers, and here, or whatever less build --cache makes of it */
enum { PUBLISHED_BYTES = 2, HELD_BYTES = 4 };

/* FLOPs of a sequence, forward, in the form that generates.  If the share is not finite, each route
** has its own.  'kind': FORWARD, or TRAINING for a training step. */
double routed_by_convention(const Report *r, Convention c, int64_t length, double share);
double routed_executed(const Report *r, int kind, int64_t length, double share);
/* Bytes of a sequence's keys and values; NAN: the model does not generate. */
double routed_cache(const Report *r, int bytes, int64_t length, double share);

typedef enum Counting { COUNT_PUBLISHED, COUNT_EXECUTED, COUNT_TRAINING, COUNTINGS } Counting;

/* All of it, and as shares of the twin's.  NAN: not in this build. */
typedef struct RoutedCost {
    double flops[COUNTINGS], flops_of_dense[COUNTINGS];
    double published_bytes, held_bytes, bytes_of_dense;
} RoutedCost;

RoutedCost routed_cost(const Report *r, int64_t length, double share);

/* How many lists of rows the model makes, and of them those whose route says its share. */
int routed_lists(const Report *r, int *known);
/* "10 % of the tokens" */
void routed_share_text(const Report *r, double share, char *to, size_t size);

/* For report.c: finds the routes' own shares and fills in what was not asked for. */
bool routed_prepare(Report *r);

#endif
