/* SPDX-License-Identifier: MIT
** Muon (Keller Jordan 2024, as torch.optim.Muon defines it): a matrix moves against an orthogonal
** matrix near its momentum, which Newton-Schulz steps compute:
**   X = M / |M|     X = a X + (b A + c A A) X, A = X X^T, 'newton_schulz' times
** on the transpose if the matrix has more rows than columns.  Products are those of gemm.c: the
** bits of an element depend on its row, its column and the number of steps, and not on threads.
*/
#include "muon_update.h"
#include "functions.h"
#include "text.h"

enum { MUON_ROWS = 48, MUON_PIECES = 256, MUON_STEPS = 100, PANEL_VECTORS = 2 };

static const float by_x = 3.4445f, by_a = -4.7750f, by_a_a = 2.0315f;
static const double least_norm = 1e-7;

/* A matrix on its way: X and what replaces it next, both [rows, columns]. */
typedef struct MuonWork {
    Context *c;
    const strata_adamw *how;
    const strata_tensor *t;
    MuonRoom room;
    float *w, *m, *x, *y, *a, *b, *packed;
    const float *g;
    bool turned;               /* X is the transpose */
    float scale, keep, rate;   /* of X at first; of the weights; of the step */
    const float *left, *right; /* of the product under way, and what it is */
    int64_t columns, steps;
    int back;
    float *result;
} MuonWork;

/* Piece number 'task' of n numbers: [*from, *to). */
static void piece_of(int64_t n, int64_t task, int64_t *from, int64_t *to) {
    *from = n * task / MUON_PIECES, *to = n * (task + 1) / MUON_PIECES;
}

static void momentum_task(void *arg, int64_t task, int32_t worker) {
    (void)worker;
    const MuonWork *u = arg;
    const strata_adamw *how = u->how;
    unsigned mode = enter_mode();
    int64_t from, to;
    piece_of(u->t->count, task, &from, &to);
    float *direction = u->turned ? u->y : u->x;
    k_muon_momentum(to - from, u->g + from, (float)how->grad_scale, (float)how->momentum,
                    (how->muon & STRATA_NESTEROV) != 0, u->m + from, direction + from);
    u->c->sums[task] = k_sum_squares(to - from, direction + from);
    leave_mode(mode);
}

static int64_t row_tasks(int64_t rows) { return blocks(rows, MUON_ROWS); }

/* Rows of X, of the size that the first step wants. */
static void start_task(void *arg, int64_t task, int32_t worker) {
    (void)worker;
    const MuonWork *u = arg;
    unsigned mode = enter_mode();
    int64_t first = task * MUON_ROWS, n = min64(MUON_ROWS, u->room.rows - first),
            columns = u->room.columns;
    float *x = u->x + first * columns;
    if (u->turned) k_transpose(first, n, columns, u->room.rows, u->y, u->x);
    k_muon_mix(n * columns, 0, x, u->scale, x);
    leave_mode(mode);
}

static void pack_task(void *arg, int64_t task, int32_t worker) {
    (void)worker;
    const MuonWork *u = arg;
    unsigned mode = enter_mode();
    k_pack(u->columns, u->steps, u->right, u->back ? u->columns : u->steps, u->back, task,
           u->packed);
    leave_mode(mode);
}

/* Rows of the product, then what is made of A A and of the new X. */
static void product_task(void *arg, int64_t task, int32_t worker) {
    (void)worker;
    const MuonWork *u = arg;
    unsigned mode = enter_mode();
    int64_t first = task * MUON_ROWS, n = min64(MUON_ROWS, u->room.rows - first),
            at = first * u->columns;
    k_multiply(n, u->columns, u->steps, u->left + first * u->steps, u->steps, u->packed,
               u->result + at, u->columns, 0);
    if (u->result == u->b) k_muon_mix(n * u->columns, by_a, u->a + at, by_a_a, u->b + at);
    if (u->result == u->y) k_muon_mix(n * u->columns, by_x, u->x + at, 1, u->y + at);
    leave_mode(mode);
}

/* result[rows, columns] = left[rows, steps] right^T, or 'back' left right. */
static void update_multiply(MuonWork *u, const float *left, const float *right, int64_t columns,
                            int64_t steps, int back, float *result) {
    u->left = left, u->right = right, u->columns = columns, u->steps = steps, u->back = back;
    u->result = result;
    k_par_for(u->c, blocks(columns, BLOCK), pack_task, u);
    k_par_for(u->c, row_tasks(u->room.rows), product_task, u);
}

