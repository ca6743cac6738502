/* SPDX-License-Identifier: MIT
** Heat maps and line charts, for pages that include svg_page_style.
*/
#ifndef STRATA_CHART_H
#define STRATA_CHART_H

#include "svg.h"

enum { CHART_WIDTH = 400 };

/* A matrix as colours, two hues that the colour-blind tell apart: blue for negative and
** orange for positive values, paler towards 0; values that are not finite stay blank.
** Beyond 'scale' there are no more colours. */
typedef struct HeatMap {
    const double *value; /* [rows, columns] */
    int rows, columns;
    double scale;
    bool root; /* shaded by the square root: a few large values leave the others shades */
    const char *label, *across, *down; /* of the picture, of columns and rows */
    /* names on the axes, and in the sentence below the pointer, "ROW VERB COLUMN: VALUE"; NULL:
    ** numbers */
    const char *const *row, *const *column, *const *row_said, *const *column_said;
    const char *verb;
    bool lower;       /* nothing is above the diagonal */
    int period, lead; /* names are left out by whole periods, of columns after the first 'lead' */
    const bool *boundary; /* [columns]: a line is drawn before it; NULL: nowhere */
    double letter;        /* the height of names, in pixels of the picture; 0: 12 */
} HeatMap;

void chart_heat_map(const HeatMap *m, Text *t);
/* The same in another picture: what is inside, CHART_WIDTH wide, so high. */
void chart_heat_cells(const HeatMap *m, Text *t);
double chart_heat_height(const HeatMap *m);
/* The colours from -scale to scale. */
void chart_scale(double scale, bool root, Text *t);
void chart_scale_bar(double scale, bool root, Text *t); /* the same in another picture */

/* Lines or bars over 0 … count-1, one for each series; what is not finite is left out. */
typedef struct LineChart {
    const double *const *series;
    const char *const *name;
    int nseries, count;
    const char *label, *across, *up;
    bool zero;               /* the scale begins at 0; bars' does always */
    bool bars;               /* things beside each other, not steps of one way */
    const char *const *item; /* [count]: names, across; NULL: numbers */
} LineChart;

void chart_lines(const LineChart *c, Text *t);

#endif
