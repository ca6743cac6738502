/* SPDX-License-Identifier: MIT
** See label_place.h.  Places are tried from near to far: right and left of the dot, above and
** below, then at its corners.
*/
#include "label_place.h"

enum { AWAY = 9, RINGS = 5 };

bool box_meets(const LabelBox *a, const LabelBox *b) {
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

void boxes_add(LabelBoxes *b, LabelBox box) {
    if (b->n < BOXES_MOST) b->box[b->n++] = box;
}

static bool is_free(const LabelBoxes *b, const LabelBox *x) {
    const LabelBox *edge = &b->edge;
    if (x->left < edge->left || x->right > edge->right || x->top < edge->top
        || x->bottom > edge->bottom)
        return false;
    for (int i = 0; i < b->n; i++)
        if (box_meets(&b->box[i], x)) return false;
    return b->n < BOXES_MOST;
}

bool label_place(LabelBoxes *b, double x, double y, double width, double height, LabelBox *to) {
    static const int side[][2] = { { 1, 0 },  { -1, 0 }, { 0, -1 },  { 0, 1 },
                                   { 1, -1 }, { 1, 1 },  { -1, -1 }, { -1, 1 } };
    for (int ring = 1; ring <= RINGS; ring++)
        for (int i = 0; i < 8; i++) {
            double away = ring * AWAY, across = side[i][0] * (away + width / 2),
                   down = side[i][1] * (away + height / 2);
            *to = (LabelBox){ x + across - width / 2, y + down - height / 2, x + across + width / 2,
                              y + down + height / 2 };
            if (!is_free(b, to)) continue;
            boxes_add(b, *to);
            return true;
        }
    return false;
}
