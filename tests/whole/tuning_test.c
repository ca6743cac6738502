/* SPDX-License-Identifier: MIT
** Muon, frozen tensors, groups with rates of their own, and adapters: 50 steps of programs are
** those of the independent trainer, whatever the threads; what was stopped goes on bit for bit.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learner_run.h"
#include "safetensors.h"

enum { STEPS = 50 };

/* Some ten times what rounding does, which Muon enlarges. */
static const double loss_allowed = 1e-5, norm_allowed = 1e-4;

#define MODEL(name, adapters, train)                                                               \
    "return model { name = '" name                                                                 \
    "', vocab = 256, context = 16, dim = 32, tokenizer = 'bytes',\n"                               \
    "  norm = rmsnorm { eps = 1e-6 }, residual = haares { blocks = 2 }, embedding = { tied = "     \
    "false },\n"                                                                                   \
    "  layers = times(2, layer { attention { heads = 4, kv_heads = 2, rope = { theta = 10000 } }," \
    "\n    mlp { hidden = 56, activation = 'swiglu' } }),\n" adapters "  train = { batch = 2, "    \
    "schedule = cosine { warmup = 0.1, min_lr = 4e-4 },\n" train " } }\n"

static const Learner orthogonal = {
    "orthogonal",
    MODEL("orthogonal", "",
          "    optimizer = muon { lr = 2e-2, momentum = 0.9, weight_decay = 0.1,\n"
          "      adamw = adamw { lr = 4e-3, betas = { 0.85, 0.98 }, eps = 1e-7 } }")
};
static const Learner grouped = {
    "grouped",
    MODEL("grouped", "",
          "    optimizer = muon { lr = 1e-2, nesterov = false, steps = 4, adjust = "
          "'match_rms_adamw',\n"
          "      except = { '*.v.weight', 'embed.*', 'head.*' }, adamw = adamw { lr = 4e-3 } },\n"
          "    freeze = { 'layers.0.*', '*.residual.key_norm.weight' },\n"
          "    groups = { { match = { '*.down.weight' }, lr = 3e-3, weight_decay = 0 },\n"
          "               { match = { 'head.weight' }, weight_decay = 0.3 } }")
};
static const Learner adapted = {
    "adapted",
    MODEL("adapted",
          "  lora = lora { rank = 3, alpha = 6, targets = { '*.attention.q', '*.mlp.*', 'head' },\n"
          "    trained = { 'readout.*' } },\n",
          "    optimizer = adamw { lr = 4e-3 }")
};

/* What 'adapted' adapts. */
static const Learner plain = { "plain", MODEL("plain", "", "    optimizer = adamw { lr = 4e-3 }") };

/* == What the specs say =================================================== */

static bool ends(const char *s, const char *with) {
    size_t n = strlen(s), k = strlen(with);
    return n >= k && !strcmp(s + n - k, with);
}

static bool is_matrix(const char *name) {
    return strstr(name, "attention.") || strstr(name, "mlp.")
        ? (ends(name, ".weight") && !strstr(name, "norm") && !strstr(name, "residual"))
        : false;
}

static void own_orthogonal(const char *name, OwnRecipe *own) {
    own->muon = is_matrix(name);
    if (!own->muon) *own = (OwnRecipe){ false, 4e-3 / 2e-2, 0.01 };
}

static void own_grouped(const char *name, OwnRecipe *own) {
    own->muon = is_matrix(name) && !ends(name, ".v.weight");
    if (!own->muon) *own = (OwnRecipe){ false, 4e-3 / 1e-2, 0.01 };
    if (ends(name, ".down.weight")) own->rate = 3e-3 / 1e-2, own->weight_decay = 0;
    if (!strcmp(name, "head.weight")) own->weight_decay = 0.3;
}

static Recipe recipe(const Learner *l) {
    Recipe r = { .lr = 4e-3,
                 .beta1 = 0.9,
                 .beta2 = 0.95,
                 .eps = 1e-8,
                 .weight_decay = 0.01,
                 .clip = 1,
                 .warmup = 0.1,
                 .min_lr = 4e-4,
                 .steps = STEPS,
                 .batch = 2,
                 .accumulate = 1,
                 .decay_rank = 2,
                 .correct_bias = true,
                 .rate = rate_cosine,
                 .start = start_sequential };
    if (l == &orthogonal) {
        r.lr = 2e-2, r.weight_decay = 0.1, r.beta1 = 0.85, r.beta2 = 0.98, r.eps = 1e-7;
        r.momentum = 0.9, r.nesterov = true, r.newton_schulz = 5, r.own = own_orthogonal;
    } else if (l == &grouped) {
        r.lr = 1e-2, r.weight_decay = 0.1;
        r.momentum = 0.95, r.newton_schulz = 4, r.match_rms = true, r.own = own_grouped;
    }
    return r;
}

