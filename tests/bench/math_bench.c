/* SPDX-License-Identifier: MIT
** The elementary functions as row kernels use them, inlined in a loop over values that the
** first-level cache holds: cycles an element, and how many multiply-adds the vector unit does in
** that time, which is what compiler/graph/ops.def has in its column 'again'.
**
** A cycle is a quarter of what an addition waits for the one before it, on all processors of a
** decade.  Figures are of the thread's own time, the shortest of many short runs.
*/
#include <stdio.h>
#include <time.h>
#include "peak.h"
#include "vmath.h"

enum { FLOATS = 2048, AGAIN = 20, RUNS = 300, WAITS = 100000, LATENCY = 4 };

/* Not static: what is written is used, for all the compiler knows. */
float math_x[FLOATS], math_y[FLOATS];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void wait_for_each(const void *none) {
    V sum = v_splat(1);
    (void)none;
    for (int i = 0; i < WAITS; i++) {
        sum = v_fma(sum, v_splat(0.999f), v_splat(1e-3f));
        __asm__ volatile("" : "+x"(sum));
    }
}

INLINE V copied(V x) { return x + x; }
INLINE V divided(V x) { return 1.5f / x; }
INLINE V root(V x) { return __builtin_elementwise_sqrt(v_abs(x)); }
INLINE V inverse_root(V x) { return 1.0f / __builtin_elementwise_sqrt(v_abs(x)); }

#define LOOP(f)                                             \
    static void loop_##f(const void *none) {                \
        (void)none;                                         \
        for (int k = 0; k < AGAIN; k++) {                   \
            for (int i = 0; i < FLOATS; i += LANES)         \
                v_store(math_y + i, f(v_load(math_x + i))); \
            __asm__ volatile("" : : : "memory");            \
        }                                                   \
    }
LOOP(copied)
LOOP(v_exp)
LOOP(v_exp2)
LOOP(v_sigmoid)
LOOP(v_tanh)
LOOP(v_erf)
LOOP(v_log)
LOOP(divided)
LOOP(root)
LOOP(inverse_root)

int main(void) {
    static const struct {
        const char *name;
        void (*loop)(const void *none);
    } function[] = {
        { "load, add, store", loop_copied },
        { "exp", loop_v_exp },
        { "exp2", loop_v_exp2 },
        { "sigmoid", loop_v_sigmoid },
        { "tanh", loop_v_tanh },
        { "erf", loop_v_erf },
        { "log", loop_v_log },
        { "div", loop_divided },
        { "sqrt", loop_root },
        { "rsqrt", loop_inverse_root },
    };
    bench_begin();
    for (int i = 0; i < FLOATS; i++)
        math_x[i] = -10 + 20.0f * (float)i / FLOATS + 1e-3f;
    double cycle = shortest(RUNS, now, wait_for_each, 0) / WAITS / LATENCY;
    double multiply_add = 2e-9 / peak_rate(now);
    printf("%d lanes, %.2f GHz, %.1f multiply-adds a cycle\n", LANES, 1e-9 / cycle,
           cycle / multiply_add);
    for (size_t i = 0; i < sizeof function / sizeof *function; i++) {
        double element = shortest(RUNS, now, function[i].loop, 0) / AGAIN / FLOATS;
        printf("%-18s %6.3f cycles an element, %5.1f multiply-adds\n", function[i].name,
               element / cycle, element / multiply_add);
    }
    return 0;
}
