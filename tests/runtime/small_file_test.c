/* SPDX-License-Identifier: MIT
** Files whose matrices are rounded already: a model takes the same bits from them as from floats
** that it rounds itself; another model, and a file that lacks something or has what rounding does
** not make, is refused in one line that names the tensor.
*/
#include "test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "f16.h"
#include "scratch.h"
#include "small_file.h"
#include "rounded_model.h"
#include "weights.h"

/* == A file =============================================================== */

enum { VALUES = 400, HALVES = 64 };

/* What is written: a tensor of the model each, or its codes, scales and smallest values. */
typedef struct File {
    TensorList list;
    Pair pair[SMALL_PAIRS];
    int pairs;
    float value[ROUNDED_TENSORS][VALUES];
    uint8_t code[ROUNDED_TENSORS][VALUES];
    uint16_t scale[ROUNDED_TENSORS][HALVES], least[ROUNDED_TENSORS][HALVES];
} File;

static void add(File *f, const char *name, const char *suffix, Dtype type, const strata_tensor *t,
                int64_t last, const void *data) {
    char full[64];
    int64_t shape[SAFETENSORS_RANK];
    snprintf(full, sizeof full, "%s%s", name, suffix);
    memcpy(shape, t->shape, sizeof t->shape);
    if (last) shape[t->rank - 1] = last;
    assert_int_equal(tensors_add(&f->list, "", full, type, t->rank, shape, data, NULL), 0);
}

static int bits_of(const strata_tensor *t) {
    return t->type == STRATA_Q8 ? 8 : t->type == STRATA_Q4 ? 4 : 0;
}

static void add_rounded(File *f, int k, const char *name, const strata_tensor *t) {
    int bits = bits_of(t);
    int64_t steps = t->shape[t->rank - 1], groups = small_groups(steps);
    SmallGroup g[HALVES];
    for (int64_t r = 0; r < t->count / steps; r++) {
        assert_int_equal(
            small_round_row("", name, r, bits, f->value[k] + r * steps, steps, g, NULL), 0);
        small_pack(g, steps, bits, f->code[k] + r * steps * bits / 8);
        for (int64_t i = 0; i < groups; i++) {
            f->scale[k][r * groups + i] = g[i].scale;
            f->least[k][r * groups + i] = g[i].least;
        }
    }
    add(f, name, "", bits == 8 ? DTYPE_I8 : DTYPE_U8, t, steps * bits / 8, f->code[k]);
    add(f, name, SMALL_SCALE, DTYPE_F16, t, groups, f->scale[k]);
    if (bits == 4) add(f, name, SMALL_LEAST, DTYPE_F16, t, groups, f->least[k]);
}

/* Of floats, or with the matrices of the model rounded; numbers of several sizes, zeros too. */
static void file_open(File *f, const strata_model *m, bool rounded) {
    const strata_tensor *t = strata_tensors(m);
    uint64_t state = 1;
    memset(f, 0, sizeof *f);
    for (int k = 0; k < m->tensors; k++, t++) {
        const char *name = strata_string(m, t->name);
        assert_true(t->count <= VALUES);
        for (int64_t i = 0; i < t->count; i++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            f->value[k][i] = i % 70 < 32 ? 0 : (float)((double)(state >> 33) * 0x1p-31 - 0.3);
        }
        if (rounded && bits_of(t)) add_rounded(f, k, name, t);
        else add(f, name, "", DTYPE_F32, t, 0, f->value[k]);
    }
    if (rounded)
        f->pairs = SMALL_PAIRS, small_file_metadata(m->small == STRATA_Q8 ? 8 : 4, f->pair);
}

/* Writes and reads it; what is read is compared where it is right. */
static int load(void **state, File *f, const strata_model *m, float *w, Error *e) {
    char path[SCRATCH_PATH];
    memset(w, 0, ROUNDED_ROOM * sizeof *w);
    *e = (Error){ 0 };
    assert_true(m->weights_bytes <= (int64_t)(ROUNDED_ROOM * sizeof *w));
    scratch_path(state, "w", path);
    assert_int_equal(safetensors_write(path, &f->list, f->pair, f->pairs, 0, NULL), 0);
    int status = weights_load(m, path, w, e);
    tensors_free(&f->list);
    return status;
}

static TensorOut *part(File *f, const char *name) {
    for (int32_t i = 0; i < f->list.count; i++)
        if (!strcmp(f->list.item[i].name, name)) return &f->list.item[i];
    fail_msg("there is no %s", name);
    return NULL;
}

/* == Tests ================================================================ */

static float first[ROUNDED_ROOM], second[ROUNDED_ROOM];
static File file;