/* == Runs ================================================================= */

static Folder folder;
static char text[TEXT + 1];

static void train(const Learner *l, int threads, int steps, const char *more, const char *out) {
    folder_shell(&folder,
                 "./%s train --data text --steps %d --order sequential --threads %d --out %s %s",
                 l->name, steps, threads, out, more);
}

/* The program, its first weights NAME.first, a run NAME.last with its log NAME.log. */
static void make(const Learner *l) {
    char more[128], out[64];
    learner_build(&folder, l);
    snprintf(out, sizeof out, "%s.first", l->name);
    train(l, 1, 0, "--seed 11", out);
    snprintf(more, sizeof more, "--init %s.first --log %s.log", l->name, l->name);
    snprintf(out, sizeof out, "%s.last", l->name);
    train(l, 2, STEPS, more, out);
}

/* The same tokens for all. */
static void write_tokens(void) {
    static int32_t tokens[2 * CONTEXT];
    int64_t shape[] = { 2, CONTEXT };
    TensorList l = { 0 };
    Error e = { 0 };
    char path[512];
    for (int i = 0; i < 2 * CONTEXT; i++)
        tokens[i] = (unsigned char)text[i];
    int status = tensors_add(&l, "", "tokens", DTYPE_I32, 2, shape, tokens, &e);
    if (!status) status = tensors_add(&l, "", "targets", DTYPE_I32, 2, shape, tokens, &e);
    snprintf(path, sizeof path, "%s/tokens", folder.path);
    if (!status) status = safetensors_write(path, &l, NULL, 0, 0, &e);
    if (status) fail_msg("%s", e.text);
    tensors_free(&l);
}

static int open_folder(void **state) {
    (void)state;
    learners_open(&folder, text);
    write_tokens();
    make(&orthogonal), make(&grouped), make(&adapted);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

/* The first step at which losses or norms disagree; 0: they agree in all. */
static int disagrees(const Learner *l, const Recipe *r) {
    TrainerStep got[STEPS];
    char name[64];
    double loss = 0, norm = 0;
    int found = 0;
    snprintf(name, sizeof name, "%s.log", l->name);
    learner_log(&folder, name, got, STEPS);
    snprintf(name, sizeof name, "%s.first", l->name);
    Trainer *t = learner_trainer(&folder, l, name);
    for (int i = 0; i < STEPS && !found; i++) {
        TrainerStep want = trainer_step(t, r, text, TEXT);
        loss = fmax(loss, fabs(got[i].loss - want.loss));
        norm = fmax(norm, fabs(got[i].grad_norm - want.grad_norm) / want.grad_norm);
        if (!(loss <= loss_allowed) || !(norm <= norm_allowed)) found = i + 1;
    }
    trainer_close(t);
    print_message("%s: losses %.1e apart, norms %.1e; last loss %.3f of %.3f\n", l->name, loss,
                  norm, got[STEPS - 1].loss, got[0].loss);
    return found;
}

static void agree(const Learner *l) {
    Recipe r = recipe(l);
    assert_int_equal(disagrees(l, &r), 0);
}

static void orthogonal_trains(void **state) {
    (void)state;
    agree(&orthogonal);
}

static void grouped_trains(void **state) {
    (void)state;
    agree(&grouped);
}

static void adapted_trains(void **state) {
    (void)state;
    agree(&adapted);
}

/* Threads, and a run that goes on from a checkpoint. */
static void bits_stay(void **state) {
    (void)state;
    const Learner *all[] = { &orthogonal, &grouped, &adapted };
    for (int i = 0; i < 3; i++) {
        const char *name = all[i]->name;
        char more[128];
        snprintf(more, sizeof more, "--init %s.first", name);
        train(all[i], 3, STEPS, more, "other");
        folder_shell(&folder, "cmp %s.last other && rm -f other other.prev", name);
        snprintf(more, sizeof more, "--init %s.first --save-every 20", name);
        train(all[i], 1, STEPS, more, "other"); /* other.prev: after step 40 */
        folder_shell(&folder,
                     "mv other.prev other && ./%s train --data text --resume --out other && "
                     "cmp %s.last other && rm -f other other.prev",
                     name, name);
    }
}

/* == Files ================================================================ */

static void *numbers(const char *file, const char *name, int64_t *count) {
    Safetensors s = { 0 };
    Error e = { 0 };
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder.path, file);
    if (safetensors_open(&s, path, &e)) fail_msg("%s", e.text);
    const Tensor *t = safetensors_find(&s, name);
    double *x = t ? malloc((size_t)t->count * sizeof *x) : NULL;
    if (x && safetensors_read_f64(&s, t, x, &e)) fail_msg("%s", e.text);
    if (x) *count = t->count;
    safetensors_close(&s);
    return x;
}