/* Leaves X in u->x. */
static void orthogonalize(MuonWork *u) {
    int64_t rows = u->room.rows, columns = u->room.columns;
    for (int32_t i = 0; i < u->how->newton_schulz; i++) {
        update_multiply(u, u->x, u->x, rows, columns, 0, u->a);
        update_multiply(u, u->a, u->a, rows, rows, 0, u->b);
        update_multiply(u, u->b, u->x, columns, rows, 1, u->y);
        float *old = u->x;
        u->x = u->y, u->y = old;
    }
}

static void step_task(void *arg, int64_t task, int32_t worker) {
    (void)worker;
    const MuonWork *u = arg;
    unsigned mode = enter_mode();
    int64_t rows = u->t->shape[0], columns = u->t->shape[1], first = task * MUON_ROWS,
            n = min64(MUON_ROWS, rows - first);
    const float *x = u->turned ? u->y : u->x;
    if (u->turned) k_transpose(first, n, columns, rows, u->x, u->y);
    k_muon_step(n * columns, u->w + first * columns, x + first * columns, u->keep, u->rate);
    leave_mode(mode);
}

/* sqrt without libm, of a number that is not negative. */
static double root_of(double x) { return __builtin_elementwise_sqrt(x); }

/* The rate of a matrix's step, next to the update's. */
static double adjusted(const strata_adamw *how, const strata_tensor *t) {
    double rows = (double)t->shape[0], columns = (double)t->shape[1];
    double longer = rows > columns ? rows : columns;
    if (how->muon & STRATA_MATCH_RMS) return 0.2 * root_of(longer);
    return root_of(rows > columns ? rows / columns : 1);
}

static MuonWork work_on(Context *c, float *w, float *train, const strata_tensor *t,
                        const strata_adamw *how) {
    float *room = train + muon_from(&k_constants);
    MuonWork u = { .c = c, .how = how, .t = t, .w = w + t->weight, .g = train + t->gradient };
    u.room = muon_room(t->shape[0], t->shape[1], PANEL_VECTORS * LANES, FLOATS_PACKED);
    u.m = train + k_constants.gradients + t->gradient;
    u.x = room, u.y = room + u.room.other, u.a = room + u.room.square;
    u.b = room + u.room.product, u.packed = room + u.room.packed;
    u.turned = t->shape[0] > t->shape[1];
    return u;
}

/* For a message: numbers there are whole. */
static int64_t hundredths(double x) {
    return x > -1e9 && x < 1e9 ? (int64_t)(100 * x) : x > 0 ? INT64_MAX : INT64_MIN;
}

void k_muon_update(Context *c, float *w, float *train, int32_t tensor, const strata_adamw *how) {
    const strata_tensor *t = &strata_tensors(model())[tensor];
    const strata_tuning *own = &strata_tunings(model())[tensor];
    MuonWork u = work_on(c, w, train, t, how);
    unsigned mode = enter_mode();
    double rate = how->lr * own->rate,
           decay = own->weight_decay < 0 ? how->weight_decay : own->weight_decay, sum = 0;
    u.rate = (float)(rate * adjusted(how, t));
    u.keep = (float)(1 - rate * (t->decay ? decay : 0));
    leave_mode(mode);
    k_par_for(c, MUON_PIECES, momentum_task, &u);
    mode = enter_mode();
    for (int i = 0; i < MUON_PIECES; i++)
        sum += c->sums[i];
    double norm = root_of(sum);
    u.scale = (float)(1 / (norm > least_norm ? norm : least_norm));
    leave_mode(mode);
    k_par_for(c, row_tasks(u.room.rows), start_task, &u);
    orthogonalize(&u);
    k_par_for(c, row_tasks(t->shape[0]), step_task, &u);
}

int32_t k_muon_check(Context *c, const strata_adamw *how) {
    int32_t status = check_finite(c, "momentum", how->momentum);
    if (status) return status;
    if (how->momentum < 0 || how->momentum >= 1)
        return fail(c, STRATA_ERROR_ARGUMENT, "the momentum, in hundredths, is ",
                    hundredths(how->momentum), ", expected 0 to ", 99);
    if (how->newton_schulz < 1 || how->newton_schulz > MUON_STEPS)
        return fail(c, STRATA_ERROR_ARGUMENT, "the number of Newton-Schulz steps is ",
                    how->newton_schulz, ", expected 1 to ", MUON_STEPS);
    if (how->muon & ~(uint32_t)(STRATA_NESTEROV | STRATA_MATCH_RMS))
        return fail(c, STRATA_ERROR_ARGUMENT, "the flags of Muon are ", how->muon,
                    ", expected at most ", STRATA_NESTEROV | STRATA_MATCH_RMS);
    return STRATA_OK;
}
