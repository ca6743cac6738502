/* SPDX-License-Identifier: MIT
** Two compiled models in one program: 'learner' is trained on a text, on the threads
** of a pool; 'writer' continues a prompt, on the calling thread alone.  The models
** allocate nothing and share nothing: every region is ours.
**
**   two-models TEXT [OUT [WEIGHTS]]
**
** OUT gets what the learner learnt.  WEIGHTS are the writer's, as './writer train'
** saves them; without them it starts from initial values and writes noise.
*/
#include "learner.h"
#include "strata.h"
#include "writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 100, BATCH = 8, TOKENS = BATCH * LEARNER_CONTEXT, LENGTH = 96 };

static void *region(size_t bytes) {
    void *at = NULL;
    if (posix_memalign(&at, STRATA_ALIGN, bytes ? bytes : STRATA_ALIGN)) {
        fprintf(stderr, "two-models: no memory for %zu bytes\n", bytes);
        exit(3);
    }
    return memset(at, 0, bytes);
}

/* Every function of a model returns a status; details are in its ctx. */
static void check(int32_t status, const char *doing, const char *message) {
    if (status == STRATA_OK) return;
    fprintf(stderr, "two-models: %s: %s\n", doing, message);
    exit(1);
}

static unsigned char *read_text(const char *path, long *size) {
    FILE *f = fopen(path, "rb");
    unsigned char *text = NULL;
    if (f && !fseek(f, 0, SEEK_END) && (*size = ftell(f)) > LEARNER_CONTEXT) {
        rewind(f);
        text = malloc((size_t)*size);
        if (text && fread(text, 1, (size_t)*size, f) != (size_t)*size) text = NULL;
    }
    if (!text) {
        fprintf(stderr, "two-models: %s: expected a text of more than %d bytes\n", path,
                (int)LEARNER_CONTEXT);
        exit(1);
    }
    fclose(f);
    return text;
}

/* A number in [0, 1); the same ones every time. */
static double draw(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*seed >> 11) / 9007199254740992.0;
}

/* == Training ============================================================= */

typedef struct Learner {
    void *ctx, *arena;
    float *weights, *train;
    int32_t tokens[TOKENS], targets[TOKENS];
} Learner;

static void learner_open(Learner *x, strata_pool *pool) {
    strata_setup setup = { .struct_size = sizeof setup,
                           .par_for = strata_par_for,
                           .pool = pool,
                           .workers = strata_pool_workers(pool) };
    x->ctx = region(LEARNER_CTX_BYTES);
    check(learner_init(x->ctx, LEARNER_CTX_BYTES, &setup), "learner_init", learner_message(x->ctx));
    x->weights = region(LEARNER_WEIGHTS_BYTES);
    x->train = region(LEARNER_TRAIN_BYTES);
    x->arena = region(learner_arena_bytes(TOKENS, setup.workers));
    strata_weights_init(learner_model(), 1, x->weights);
}

static void windows(Learner *x, const unsigned char *text, long size, uint64_t *seed) {
    for (int b = 0; b < BATCH; b++) {
        long start = (long)(draw(seed) * (double)(size - LEARNER_CONTEXT));
        for (int t = 0; t < LEARNER_CONTEXT; t++) {
            x->tokens[b * LEARNER_CONTEXT + t] = text[start + t];
            x->targets[b * LEARNER_CONTEXT + t] = text[start + t + 1];
        }
    }
}

/* Gradients, their norm, AdamW with clipping at 1.  Returns the loss before the update. */
static double learner_step(Learner *x, int64_t step) {
    strata_loss loss = { .struct_size = sizeof loss };
    strata_adamw how = { .struct_size = sizeof how,
                         .lr = 3e-3,
                         .beta1 = 0.9,
                         .beta2 = 0.95,
                         .eps = 1e-8,
                         .weight_decay = 0.01,
                         .grad_scale = 1,
                         .step = step };
    double squares = 0;
    check(learner_forward_backward(x->ctx, x->weights, x->train, x->arena, x->tokens, x->targets,
                                   BATCH, LEARNER_CONTEXT, 1.0f, 0, NULL, NULL, &loss),
          "learner_forward_backward", learner_message(x->ctx));
    check(learner_sum_squares(x->ctx, x->train, 0, LEARNER_GRADIENTS, &squares),
          "learner_sum_squares", learner_message(x->ctx));
    if (squares > 1) how.grad_scale = 1 / sqrt(squares);
    check(learner_update(x->ctx, x->weights, x->train, 0, LEARNER_GRADIENTS, &how),
          "learner_update", learner_message(x->ctx));
    return loss.loss;
}