static void rounded_files_are_the_same_weights(void **state) {
    Error e;
    for (int bits = 4; bits <= 8; bits += 4) {
        const strata_model *m = rounded_model(bits);
        file_open(&file, m, false);
        if (load(state, &file, m, first, &e)) fail_msg("%s", e.text);
        file_open(&file, m, true);
        assert_int_equal(file.list.count, bits == 8 ? 7 : 9);
        if (load(state, &file, m, second, &e)) fail_msg("%s", e.text);
        assert_memory_equal(first, second, sizeof first);
        /* a matrix that is not rounded, between others that are */
        file_open(&file, m, true);
        TensorOut *a = part(&file, "a.weight");
        a->dtype = DTYPE_F32, a->shape[1] = 40, a->data = file.value[0];
        strcpy(part(&file, "a.weight.scale")->name, "optimizer.a");
        if (bits == 4) strcpy(part(&file, "a.weight.least")->name, "optimizer.b");
        if (load(state, &file, m, second, &e)) fail_msg("%s", e.text);
        assert_memory_equal(first, second, sizeof first);
    }
}

static void values_are_scale_times_code(void **state) {
    (void)state;
    static const float x[] = { -1, 0.25f, 3, 7, -0.125f };
    for (int bits = 4; bits <= 8; bits += 4) {
        SmallGroup g;
        double back[5];
        assert_true(small_round(x, 5, bits, &g));
        small_values(&g, bits, 5, back);
        for (int i = 0; i < 5; i++)
            assert_true(fabs(back[i] - (double)x[i]) <= (bits == 8 ? 7.0 / 127 : 8.0 / 15) * 0.51);
    }
}

/* NaN, infinity and what no float16 holds the scale of, wherever they stand: no code is made of
** them.  The sanitizers see a conversion that is undefined. */
static void no_code_is_made_of_what_is_no_number(void **state) {
    (void)state;
    static const float never[] = { NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX };
    for (int bits = 4; bits <= 8; bits += 4)
        for (int i = 0; i < 5 * GROUP; i++) {
            float x[GROUP] = { 0.5f, -1 };
            SmallGroup g;
            x[i % GROUP] = never[i / GROUP];
            assert_false(small_round(x, GROUP, bits, &g));
        }
}

/* A file for one model and what another one says of it. */
static void other_models_refuse_them(void **state) {
    static const struct {
        int made, model;
        const char *says;
    } cases[] = {
        { 8, 0,
          "/w: expected weights that are not rounded, as small was built without --weights, "
          "found rounded to q8" },
        { 4, 0, "--weights, found rounded to q4" },
        { 4, 8,
          "/w: expected weights that are rounded to q8, as small was built, or not rounded, "
          "found rounded to q4" },
        { 8, 4,
          "expected weights that are rounded to q4, as small was built, or not rounded, "
          "found rounded to q8" },
    };
    Error e;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file_open(&file, rounded_model(cases[i].made), true);
        assert_int_equal(load(state, &file, rounded_model(cases[i].model), first, &e), STATUS_USER);
        if (!strstr(e.text, cases[i].says) || strchr(e.text, '\n'))
            fail_msg("expected \"%s\" in:\n%s", cases[i].says, e.text);
    }
}

/* What of a file of 8 or 4 bits is changed, and what is said of it. */
typedef void Damage(File *f);
static void no_scale(File *f) { strcpy(part(f, "a.weight.scale")->name, "optimizer.a"); }
static void no_least(File *f) { strcpy(part(f, "b.weight.least")->name, "optimizer.b"); }
static void scale_f32(File *f) {
    part(f, "a.weight.scale")->dtype = DTYPE_F32;
    part(f, "a.weight.scale")->data = f->value[0];
}
static void few_scales(File *f) { part(f, "a.weight.scale")->shape[1] = 1; }
static void few_rows(File *f) { part(f, "b.weight.least")->shape[0] = 1; }
static void short_codes(File *f) { part(f, "embed.weight")->shape[1] = 32; }
static void long_codes(File *f) { part(f, "embed.weight")->shape[1] = 34; }
static void no_codes(File *f) { part(f, "a.weight")->shape[1] = 0; }
static void other_codes(File *f) { part(f, "a.weight")->dtype = DTYPE_U8; }
static void codes_of_norm(File *f) {
    TensorOut *t = part(f, "norm");
    *t = (TensorOut){ t->name, DTYPE_I8, 2, { 1, 3 }, f->code[0] };
    *f->scale[3] = f16_of(1);
    tensors_add(&f->list, "", "norm.scale", DTYPE_F16, 2, (int64_t[]){ 1, 1 }, f->scale[3], NULL);
}
static void nan_scale(File *f) { f->scale[0][3] = 0x7e01; }
static void infinite_scale(File *f) { f->scale[1][4] = 0x7c00; }
static void negative_scale(File *f) { f->scale[2][0] = 0xbc00; }
static void infinite_least(File *f) { f->least[1][11] = 0xfc00; }
static void low_code(File *f) { f->code[0][41] = 128; }
static void version(File *f) { f->pair[1].value = "2"; }
static void weights(File *f) { f->pair[2].value = "q5"; }
static void group(File *f) { f->pair[3].value = "64"; }
static void no_group(File *f) { f->pairs = 3; }
static void no_format(File *f) { f->pairs = 0; }

