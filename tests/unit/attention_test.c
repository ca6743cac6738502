/*
** Attention, forward and backward, against plain loops in double, at sizes that
** are no multiple of anything, between guard pages, with scratch and results
** full of NaN before; and the promise that a row's bits depend on nothing but
** the row and what it attends to.
*/
#include "kernel_test.h"
#include <math.h>
#include <stdio.h>

typedef struct Size {
    int64_t sequences, time;
    int heads, groups, dk, dv, causal;
} Size;

/* Everything one call needs; rows of every matrix lie a few floats further
** apart than they are long. */
typedef struct Problem {
    Attention a;
    Guarded q, k, v, o, lse, dout, dq, dk, dv, scratch;
} Problem;

enum { GAP = 3 };

static Guarded random_matrix(Draw *d, int64_t rows, int64_t columns, Side side)
{
    Guarded g = guard_matrix(rows, columns, columns + GAP, side);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            g.at[i * (columns + GAP) + j] = draw_real(d);
    return g;
}

static Guarded nan_matrix(int64_t rows, int64_t columns, Side side)
{
    Guarded g = guard_matrix(rows, columns, columns + GAP, side);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            g.at[i * (columns + GAP) + j] = NAN;
    return g;
}

static Problem problem_new(Size s, uint64_t seed, Side side)
{
    Draw d = {seed};
    int64_t rows = s.sequences * s.time, hk = (int64_t)s.heads * s.dk, hv = (int64_t)s.heads * s.dv;
    int64_t gk = (int64_t)s.groups * s.dk, gv = (int64_t)s.groups * s.dv;
    Problem p = {.q = random_matrix(&d, rows, hk, side), .k = random_matrix(&d, rows, gk, side),
                 .v = random_matrix(&d, rows, gv, side), .dout = random_matrix(&d, rows, hv, side),
                 .o = nan_matrix(rows, hv, side), .lse = nan_matrix(rows, s.heads, side),
                 .dq = nan_matrix(rows, hk, side), .dk = nan_matrix(rows, gk, side),
                 .dv = nan_matrix(rows, gv, side),
                 .scratch = guard_bytes(k_attention_scratch(s.dk > s.dv ? s.dk : s.dv), AFTER)};
    guard_readonly(p.q), guard_readonly(p.k), guard_readonly(p.v), guard_readonly(p.dout);
    p.a = (Attention){.sequences = s.sequences, .time = s.time, .heads = s.heads, .groups = s.groups, .dk = s.dk,
                      .dv = s.dv, .causal = s.causal, .scale = 1.7f / sqrtf((float)s.dk), .q = p.q.at, .k = p.k.at,
                      .v = p.v.at, .ldq = hk + GAP, .ldk = gk + GAP, .ldv = gv + GAP, .o = p.o.at, .lse = p.lse.at,
                      .ldo = hv + GAP, .ldlse = s.heads + GAP, .dout = p.dout.at, .lddout = hv + GAP,
                      .dq = p.dq.at, .dk_ = p.dk.at, .dvalue = p.dv.at, .lddq = hk + GAP, .lddk = gk + GAP,
                      .lddv = gv + GAP};
    return p;
}

static void problem_free(Problem *p)
{
    guard_free(p->q), guard_free(p->k), guard_free(p->v), guard_free(p->o), guard_free(p->lse);
    guard_free(p->dout), guard_free(p->dq), guard_free(p->dk), guard_free(p->dv), guard_free(p->scratch);
}

/* The last task first, and nothing usable left in scratch. */
static void run_forward(const Attention *a, Guarded scratch)
{
    int64_t bytes = k_attention_scratch(a->dk > a->dv ? a->dk : a->dv);
    for (int64_t i = k_attention_tasks(a) - 1; i >= 0; i--) {
        memset(scratch.at, 0xff, (size_t)bytes);
        k_attention(a, i, scratch.at);
    }
}

static void run_backward(const Attention *a, Guarded scratch)
{
    int64_t bytes = k_attention_scratch(a->dk > a->dv ? a->dk : a->dv);
    for (int64_t i = k_attention_grad_tasks(a) - 1; i >= 0; i--) {
        memset(scratch.at, 0xff, (size_t)bytes);
        k_attention_grad(a, i, scratch.at);
    }
}

/* Position j's key and value of the query head, cached or not. */
static const float *key_of(const Attention *a, int64_t b, int64_t j, int head)
{
    int64_t g = head / (a->heads / a->groups);
    return a->keys ? a->keys[b] + (g * a->context + j) * a->dk : a->k + (b * a->time + j) * a->ldk + g * a->dk;
}

