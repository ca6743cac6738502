/* SPDX-License-Identifier: MIT
** The time of products beyond their FLOPs, for predicted times: products with few columns or few
** steps are slower per FLOP.  A tile always computes the columns of a whole panel; it initialises
** and stores its sums whatever the number of steps; and a gradient of weights packs rows of both
** operands, those of the left one again for every block of columns.
*/
#include "tables.h"
#include "packed.h"

#include <math.h>

static double products_elements(const Node *n) { return (double)shape_count(&n->shape); }

static double whole(double columns, double panel) { return ceil(columns / panel) * panel; }

/* x w^T or dy w of 'columns' sums of so many steps. */
static double tiles(const Tables *t, double columns, double steps, double panel) {
    return whole(columns, panel) * (steps + t->rates.target->tile_steps) - columns * steps;
}

/* dw[rows, columns] */
static double gradient(const Tables *t, double rows, double columns, double panel) {
    double blocks = whole(columns, BLOCK) / BLOCK;
    return rows * (whole(columns, panel) - columns)
        + t->rates.target->packing * (columns + rows * blocks);
}

double cost_product_functions(const Tables *t, const Node *n) {
    double panel = 2 * t->rates.lanes;
    switch (op_info[n->op].class) {
    case CONTRACT: return tiles(t, products_elements(n), products_elements(n->in[0]), panel);
    case OUTER: return gradient(t, (double)n->shape.dim[0], (double)n->shape.dim[1], panel);
    default: return 0;
    }
}
