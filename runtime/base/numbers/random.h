/* SPDX-License-Identifier: MIT
** Counter-based random numbers: Philox4x32-10.  There is no state to save or share: a number
** depends only on its key and counter, and is the same on every machine, in any order, on any
** thread.  Normal deviates use only additions, products, divisions and square roots, so no
** mathematics library can change them.
*/
#ifndef STRATA_RANDOM_H
#define STRATA_RANDOM_H

#include <stdint.h>

/* Uniform in 0 … n-1, without bias, for n >= 1; a function of (seed, step, row). */
uint64_t random_below(uint64_t seed, uint64_t step, uint32_t row, uint64_t n);

/* Uniform in [0, 1), 53 bits; a function of (seed, stream, index): sampling takes
** the sequence's number as stream and the token's position as index. */
double random_uniform(uint64_t seed, uint32_t stream, uint64_t index);

/* Not 0; another for each step: what forward_backward draws by. */
uint64_t random_draw(uint64_t seed, uint64_t step);

/* out[i] = deviation * normal(seed, stream, first + i); any 'first', any pieces. */
void random_normal(uint64_t seed, uint64_t stream, int64_t first, int64_t count, double deviation,
                   float *out);

/* A line through 'count' >= 2 numbers, evenly far from each other. */
typedef struct Evenly {
    const double *at;
    int64_t count;
} Evenly;

/* out[i]: what a uniformly distributed place on the line has, by (seed, stream, first + i). */
void random_even(uint64_t seed, uint64_t stream, Evenly line, int64_t first, int64_t count,
                 float *out);

/* The stream of a parameter: a hash of its name. */
uint64_t random_stream(const char *name);

/* How a parameter begins.  kind 0: all 'value'; 1: normal, deviation 'value'; 2: 'list', a value
** each; 3: where random places fall on the line through the first 'points' of 'list'. */
typedef struct InitialValues {
    int32_t kind;
    double value;
    const double *list;
    int64_t points;
} InitialValues;

/* Values [first, first + count) of a parameter of that name. */
void random_initial(const InitialValues *x, uint64_t seed, const char *name, int64_t first,
                    int64_t count, float *out);

#endif
