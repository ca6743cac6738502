/* SPDX-License-Identifier: MIT
** inspect tells the truth: a watched build of a model takes a training step, and for its row
** kernels the places that are really read and written, each once a call, and the operations
** that are really done are what inspect counts, within 15 percent: of eight kernels one by one
** at least, the places also of all together.
*/
#include "compiled_spec.h"
#include "report.h"
#include "scratch.h"

#include <dlfcn.h>
#include <math.h>
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Batch * context tokens: few enough for one chunk, so that no place of a worker's memory is
** another token's later. */
enum { CONTEXT = 32, BATCH = 1, TOKENS = BATCH * CONTEXT, MOST = 256 };
enum { READ = 1, WRITTEN = 2 };
enum { LITTLE = 64 }; /* operations per token: kernels with fewer are left out */

typedef struct Seen {
    char name[96];
    unsigned char *at[3]; /* by float of a region: READ | WRITTEN */
    /* floats: places that were written, and places that were read before: what a kernel reads
    ** again, or reads of its own results, is in the cache. */
    double floats, operations;
} Seen;

static struct {
    Seen seen[MOST];
    int n;
    const Guarded *region[3];
} all;

static Seen *find(const char *name) {
    for (int i = 0; i < all.n; i++)
        if (!strcmp(all.seen[i].name, name)) return &all.seen[i];
    return NULL;
}

static Seen *seen_of(const char *name) {
    if (find(name)) return find(name);
    assert_true(all.n < MOST);
    Seen *s = &all.seen[all.n++];
    snprintf(s->name, sizeof s->name, "%s", name);
    for (int r = 0; r < 3; r++) {
        s->at[r] = calloc(all.region[r]->size / sizeof(float) + 1, 1);
        assert_non_null(s->at[r]);
    }
    return s;
}

static void touch(const char *function, const float *at, int64_t floats, int store) {
    Seen *s = seen_of(function);
    for (int r = 0; r < 3; r++) {
        const float *first = all.region[r]->at;
        if (at < first || at >= first + all.region[r]->size / sizeof *first) continue;
        for (int64_t i = 0; i < floats; i++) {
            unsigned char *mark = &s->at[r][at - first + i], bit = store ? WRITTEN : READ;
            s->floats += !(*mark & (store ? WRITTEN : READ | WRITTEN));
            *mark |= bit;
        }
    }
}

static void work(const char *function, int64_t operations) {
    seen_of(function)->operations += (double)operations;
}

/* == A model and its step ================================================= */

/* Wide enough that sums across the 16 lanes of a vector, which inspect does not count, are few. */
static const char lua[] = "return model { name = 'watched', vocab = 64, context = 32, dim = 256, "
                          "norm = rmsnorm {}, residual = %s,\n"
                          "  layers = times(2, layer { attention { heads = 4, rope = {} }, mlp { "
                          "hidden = 256, activation = 'swiglu' } }),\n"
                          "  train = { optimizer = adamw { lr = 1e-3 }, schedule = constant {}, "
                          "batch = 1, seed = 3 } }\n";

static void take_step(const char *path, const char *text, const char *cpu) {
    Built b;
    Instance r;
    strata_loss loss;
    built_open(&b, path, text, &(CodegenOptions){ .level = 2, .cpu = cpu, .watch = true });
    instance_open(&r, &b.c, TOKENS, 1);
    instance_fill(&r, 5);
    int32_t *tokens = some_ids(&b.c, 1, TOKENS), *targets = some_ids(&b.c, 2, TOKENS);
    Watch *watch = dlsym(b.c.library, "model_watch");
    assert_non_null(watch);
    all.region[0] = &r.weights, all.region[1] = &r.train, all.region[2] = &r.arena;
    watch->touch = touch, watch->work = work;
    free(gradients_of(&r, tokens, targets, BATCH, CONTEXT, &loss));
    free(tokens), free(targets);
    instance_close(&r);
    built_close(&b);
}

static void forget(void) {
    for (int i = 0; i < all.n; i++)
        for (int r = 0; r < 3; r++)
            free(all.seen[i].at[r]);
    memset(&all, 0, sizeof all);
}

/* == What was counted ===================================================== */

static bool near(double counted, double told) { return fabs(counted - told) <= 0.15 * told; }

typedef struct Sums {
    double bytes, told_bytes, operations, told_operations;
    int agreeing;
} Sums;

/* Row kernels that a step calls once.  What is counted and not told: operations that two
** loops of a kernel both do, because storing a result would cost more. */
static Sums check_rows(const Report *r, const char *residual) {
    Sums sum = { 0 };
    for (int i = 0; i < r->nkernel; i++) {
        const ReportKernel *k = &r->kernel[i];
        const Work *w = &k->work[TRAINING];
        if (strncmp(k->name, "rows", 4) || w->calls != 1 || w->flops < LITTLE) continue;
        const Seen *s = find(k->name);
        if (!s) fail_msg("%s: expected %s to be called", residual, k->name);
        double bytes = sizeof(float) * s->floats / TOKENS, operations = s->operations / TOKENS;
        print_message("%-20s %-24s bytes per token %8.1f told %8.1f (%+.1f %%), operations %8.1f "
                      "told %8.1f (%+.1f %%)\n",
                      residual, k->name, bytes, w->bytes, 100 * (bytes / w->bytes - 1), operations,
                      w->flops, 100 * (operations / w->flops - 1));
        if (bytes > 1.15 * w->bytes)
            fail_msg("%s: %s: expected %g bytes per token at most, counted %g", residual, k->name,
                     w->bytes, bytes);
        if (operations < 0.85 * w->flops)
            fail_msg("%s: %s: expected %g operations per token at least, counted %g", residual,
                     k->name, w->flops, operations);
        sum.agreeing += near(bytes, w->bytes) && near(operations, w->flops);
        sum.bytes += bytes, sum.told_bytes += w->bytes;
        sum.operations += operations, sum.told_operations += w->flops;
    }
    return sum;
}

static Sums check_model(void **state, const char *residual, const char *cpu) {
    char path[SCRATCH_PATH], text[sizeof lua + 64];
    Error e = { 0 };
    snprintf(text, sizeof text, lua, residual);
    take_step(scratch_path(state, "watched.lua", path), text, cpu);
    Report *r = report_new(path, &(ReportOptions){ .cpu = cpu }, &e);
    if (!r) fail_msg("%s", e.text);
    Sums sum = check_rows(r, residual);
    if (!near(sum.bytes, sum.told_bytes))
        fail_msg("%s: expected %g bytes per token in all, counted %g", residual, sum.told_bytes,
                 sum.bytes);
    report_free(r);
    forget();
    return sum;
}

static void inspect_tells_what_kernels_do(void **state) {
    for (const char *const *cpu = compiled_cpus(); *cpu; cpu++) {
        Sums standard = check_model(state, "standard {}", *cpu),
             haares = check_model(state, "haares { blocks = 2 }", *cpu),
             hyper = check_model(state, "hyper { streams = 2 }", *cpu);
        assert_true(standard.agreeing >= 1 && haares.agreeing >= 4 && hyper.agreeing >= 3);
        assert_true(near(haares.operations, haares.told_operations)
                    && near(hyper.operations, hyper.told_operations));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(inspect_tells_what_kernels_do, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