static const float *value_of(const Attention *a, int64_t b, int64_t j, int head)
{
    int64_t g = head / (a->heads / a->groups);
    return a->keys ? a->values[b] + (g * a->context + j) * a->dv : a->v + (b * a->time + j) * a->ldv + g * a->dv;
}

/* p[j] of one query over the keys it sees; returns how many, *lse follows. */
static int64_t probabilities(const Attention *a, int64_t b, int64_t t, int head, double *p, double *lse)
{
    int64_t past = a->keys ? a->past[b] : 0, n = a->causal ? past + t + 1 : past + a->time;
    const float *q = a->q + (b * a->time + t) * a->ldq + head * a->dk;
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++) {
        const float *k = key_of(a, b, j, head);
        p[j] = 0;
        for (int e = 0; e < a->dk; e++)
            p[j] += (double)q[e] * k[e];
        p[j] *= a->scale;
        largest = fmax(largest, p[j]);
    }
    for (int64_t j = 0; j < n; j++)
        sum += p[j] = exp(p[j] - largest);
    for (int64_t j = 0; j < n; j++)
        p[j] /= sum;
    *lse = largest + log(sum);
    return n;
}

/* The worst distance of o and lse from the truth. */
static double forward_error(const Attention *a)
{
    int64_t most = a->time;
    for (int64_t b = 0; a->keys && b < a->sequences; b++)
        most = a->past[b] + a->time > most ? a->past[b] + a->time : most;
    double *p = malloc((size_t)most * sizeof *p), worst = 0, lse;
    for (int64_t row = 0; row < a->sequences * a->time; row++)
        for (int head = 0; head < a->heads; head++) {
            int64_t b = row / a->time, n = probabilities(a, b, row % a->time, head, p, &lse);
            for (int e = 0; e < a->dv; e++) {
                double o = 0;
                for (int64_t j = 0; j < n; j++)
                    o += p[j] * value_of(a, b, j, head)[e];
                worst = fmax(worst, fabs(o - a->o[row * a->ldo + head * a->dv + e]));
                assert_false(isnan(a->o[row * a->ldo + head * a->dv + e]));
            }
            if (a->lse) {
                worst = fmax(worst, fabs(lse - a->lse[row * a->ldlse + head]) / (1 + fabs(lse)));
                assert_false(isnan(a->lse[row * a->ldlse + head]));
            }
        }
    free(p);
    return worst;
}

typedef struct Gradients { double *q, *k, *v; } Gradients; /* [rows][heads or groups * size] */

/* Adds what query (b, t, head) contributes. */
static void add_gradients(const Attention *a, int64_t b, int64_t t, int head, double *p, Gradients *d)
{
    double lse, delta = 0;
    int64_t n = probabilities(a, b, t, head, p, &lse), row = b * a->time + t, g = head / (a->heads / a->groups);
    const float *dout = a->dout + row * a->lddout + head * a->dv, *q = a->q + row * a->ldq + head * a->dk;
    double *dp = malloc((size_t)n * sizeof *dp);
    for (int64_t j = 0; j < n; j++) {
        dp[j] = 0;
        for (int e = 0; e < a->dv; e++)
            dp[j] += dout[e] * (double)value_of(a, b, j, head)[e];
        delta += p[j] * dp[j];
    }
    for (int64_t j = 0; j < n; j++) {
        double ds = a->scale * p[j] * (dp[j] - delta);
        const float *k = key_of(a, b, j, head);
        for (int e = 0; e < a->dv; e++)
            d->v[((b * a->time + j) * a->groups + g) * a->dv + e] += p[j] * dout[e];
        for (int e = 0; e < a->dk; e++) {
            d->k[((b * a->time + j) * a->groups + g) * a->dk + e] += ds * q[e];
            d->q[(row * a->heads + head) * a->dk + e] += ds * k[e];
        }
    }
    free(dp);
}

/* The worst distance of a gradient from the truth, relative to the largest. */
static double relative(const char *name, int64_t rows, int64_t columns, const double *right, const float *got,
                       int64_t ld)
{
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            if (isnan(got[i * ld + j]))
                fail_msg("%s[%lld][%lld] is NaN", name, (long long)i, (long long)j);
            worst = fmax(worst, fabs(right[i * columns + j] - got[i * ld + j]));
            largest = fmax(largest, fabs(right[i * columns + j]));
        }
    return worst / fmax(largest, 0.1);
}

