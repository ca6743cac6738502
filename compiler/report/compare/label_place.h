/* SPDX-License-Identifier: MIT
** Places the names of a picture's dots so that they overlap nothing else.
*/
#ifndef STRATA_LABEL_PLACE_H
#define STRATA_LABEL_PLACE_H

#include <stdbool.h>

typedef struct LabelBox {
    double left, top, right, bottom;
} LabelBox;

enum { BOXES_MOST = 160 };

/* What there is in a picture; 'edge' is what names stay in. */
typedef struct LabelBoxes {
    LabelBox edge, box[BOXES_MOST];
    int n;
} LabelBoxes;

bool box_meets(const LabelBox *a, const LabelBox *b);
void boxes_add(LabelBoxes *b, LabelBox box);
/* A place for a name so wide and high near (x, y), which is taken then; false: there is none. */
bool label_place(LabelBoxes *b, double x, double y, double width, double height, LabelBox *to);

#endif