static const struct {
    int bits;
    Damage *damage;
    const char *says;
} damages[] = {
    { 8, no_scale,
      "/w:a.weight.scale: expected F16 numbers, 2 for each row of a.weight, found "
      "none" },
    { 4, no_least,
      "/w:b.weight.least: expected F16 numbers, 2 for each row of b.weight, found "
      "none" },
    { 8, scale_f32,
      "/w:a.weight.scale: expected F16 numbers, 2 for each row of a.weight, found "
      "F32 [2,2]" },
    { 4, few_scales,
      "/w:a.weight.scale: expected F16 numbers, 2 for each row of a.weight, found "
      "F16 [2,1]" },
    { 4, few_rows,
      "/w:b.weight.least: expected F16 numbers, 2 for each row of b.weight, found "
      "F16 [1,3,2]" },
    { 8, short_codes,
      "/w:embed.weight.scale: expected F16 numbers, 1 for each row of "
      "embed.weight, found F16 [2,2]" },
    { 8, long_codes, "/w:embed.weight: expected q8 [2,33], found q8 [2,34]" },
    { 8, no_codes,
      "/w:a.weight: expected codes, a matrix of I8 or U8, found I8 of rank 2 and 0 "
      "numbers" },
    { 8, other_codes, "/w:a.weight.scale: expected F16 numbers, 3 for each row of a.weight" },
    { 8, codes_of_norm, "/w:norm: expected floats [3], found q8 [1,3]" },
    { 8, nan_scale, "/w:a.weight.scale[1,1]: expected a finite scale, found nan" },
    { 4, infinite_scale, "/w:b.weight.scale[0,2,0]: expected a finite scale, found inf" },
    { 4, negative_scale, "/w:embed.weight.scale[0,0]: expected a scale of 0 or more, found -1" },
    { 4, infinite_least, "/w:b.weight.least[1,2,1]: expected a finite value, found -inf" },
    { 8, low_code, "/w:a.weight[1,1]: expected a code from -127 to 127, found -128" },
    { 8, version, "/w: expected small weights of version 1, found 2" },
    { 8, weights, "/w: expected weights q8 or q4, found q5" },
    { 4, group, "/w: expected a group of 32, found 64" },
    { 4, no_group, "/w: expected a group of 32, found none" },
    { 4, no_format,
      "/w: expected the 4 parameters of small, found 0 missing, 3 of another shape "
      "or type, 5 unknown" },
};

static void damaged_files_are_refused_by_name(void **state) {
    Error e;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const strata_model *m = rounded_model(damages[i].bits);
        file_open(&file, m, true);
        damages[i].damage(&file);
        assert_int_equal(load(state, &file, m, first, &e), STATUS_USER);
        if (!strstr(e.text, damages[i].says))
            fail_msg("expected \"%s\" in:\n%s", damages[i].says, e.text);
        if (damages[i].damage != no_format && strchr(e.text, '\n'))
            fail_msg("expected one line, found\n%s", e.text);
    }
}

/* Cut anywhere. */
static void short_files_are_refused(void **state) {
    char path[SCRATCH_PATH], cut[SCRATCH_PATH];
    const strata_model *m = rounded_model(4);
    static char bytes[1 << 16];
    Error e;
    file_open(&file, m, true);
    assert_int_equal(load(state, &file, m, first, &e), 0);
    scratch_path(state, "w", path), scratch_path(state, "cut", cut);
    FILE *in = fopen(path, "rb");
    size_t n = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    for (size_t length = 0; length < n; length += 7) {
        FILE *out = fopen(cut, "wb");
        assert_int_equal(fwrite(bytes, 1, length, out), length);
        assert_int_equal(fclose(out), 0);
        e = (Error){ 0 };
        assert_int_equal(weights_load(m, cut, first, &e), STATUS_USER);
        assert_non_null(strstr(e.text, "/cut:"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounded_files_are_the_same_weights),
        cmocka_unit_test(values_are_scale_times_code),
        cmocka_unit_test(no_code_is_made_of_what_is_no_number),
        cmocka_unit_test(other_models_refuse_them),
        cmocka_unit_test(damaged_files_are_refused_by_name),
        cmocka_unit_test(short_files_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