static double backward_error(const Attention *a)
{
    int64_t rows = a->sequences * a->time;
    Gradients d = {calloc((size_t)(rows * a->heads * a->dk), 8), calloc((size_t)(rows * a->groups * a->dk), 8),
                   calloc((size_t)(rows * a->groups * a->dv), 8)};
    double *p = malloc((size_t)a->time * sizeof *p);
    for (int64_t row = 0; row < rows; row++)
        for (int head = 0; head < a->heads; head++)
            add_gradients(a, row / a->time, row % a->time, head, p, &d);
    double worst = relative("dq", rows, a->heads * a->dk, d.q, a->dq, a->lddq);
    worst = fmax(worst, relative("dk", rows, a->groups * a->dk, d.k, a->dk_, a->lddk));
    worst = fmax(worst, relative("dv", rows, a->groups * a->dv, d.v, a->dvalue, a->lddv));
    free(d.q), free(d.k), free(d.v), free(p);
    return worst;
}

static const Size sizes[] = {
    {1, 1, 1, 1, 1, 1, 1},     {2, 1, 2, 1, 5, 3, 0},     {1, 2, 1, 1, 8, 8, 1},      {3, 7, 2, 2, 16, 16, 1},
    {1, 17, 3, 3, 60, 60, 1},  {2, 33, 4, 2, 32, 48, 1},  {1, 97, 2, 1, 64, 64, 1},   {1, 96, 1, 1, 64, 20, 0},
    {5, 65, 1, 1, 8, 24, 1},   {1, 200, 6, 2, 20, 20, 0}, {1, 193, 2, 2, 80, 80, 1},  {1, 300, 1, 1, 128, 128, 1},
    {2, 130, 8, 1, 7, 9, 1},   {1, 260, 1, 1, 33, 65, 0}, {1, 289, 4, 4, 31, 17, 1},
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void forward_is_right(void **state)
{
    (void)state;
    double worst = 0;
    for (int i = 0; i < 2 * SIZES; i++) {
        Problem p = problem_new(sizes[i / 2], 100 + (uint64_t)i, i % 2 ? AFTER : BEFORE);
        run_forward(&p.a, p.scratch);
        double error = forward_error(&p.a);
        worst = fmax(worst, error);
        if (error > 2e-6)
            fail_msg("size %d: off by %g", i / 2, error);
        problem_free(&p);
    }
    printf("forward: worst distance %.2g\n", worst);
}

static void backward_is_right(void **state)
{
    (void)state;
    double worst = 0;
    for (int i = 0; i < 2 * SIZES; i++) {
        Problem p = problem_new(sizes[i / 2], 200 + (uint64_t)i, i % 2 ? AFTER : BEFORE);
        run_forward(&p.a, p.scratch);
        run_backward(&p.a, p.scratch);
        double error = backward_error(&p.a);
        worst = fmax(worst, error);
        if (error > 4e-6)
            fail_msg("size %d: off by %g of the largest", i / 2, error);
        problem_free(&p);
    }
    printf("backward: worst relative distance %.2g\n", worst);
}

/* Caches of 'context' positions for every sequence; 'past' of them random. */
typedef struct Cache {
    Guarded keys[4], values[4];
    float *key[4], *value[4];
    int64_t past[4];
} Cache;

static void cache_open(Cache *c, Attention *a, int64_t context, const int64_t *past, Draw *d)
{
    for (int64_t b = 0; b < a->sequences; b++) {
        c->keys[b] = guard_bytes(a->groups * context * a->dk * 4, AFTER);
        c->values[b] = guard_bytes(a->groups * context * a->dv * 4, AFTER);
        memset(c->keys[b].at, 0xff, (size_t)(a->groups * context * a->dk * 4));
        memset(c->values[b].at, 0xff, (size_t)(a->groups * context * a->dv * 4));
        for (int64_t g = 0; g < a->groups; g++) {
            for (int64_t i = 0; i < past[b] * a->dk; i++)
                c->keys[b].at[g * context * a->dk + i] = draw_real(d);
            for (int64_t i = 0; i < past[b] * a->dv; i++)
                c->values[b].at[g * context * a->dv + i] = draw_real(d);
        }
        c->key[b] = c->keys[b].at;
        c->value[b] = c->values[b].at;
        c->past[b] = past[b];
    }
    a->keys = c->key;
    a->values = c->value;
    a->past = c->past;
    a->context = context;
}

static void cache_close(Cache *c, int64_t sequences)
{
    for (int64_t b = 0; b < sequences; b++) {
        guard_free(c->keys[b]);
        guard_free(c->values[b]);
    }
}

static void append_and_run(const Attention *a, Guarded scratch)
{
    for (int64_t b = 0; b < a->sequences; b++)
        k_attention_append(a, b);
    run_forward(a, scratch);
}

static void cached_form_is_right(void **state)
{
    (void)state;
    static const int64_t times[] = {1, 2, 4, 5, 33};
    static const int64_t past[] = {0, 1, 95, 200};
    for (int i = 0; i < 20; i++) {
        Size s = {4, times[i / 4], 6, i % 4 == 1 ? 6 : i % 4 == 2 ? 1 : 2, i % 4 == 3 ? 21 : 32, i % 4 == 1 ? 20 : 64,
                  i % 4 != 2};
        Problem p = problem_new(s, 300 + (uint64_t)i, AFTER);
        Draw d = {400 + (uint64_t)i};
        Cache c;
        cache_open(&c, &p.a, 200 + s.time, past, &d);
        append_and_run(&p.a, p.scratch);
        double error = forward_error(&p.a);
        if (error > 2e-6)
            fail_msg("time %lld, row %d: off by %g", (long long)s.time, i, error);
        cache_close(&c, s.sequences);
        problem_free(&p);
    }
}

/* Token by token, or in chunks, through a cache: the full pass to rounding. */
static void cache_agrees_with_full_pass(void **state)
{
    (void)state;
    static const int64_t chunk[] = {40, 1, 1, 3, 1, 54, 1};
    Size s = {1, 101, 4, 2, 24, 40, 1};
    Problem p = problem_new(s, 17, AFTER);
    run_forward(&p.a, p.scratch);
    Attention a = p.a;
    Cache c;
    Guarded o = nan_matrix(s.time, s.heads * s.dv, AFTER);
    cache_open(&c, &a, s.time, &(int64_t){0}, &(Draw){1});
    a.lse = NULL;
    for (size_t i = 0; i < sizeof chunk / sizeof *chunk; i++) {
        int64_t t = c.past[0];
        a.time = chunk[i];
        a.q = p.a.q + t * a.ldq;
        a.k = p.a.k + t * a.ldk;
        a.v = p.a.v + t * a.ldv;
        a.o = o.at + t * a.ldo;
        append_and_run(&a, p.scratch);
        c.past[0] += chunk[i];
    }
    assert_int_equal(c.past[0], s.time);
    for (int64_t i = 0; i < s.time; i++)
        for (int64_t j = 0; j < s.heads * s.dv; j++)
            assert_true(fabsf(o.at[i * a.ldo + j] - p.a.o[i * a.ldo + j]) < 2e-6f);
    guard_free(o);
    cache_close(&c, 1);
    problem_free(&p);
}

static void same_rows(int64_t rows, int64_t columns, const float *x, int64_t ldx, const float *y, int64_t ldy)
{
    for (int64_t i = 0; i < rows; i++)
        assert_memory_equal(x + i * ldx, y + i * ldy, (size_t)columns * sizeof *x);
}

/* Results of the sequence that 'one' is, and of sequence b of 'all': same bits. */
static void same_sequence(const Attention *all, int64_t b, const Attention *one)
{
    int64_t at = b * all->time, n = all->time;
    same_rows(n, all->heads * all->dv, all->o + at * all->ldo, all->ldo, one->o, one->ldo);
    same_rows(n, all->heads, all->lse + at * all->ldlse, all->ldlse, one->lse, one->ldlse);
    if (all->keys)
        return;
    same_rows(n, all->heads * all->dk, all->dq + at * all->lddq, all->lddq, one->dq, one->lddq);
    same_rows(n, all->groups * all->dk, all->dk_ + at * all->lddk, all->lddk, one->dk_, one->lddk);
    same_rows(n, all->groups * all->dv, all->dvalue + at * all->lddv, all->lddv, one->dvalue, one->lddv);
}

static void alone(Attention *a, const Attention *all, int64_t b)
{
    int64_t at = b * all->time;
    a->sequences = 1;
    a->q = all->q + at * all->ldq;
    a->k = all->k + at * all->ldk;
    a->v = all->v + at * all->ldv;
    a->dout = all->dout + at * all->lddout;
}

/* Alone, gradients come from other tasks than in a batch: the bits are the same. */
static void batch_does_not_change_bits(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        Size s = {3, i == 0 ? 300 : 150, 2 + 2 * i, 2, 20 + 12 * i, 36, i != 1}, single = s;
        single.sequences = 1;
        Problem all = problem_new(s, 500 + (uint64_t)i, AFTER);
        run_forward(&all.a, all.scratch);
        run_backward(&all.a, all.scratch);
        for (int64_t b = 0; b < s.sequences; b++) {
            Problem one = problem_new(single, 1, AFTER);
            alone(&one.a, &all.a, b);
            assert_int_not_equal(k_attention_grad_tasks(&one.a), k_attention_grad_tasks(&all.a) / 3);
            run_forward(&one.a, one.scratch);
            run_backward(&one.a, one.scratch);
            same_sequence(&all.a, b, &one.a);
            problem_free(&one);
        }
        problem_free(&all);
    }
}

