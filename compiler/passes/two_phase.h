/* SPDX-License-Identifier: MIT
** Two-phase depth reads: shared by the files two_phase*.c.
**
** A read is h = sum over j of w_j v_j.  The v_j are activations in a stack.  The weights are a
** softmax, or functions of each source alone, made from the sources and from values that depend on
** no activation.  Consecutive reads share those sources that are complete before the first of the
** reads: such reads are a group.
*/
#ifndef STRATA_TWO_PHASE_H
#define STRATA_TWO_PHASE_H

#include "passes.h"
#include "rebuild.h"

typedef struct StackRead {
    const Node *root;             /* sum over axis 0 of weights * values */
    const Node *weights, *values; /* a row per source each; values: the stack, perhaps reshaped */
    const Node *stack;
    const Node *softmax; /* that the weights are; NULL: weights of each source alone */
    int axis;            /* of the sources in softmax */
} StackRead;

/* Reads first ... first+count-1. */
typedef struct ReadGroup {
    int first, count;
} ReadGroup;

/* Notes on a node of the old graph during one walk; valid if 'walk' equals that of the notes. */
typedef struct Note {
    int walk, axis;
    Node *copy;
} Note;
typedef struct Notes {
    int walk;
    Note *at;
    bool *given; /* by old id: depends on parameters and inputs of the call, and on no activation */
    bool *ahead; /* by old id: a given value of tokens that a read's weights use */
} Notes;

/* == two_phase_split.c: expressions over some of the sources ============== */

/* Notes of g's nodes, none walked yet. */
Notes notes_new(Graph *g);

/* The axis of x that is y's axis 'axis', y being x reshaped; -1: none is. */
int split_axis(const Node *x, const Node *y, int axis);
/* Whether n, whose axis 'axis' is that of the sources, is computed from each source separately. */
bool split_possible(const Node *n, int axis, const Node *stack, Notes *notes);
/* Builds n for the picked sources only in r->to, which already has everything that they need. */
Node *split_build(Rebuild *r, const Node *n, int axis, const int *pick, int count, Notes *notes);

/* == two_phase_cost.c: which reads go together ============================ */

/* Notes which sources of the group's first read all of its reads have. */
int group_shared(const StackRead *read, ReadGroup g, Notes *notes);
bool group_shares(const Notes *notes, const Node *source);
/* Cuts n reads into groups of one or more; returns how many. */
int groups_choose(Graph *mem, const StackRead *read, int n, TwoPhase how, Notes *notes,
                  ReadGroup *out);

#endif