static bool is_kept(const Learner *l, const char *name) {
    char first[64], last[64];
    int64_t n = 0, m = 0;
    snprintf(first, sizeof first, "%s.first", l->name);
    snprintf(last, sizeof last, "%s.last", l->name);
    double *a = numbers(first, name, &n), *b = numbers(last, name, &m);
    assert_true(a && b && n == m);
    bool same = !memcmp(a, b, (size_t)n * sizeof *a);
    free(a), free(b);
    return same;
}

static bool is_there(const char *file, const char *name) {
    int64_t n;
    double *x = numbers(file, name, &n);
    free(x);
    return x != NULL;
}

/* Not a bit of them changes, no moment of theirs is saved, and no gradient is told. */
static void frozen_stays(void **state) {
    (void)state;
    assert_true(is_kept(&grouped, "layers.0.mlp.up.weight"));
    assert_true(is_kept(&grouped, "layers.0.attention.norm.weight"));
    assert_false(is_kept(&grouped, "layers.1.mlp.up.weight"));
    assert_true(is_kept(&adapted, "layers.0.mlp.up.weight") && is_kept(&adapted, "embed.weight"));
    assert_false(is_kept(&adapted, "layers.0.mlp.up.lora_b.weight"));
    assert_false(is_kept(&adapted, "readout.residual.query"));
    assert_false(is_there("grouped.last", "optimizer.m.layers.0.mlp.up.weight"));
    assert_true(is_there("grouped.last", "optimizer.m.layers.1.mlp.up.weight"));
    assert_false(is_there("grouped.last", "optimizer.v.layers.1.mlp.up.weight"));
    assert_true(is_there("grouped.last", "optimizer.v.layers.1.attention.v.weight"));
    folder_shell(&folder, "./grouped gradients --weights grouped.last --tokens tokens --out g");
    assert_false(is_there("g", "grad.layers.0.mlp.up.weight"));
    assert_true(is_there("g", "grad.layers.1.mlp.up.weight"));
}

/* The largest difference of two results, relative to the largest number. */
static double apart(const char *a, const char *b) {
    int64_t n = 0, m = 0;
    double *x = numbers(a, "logits", &n), *y = numbers(b, "logits", &m), most = 0, gap = 0;
    assert_true(x && y && n == m);
    for (int64_t i = 0; i < n; i++) {
        gap = fmax(gap, fabs(x[i] - y[i]));
        most = fmax(most, fabs(x[i]));
    }
    free(x), free(y);
    return gap / most;
}

/* Merged weights, in the spec without adapters, give the logits that adapters give; the adapted
** model begins as its base. */
static void merged_is_unmerged(void **state) {
    (void)state;
    learner_build(&folder, &plain);
    folder_shell(&folder,
                 "strata weights merge adapted.lua adapted.last -o merged && "
                 "./plain logits --weights merged --tokens tokens --out a && "
                 "./adapted logits --weights adapted.last --tokens tokens --out b && "
                 "./plain train --data text --steps 3 --out base && "
                 "./adapted train --data text --steps 0 --init base --out begun && "
                 "./plain logits --weights base --tokens tokens --out c && "
                 "./adapted logits --weights begun --tokens tokens --out d");
    print_message("merged: %.1e apart\n", apart("a", "b"));
    assert_true(apart("a", "b") < 2e-6);
    assert_true(apart("a", "c") > 1e-3);
    assert_true(apart("c", "d") == 0);
}

static void mistakes_show(void **state) {
    (void)state;
    Recipe r = recipe(&orthogonal);
    r.nesterov = false;
    assert_true(disagrees(&orthogonal, &r) > 0);
    r = recipe(&orthogonal), r.newton_schulz = 4;
    assert_true(disagrees(&orthogonal, &r) > 0);
    r = recipe(&orthogonal), r.match_rms = true;
    assert_true(disagrees(&orthogonal, &r) > 0);
    r = recipe(&grouped), r.own = own_orthogonal;
    assert_true(disagrees(&grouped, &r) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orthogonal_trains), cmocka_unit_test(grouped_trains),
        cmocka_unit_test(adapted_trains),    cmocka_unit_test(bits_stay),
        cmocka_unit_test(frozen_stays),      cmocka_unit_test(merged_is_unmerged),
        cmocka_unit_test(mistakes_show),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
