/* SPDX-License-Identifier: MIT
** Depth mixing as a picture, the same everywhere: reads below each other, sources side by side.  A
** cell is the weight with which a read takes a source; its shade follows the square root.
** Sublayers have short names on the axes, "3a" for layers.3.attention.
*/
#ifndef STRATA_DEPTH_MAP_H
#define STRATA_DEPTH_MAP_H

#include "chart.h"

enum { DEPTH_NAME = 16 };

/* Read i takes sources 0, the embedding, to i; source i > 0 is the output of the sublayer of read
** i - 1. */
typedef struct DepthMap {
    const double *weight; /* [size, size] */
    int size;
    const char *const *read; /* [size]: their sites, the final read's last */
    double scale;            /* the weight that has the strongest colour */
    const bool *boundary;    /* [size]: a block begins at this source; NULL: nowhere */
    const char *label;       /* NULL: depth-mixing matrix */
    double letter;           /* of HeatMap */
} DepthMap;

void depth_map(const DepthMap *m, Text *t);
/* What is inside of it, in another picture, CHART_WIDTH wide; returns how high. */
double depth_map_inside(const DepthMap *m, Text *t);

/* Names of n sublayers from their sites: the layer's number and as many letters as tell their
** kinds apart; what is in no layer has the first letters of its own name, the last read "out". */
void depth_names(const char *const *site, int n, char (*to)[DEPTH_NAME]);

/* Where blocks begin: runs of sources that the final read takes alike, to a part of 'tolerance'.
** false, and all of 'to' false: it takes all alike, or no two. */
bool depth_blocks(const double *weight, int size, double tolerance, bool *to);

/* Does every read take every source there is with the weight 1, as a residual stream does? */
bool depth_all_ones(const double *weight, int size, double tolerance);

/* What is said of the picture below its heading, and in its place where all weights are one. */
extern const char depth_map_note[], depth_ones_note[];

#endif