static void batch_does_not_change_cached_bits(void **state)
{
    (void)state;
    static const int64_t past[] = {130, 0, 77};
    for (int64_t time = 1; time < 40; time += 19) {
        Size s = {3, time, 4, 2, 32, 24, 1}, single = s;
        single.sequences = 1;
        Problem all = problem_new(s, 600, AFTER);
        Cache c, d;
        cache_open(&c, &all.a, 130 + time, past, &(Draw){2});
        append_and_run(&all.a, all.scratch);
        for (int64_t b = 0; b < 3; b++) {
            Problem one = problem_new(single, 1, AFTER);
            alone(&one.a, &all.a, b);
            cache_open(&d, &one.a, 130 + time, past + b, &(Draw){3});
            memcpy(d.key[0], c.key[b], (size_t)(2 * (130 + time) * 32 * 4));
            memcpy(d.value[0], c.value[b], (size_t)(2 * (130 + time) * 24 * 4));
            run_forward(&one.a, one.scratch);
            same_sequence(&all.a, b, &one.a);
            cache_close(&d, 1);
            problem_free(&one);
        }
        cache_close(&c, 3);
        problem_free(&all);
    }
}

/* A causal row sees only what is before it, in bits too. */
static void later_tokens_do_not_change_bits(void **state)
{
    (void)state;
    for (int64_t time = 1; time < 400; time = 3 * time + 1) {
        Size s = {1, 400, 2, 1, 24, 32, 1};
        Problem whole = problem_new(s, 700, AFTER);
        run_forward(&whole.a, whole.scratch);
        s.time = time;
        Problem start = problem_new(s, 1, AFTER);
        alone(&start.a, &whole.a, 0);
        run_forward(&start.a, start.scratch);
        same_rows(time, s.heads * s.dv, whole.a.o, whole.a.ldo, start.a.o, start.a.ldo);
        problem_free(&start);
        problem_free(&whole);
    }
}