static void train(const unsigned char *text, long size, const char *out) {
    static Learner x;
    strata_pool *pool = strata_pool_new(0);
    uint64_t seed = 1;
    if (!pool) exit(3);
    learner_open(&x, pool);
    for (int64_t step = 1; step <= STEPS; step++) {
        windows(&x, text, size, &seed);
        double loss = learner_step(&x, step);
        if (step == 1 || step % 20 == 0) printf("learner: step %d, loss %.4f\n", (int)step, loss);
    }
    char message[512] = "";
    if (out)
        check(strata_weights_write(learner_model(), out, x.weights, message, sizeof message),
              "saving", message);
    free(x.ctx), free(x.arena), free(x.weights), free(x.train);
    strata_pool_free(pool);
}

/* == Generating =========================================================== */

/* A byte drawn from the logits at temperature 0.8. */
static int32_t choose(const float *logits, uint64_t *seed) {
    double most = logits[0], sum = 0, share = draw(seed);
    for (int i = 1; i < WRITER_VOCAB; i++)
        most = fmax(most, logits[i]);
    for (int i = 0; i < WRITER_VOCAB; i++)
        sum += exp((logits[i] - most) / 0.8);
    for (int i = 0; i < WRITER_VOCAB; i++) {
        share -= exp((logits[i] - most) / 0.8) / sum;
        if (share < 0) return i;
    }
    return WRITER_VOCAB - 1;
}

static void write_text(const char *weights_file) {
    static const char prompt[] = "The ";
    strata_setup serial = { .struct_size = sizeof serial, .workers = 1 };
    int32_t tokens[sizeof prompt - 1];
    const int n = sizeof prompt - 1;
    void *ctx = region(WRITER_CTX_BYTES), *state = region(writer_state_bytes(WRITER_CONTEXT));
    void *arena = region(writer_arena_bytes(n, 1)), *states[1] = { state };
    float *weights = region(WRITER_WEIGHTS_BYTES), *logits = region(WRITER_VOCAB * sizeof *logits);
    char message[512] = "";
    check(writer_init(ctx, WRITER_CTX_BYTES, &serial), "writer_init", writer_message(ctx));
    if (weights_file)
        check(strata_weights_read(writer_model(), weights_file, weights, message, sizeof message),
              "reading", message);
    else strata_weights_init(writer_model(), 2, weights);
    for (int i = 0; i < n; i++)
        tokens[i] = (unsigned char)prompt[i];
    check(writer_state_init(ctx, state, WRITER_CONTEXT), "writer_state_init", writer_message(ctx));
    check(writer_prefill(ctx, weights, state, arena, tokens, n, logits), "writer_prefill",
          writer_message(ctx));
    printf("writer: %s", prompt);
    uint64_t seed = 7;
    for (int i = 0; i < LENGTH; i++) {
        int32_t id = choose(logits, &seed);
        putchar(id >= 32 && id < 127 ? id : id == '\n' ? ' ' : '?');
        check(writer_decode(ctx, weights, states, 1, arena, &id, logits), "writer_decode",
              writer_message(ctx));
    }
    printf("\n");
    free(ctx), free(state), free(arena), free(weights), free(logits);
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 4) return fprintf(stderr, "usage: two-models TEXT [OUT [WEIGHTS]]\n"), 2;
    long size;
    unsigned char *text = read_text(argv[1], &size);
    train(text, size, argc > 2 ? argv[2] : NULL);
    write_text(argc > 3 ? argv[3] : NULL);
    free(text);
    return 0;
}
