/*
** dx = dy w for few rows (decoding): rows of w as they lie, each added to results that are in
** registers: ROWS of them by COLUMNS vectors of columns.  An element is one chain of multiply-adds
** in order of the rows of w, in blocks and at the end of a row alike.
*/
#include "kernels.h"
#include "vector.h"

enum { ROWS = 2, COLUMNS = 8 };

typedef struct BackFew {
    int64_t m, lddy, ldw, lddx;
    const float *dy, *w;
    float *dx;
} BackFew;

/* 'rows' and 'columns' are constants where inlined; the last vector has 'left' numbers. */
INLINE void back_block(const int rows, const int columns, const BackFew *f, int64_t left) {
    V sum[ROWS][COLUMNS];
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++)
        sum[r][c] = v_zero();
    const float *w = f->w;
    for (int64_t i = 0; i < f->m; i++, w += f->ldw) {
        V x[COLUMNS];
        UNROLL for (int c = 0; c < columns; c++) x[c] = c < columns - 1 || left == LANES
            ? v_load(w + c * LANES)
            : v_load_part(w + c * LANES, left);
        UNROLL for (int r = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++)
            sum[r][c] = v_fma(v_splat(f->dy[r * f->lddy + i]), x[c], sum[r][c]);
    }
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++) {
        float *at = f->dx + r * f->lddx + c * LANES;
        if (c < columns - 1 || left == LANES) v_store(at, sum[r][c]);
        else v_store_part(at, sum[r][c], left);
    }
}

INLINE void back_rows(const int rows, int64_t k, BackFew f) {
    for (; k >= COLUMNS * LANES;
         k -= COLUMNS * LANES, f.w += COLUMNS * LANES, f.dx += COLUMNS * LANES)
        back_block(rows, COLUMNS, &f, LANES);
    for (; k > 0; k -= LANES, f.w += LANES, f.dx += LANES)
        back_block(rows, 1, &f, k < LANES ? k : LANES);
}

void k_linear_back_few(int64_t n, int64_t m, int64_t k, const float *dy, int64_t lddy,
                       const float *w, int64_t ldw, float *dx, int64_t lddx) {
    BackFew f = { m, lddy, ldw, lddx, dy, w, dx };
    for (; n >= ROWS; n -= ROWS, f.dy += ROWS * lddy, f.dx += ROWS * lddx)
        back_rows(ROWS, k, f);
    if (n) back_rows(1, k, f);
}
