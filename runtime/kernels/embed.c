/* SPDX-License-Identifier: MIT
** Rows of a table by id, and the gradient of the table.  In the gradient a task
** owns columns, not tokens, so tokens that share an id are added in order.
*/
#include "kernels.h"
#include "pack.h"

void k_embed(int64_t n, int64_t d, const float *w, int64_t ldw, const int32_t *ids, float *y,
             int64_t ldy) {
    for (int64_t t = 0; t < n; t++) {
        const float *from = w + ids[t] * ldw;
        float *to = y + t * ldy;
        int64_t c = 0;
        for (; c + LANES <= d; c += LANES)
            v_store(to + c, v_load(from + c));
        if (c < d) v_store_part(to + c, v_load_part(from + c, d - c), d - c);
    }
}

void k_embed_bf16(int64_t n, int64_t d, const uint16_t *w, int64_t ldw, const int32_t *ids,
                  float *y, int64_t ldy) {
    for (int64_t t = 0; t < n; t++)
        widen(d, w + ids[t] * ldw, y + t * ldy);
}

void k_embed_weight(int64_t n, int64_t c0, int64_t c1, const float *dy, int64_t lddy,
                    const int32_t *ids, int64_t rows, float *dw, int64_t lddw) {
    for (int64_t t = 0; t < n; t++) {
        if (ids[t] >= rows) continue;
        const float *from = dy + t * lddy;
        float *to = dw + ids[t] * lddw;
        int64_t c = c0;
        for (; c + LANES <= c1; c += LANES)
            v_store(to + c, v_load(to + c) + v_load(from + c));
        if (c < c1)
            v_store_part(to + c, v_load_part(to + c, c1 - c) + v_load_part(from + c, c1 - c),
                         c1 - c);
    }
}