/* Scores in the thousands, of either sign: the softmax becomes a choice. */
static void large_scores_are_right(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        Problem p = problem_new((Size){2, 111, 4, 2, 16, 16, 1}, 800, AFTER);
        p.a.scale = i ? 1000.0f : -1000.0f;
        run_forward(&p.a, p.scratch);
        assert_true(forward_error(&p.a) < 1e-2); /* scores themselves are rounded to 1e-4 */
        problem_free(&p);
    }
}

/* A NaN among the keys reaches every row that sees it and no other. */
static void nan_spreads_to_those_who_see_it(void **state)
{
    (void)state;
    enum { BAD = 70 };
    Problem p = problem_new((Size){1, 150, 1, 1, 16, 16, 1}, 900, AFTER);
    float *k = malloc(150 * (size_t)p.a.ldk * sizeof *k);
    for (int64_t i = 0; i < 150; i++)
        memcpy(k + i * p.a.ldk, p.a.k + i * p.a.ldk, 16 * sizeof *k);
    k[BAD * p.a.ldk + 3] = NAN;
    p.a.k = k;
    run_forward(&p.a, p.scratch);
    for (int64_t i = 0; i < 150; i++)
        assert_true(!isnan(p.a.o[i * p.a.ldo]) == (i < BAD));
    free(k);
    problem_free(&p);
}

int main(void)
{
    if (!host_runs_kernels())
        return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_right),
        cmocka_unit_test(backward_is_right),
        cmocka_unit_test(cached_form_is_right),
        cmocka_unit_test(cache_agrees_with_full_pass),
        cmocka_unit_test(batch_does_not_change_bits),
        cmocka_unit_test(batch_does_not_change_cached_bits),
        cmocka_unit_test(later_tokens_do_not_change_bits),
        cmocka_unit_test(large_scores_are_right),
        cmocka_unit_test(nan_spreads_to_those_who_see_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
