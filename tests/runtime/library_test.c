/* SPDX-License-Identifier: MIT
** What strata.h has for programs that embed models: sampling as generate does it, texts that end at
** a stop, the tokenizer that a model's weights hold.
*/
#include "test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock_model.h"
#include "sample.h"
#include "scratch.h"
#include "strata.h"
#include "tokenizer.h"

/* == Sampling ============================================================= */

enum { IDS = 7, DRAWS = 4000 };
static const float logits[IDS] = { 1.0f, 3.0f, -2.0f, 3.0f, 0.5f, 2.0f, -1.0f };

static strata_sampling settings(void) {
    return (strata_sampling){ .struct_size = sizeof(strata_sampling),
                              .temperature = 0.8,
                              .top_p = 1,
                              .seed = 11,
                              .ids = IDS,
                              .repeat_penalty = 1 };
}

static strata_sampler *opened(const strata_sampling *how) {
    strata_sampler *s;
    char message[200] = "x";
    if (strata_sampler_new(how, &s, message, sizeof message)) fail_msg("%s", message);
    assert_string_equal(message, "");
    return s;
}

/* What the program draws; it tells its sampler of prompt and text. */
static void draws_are_those_of_generate(void **state) {
    (void)state;
    const double penalty[] = { 1, 1.3, 1000 };
    const int32_t prompt[] = { 3, IDS, -1, 5 }; /* two of them are never drawn */
    for (int k = 0; k < 3; k++) {
        strata_sampling how = settings();
        how.top_k = 4, how.top_p = 0.9, how.repeat_penalty = penalty[k];
        strata_sampler *s = opened(&how);
        Sampler own = { .how = { .temperature = 0.8,
                                 .top_k = 4,
                                 .top_p = 0.9,
                                 .seed = 11,
                                 .penalty = penalty[k] } };
        assert_int_equal(sampler_open(&own, IDS, NULL), 0);
        strata_sampler_see(s, prompt, 4);
        for (int i = 0; i < 4; i++)
            sampler_see(&own, prompt[i]);
        for (int i = 0; i < DRAWS; i++) {
            int32_t id = sampler_next(&own, logits, i);
            sampler_see(&own, id);
            assert_int_equal(strata_sampler_next(s, logits, i), id);
        }
        sampler_close(&own);
        strata_sampler_free(s);
    }
}

/* Positive logits are divided, others multiplied, once however often a token was there. */
static void what_was_there_is_less_likely(void **state) {
    (void)state;
    const float near[IDS] = { 1, 3, -2, 2.5f, 0, -3, -9 };
    const int32_t want[] = { 1, 3, 1, 1, 1 }; /* 3 becomes 1.5, then 2.5 1.25 */
    strata_sampling how = settings();
    how.temperature = 0, how.repeat_penalty = 2;
    strata_sampler *s = opened(&how);
    for (int twice = 0; twice < 2; twice++) {
        for (int i = 0; i < 5; i++)
            assert_int_equal(strata_sampler_next(s, near, i), want[i]);
        strata_sampler_forget(s);
    }
    const float negative[IDS] = { -4, -2, -3, -5, -6, -7, -8 };
    strata_sampler_see(s, (int32_t[]){ 1 }, 1); /* -2 becomes -4 */
    assert_int_equal(strata_sampler_next(s, negative, 0), 2);
    strata_sampler_see(s, NULL, 1);
    strata_sampler_see(NULL, (int32_t[]){ 1 }, 1);
    strata_sampler_forget(NULL);
    strata_sampler_free(s);
}

/* The structure as it was before the penalty; what lies behind it is not looked at. */
static void older_callers_have_no_penalty(void **state) {
    (void)state;
    strata_sampling how = settings(), old = settings();
    old.struct_size = offsetof(strata_sampling, repeat_penalty), old.repeat_penalty = NAN;
    assert_int_equal(old.struct_size, 56);
    strata_sampling unnamed = settings();
    unnamed.repeat_penalty = 0; /* compiled with this header, written for the one before */
    strata_sampler *a = opened(&how), *b = opened(&old), *c = opened(&unnamed);
    for (int i = 0; i < DRAWS; i++) {
        int32_t id = strata_sampler_next(a, logits, i);
        assert_int_equal(strata_sampler_next(b, logits, i), id);
        assert_int_equal(strata_sampler_next(c, logits, i), id);
    }
    strata_sampler_free(a), strata_sampler_free(b), strata_sampler_free(c);
}

/* The ids that are likely enough, in the shares that they have among them. */
static void min_p_leaves_the_likely(void **state) {
    (void)state;
    strata_sampling how = settings();
    how.min_p = 0.1; /* exp((2 - 3) / 0.8) is 0.29, exp((1 - 3) / 0.8) is 0.08 */
    strata_sampler *s = opened(&how);
    double found[IDS] = { 0 }, rest = exp(-1 / 0.8), total = 2 + rest;
    for (int i = 0; i < DRAWS; i++)
        found[strata_sampler_next(s, logits, i)] += 1.0 / DRAWS;
    strata_sampler_free(s);
    for (int i = 0; i < IDS; i++) {
        double want = logits[i] == 3 ? 1 / total : logits[i] == 2 ? rest / total : 0;
        assert_true(fabs(found[i] - want) < (want > 0 ? 0.03 : 1e-12));
    }
    how.min_p = 1, how.top_k = 3;
    s = opened(&how);
    for (int i = 0; i < 50; i++)
        assert_true(logits[strata_sampler_next(s, logits, i)] == 3);
    strata_sampler_free(s);
}

static const struct {
    size_t at;
    double number;
    int64_t integer;
    const char *word;
} wrong[] = {
    { offsetof(strata_sampling, struct_size), 0, 8, "struct_size" },
    { offsetof(strata_sampling, temperature), -1, 0, "temperature" },
    { offsetof(strata_sampling, temperature), INFINITY, 0, "temperature" },
    { offsetof(strata_sampling, top_p), NAN, 0, "top_p" },
    { offsetof(strata_sampling, min_p), 1.5, 0, "min_p" },
    { offsetof(strata_sampling, top_k), 0, -1, "top_k" },
    { offsetof(strata_sampling, ids), 0, 0, "ids" },
    { offsetof(strata_sampling, ids), 0, (INT64_C(1) << 32) + 1, "reserved" },
    { offsetof(strata_sampling, repeat_penalty), 0.5, 0, "repeat_penalty: expected 0" },
    { offsetof(strata_sampling, repeat_penalty), -1.5, 0, "repeat_penalty" },
    { offsetof(strata_sampling, repeat_penalty), 0.9, 0, "repeat_penalty" },
    { offsetof(strata_sampling, repeat_penalty), 1001, 0, "repeat_penalty" },
    { offsetof(strata_sampling, repeat_penalty), NAN, 0, "repeat_penalty" },
    { offsetof(strata_sampling, struct_size), 0, 60, "struct_size" },
    { offsetof(strata_sampling, struct_size), 0, 72, "struct_size" },
};

static void wrong_settings_are_named(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        strata_sampling how = settings();
        strata_sampler *s = (strata_sampler *)&how;
        char message[200], *member = (char *)&how + wrong[i].at;
        if (wrong[i].number != 0) memcpy(member, &wrong[i].number, 8);
        else memcpy(member, &wrong[i].integer, 8);
        assert_int_equal(strata_sampler_new(&how, &s, message, sizeof message), 1);
        if (!strstr(message, wrong[i].word)) fail_msg("%s: %s", wrong[i].word, message);
        assert_null(s);
    }
    strata_sampling how = settings();
    strata_sampler *s = opened(&how);
    float bad[IDS] = { 0, NAN };
    assert_int_equal(strata_sampler_next(s, bad, 0), -1);
    assert_int_equal(strata_sampler_next(NULL, bad, 0), -1);
    strata_sampler_free(s);
    strata_sampler_free(NULL);
}

/* == Stops ================================================================ */

static const strata_model *model_with(const char *tokenizer) {
    return mock_api(
               &(MockOptions){ .tokenizer = tokenizer, .vocab = 300, .context = 8, .batch = 1 })
        ->model();
}

static strata_tokenizer *tokenizer_of(const char *kind, const char *weights) {
    strata_tokenizer *t;
    char message[200];
    if (strata_tokenizer_of_model(model_with(kind), weights, &t, message, sizeof message))
        fail_msg("%s", message);
    return t;
}

/* The text of ids one by one until it ends; how many ids that took. */
static int run(strata_decoder *d, const char *text, char *out) {
    int i = 0;
    size_t n;
    *out = 0;
    for (; text[i] && !strata_decoder_stopped(d); i++) {
        const char *piece = strata_decoder_push(d, (unsigned char)text[i], &n);
        assert_non_null(piece);
        assert_int_equal(strlen(piece), n);
        strcat(out, piece);
    }
    bool stopped = strata_decoder_stopped(d);
    strcat(out, strata_decoder_end(d, &n));
    if (stopped) assert_int_equal(n, 0);
    assert_false(strata_decoder_stopped(d));
    return i;
}

static void texts_end_at_a_stop(void **state) {
    (void)state;
    const struct {
        const char *stop[3], *text, *want;
        int ids; /* until it ended */
    } cases[] = {
        { { "end" }, "the end of it", "the ", 7 },
        { { "end" }, "the enemy", "the enemy", 9 },
        { { "end" }, "the en", "the en", 6 },
        { { "aab" }, "aaab", "a", 4 },
        { { "x\n", "\n\n" }, "a\nb\n\nc", "a\nb", 5 },
        { { "\n\n", "b\n\nc" }, "a\nb\n\nc", "a\nb", 5 },
        { { "\xc3\xa9" }, "caf\xc3\xa9", "caf", 5 },
        { { "\xc3\xa9" }, "caf\xc3\xa8", "caf\xc3\xa8", 5 },
        { { "a" }, "a", "", 1 },
    };
    strata_tokenizer *t = tokenizer_of("bytes", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[64];
        strata_decoder *d = strata_decoder_new(t, 0);
        for (int k = 0; k < 3 && cases[i].stop[k]; k++)
            assert_int_equal(strata_decoder_stop(d, cases[i].stop[k]), 0);
        for (int twice = 0; twice < 2; twice++) {
            assert_int_equal(run(d, cases[i].text, out), cases[i].ids);
            assert_string_equal(out, cases[i].want);
        }
        assert_int_not_equal(strata_decoder_stop(d, ""), 0);
        strata_decoder_free(d);
    }
    assert_int_not_equal(strata_decoder_stop(NULL, "a"), 0);
    assert_int_equal(strata_decoder_stopped(NULL), 0);
    strata_tokenizer_free(t);
}

/* == Wrong calls ========================================================== */

static void refused_with(int32_t status, const char *message, const char *word) {
    assert_int_equal(status, 1);
    if (!strstr(message, word)) fail_msg("expected '%s' in '%s'", word, message);
}

/* Flags without a meaning, ids that are not there, sizes that no memory has. */
static void wrong_calls_of_tokenizers_are_refused(void **state) {
    (void)state;
    static const int32_t wrong[] = { -1, 256, 257, INT32_MAX, INT32_MIN };
    strata_tokenizer *t = tokenizer_of("bytes", NULL);
    char message[200], out[8];
    int32_t at[8];
    strata_ids ids = { at, 8, 0 };
    strata_text text = { out, 8, 0 };
    for (uint32_t flag = 1; flag; flag <<= 1) {
        int32_t status = strata_tokenizer_encode(t, "a", 1, flag, &ids, message, sizeof message);
        if (flag & (STRATA_TEMPLATE | STRATA_PLAIN)) assert_int_equal(status, 0);
        else refused_with(status, message, "flags");
        status = strata_tokenizer_decode(t, at, 1, flag, &text, message, sizeof message);
        if (flag == STRATA_SPECIALS) assert_int_equal(status, 0);
        else refused_with(status, message, "flags");
        strata_decoder *d = strata_decoder_new(t, flag);
        assert_int_equal(d != NULL, (flag & (STRATA_SPECIALS | STRATA_CONTINUES)) != 0);
        strata_decoder_free(d);
    }
    strata_decoder *d = strata_decoder_new(t, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t n = 7;
        int32_t two[] = { 65, wrong[i] };
        refused_with(strata_tokenizer_decode(t, two, 2, 0, &text, message, sizeof message), message,
                     "ids[1]: expected 0 to 255, found");
        errno = 0;
        assert_null(strata_decoder_push(d, wrong[i], &n));
        assert_int_equal(n, 0);
        assert_int_equal(errno, EINVAL);
    }
    assert_string_equal(strata_decoder_push(d, 65, NULL), "A"); /* it goes on */
    strata_decoder_free(d);
    refused_with(strata_tokenizer_decode(t, at, SIZE_MAX, 0, &text, message, sizeof message),
                 message, "the number of ids");
    refused_with(strata_tokenizer_encode(t, "a", SIZE_MAX, 0, &ids, message, sizeof message),
                 message, "the text's length");
    strata_tokenizer_free(t);
}

static void wrong_pools_are_refused(void **state) {
    (void)state;
    errno = 0;
    assert_null(strata_pool_new(-1));
    assert_int_equal(errno, EINVAL);
    assert_null(strata_pool_new(INT32_MIN));
    assert_int_equal(strata_pool_workers(NULL), 0);
    strata_pool_free(NULL);
}

/* == A model's tokenizer ================================================== */

static void encodes(const strata_tokenizer *t, const char *text, const int32_t *want, size_t n) {
    int32_t room[16];
    strata_ids ids = { room, 16, 0 };
    assert_int_equal(strata_tokenizer_encode(t, text, strlen(text), 0, &ids, NULL, 0), 0);
    assert_int_equal(ids.count, n);
    assert_memory_equal(room, want, n * sizeof *want);
}

/* Characters go with the weights, into the file and out of it. */
static void weights_hold_characters(void **state) {
    char path[SCRATCH_PATH], again[SCRATCH_PATH], message[200];
    scratch_path(state, "w.safetensors", path), scratch_path(state, "v.safetensors", again);
    const strata_model *m = model_with("chars");
    float *w = calloc(1, (size_t)m->weights_bytes);
    Tokenizer learnt = { 0 };
    strata_weights_init(m, 1, w);
    assert_int_equal(tokenizer_learn(&learnt, &tokenizer_chars, m->vocab, "aaabbc", 6, NULL), 0);
    assert_int_equal(
        strata_weights_write_with(m, path, w, (strata_tokenizer *)&learnt, message, sizeof message),
        0);
    tokenizer_free(&learnt);
    strata_tokenizer *t = tokenizer_of("chars", path), *none;
    encodes(t, "abcz", (int32_t[]){ 4, 5, 6, 1 }, 4);
    assert_int_equal(strata_weights_write_with(m, again, w, t, NULL, 0), 0);
    strata_tokenizer_free(t);
    t = tokenizer_of("chars", again);
    encodes(t, "cb", (int32_t[]){ 6, 5 }, 2);
    assert_int_equal(strata_weights_write(m, again, w, NULL, 0), 0);
    FILE *mine = fopen(scratch_path(state, "mine", path), "w");
    assert_true(mine && fputs("a text", mine) >= 0 && !fclose(mine));
    assert_int_equal(strata_weights_write(m, path, w, message, sizeof message), 1);
    assert_non_null(strstr(message, "mine: expected no file, or one of safetensors"));
    assert_int_equal(strata_tokenizer_of_model(m, again, &none, message, sizeof message), 1);
    assert_non_null(strstr(message, "tokenizer.chars"));
    assert_null(none);
    strata_tokenizer_free(t);
    free(w);
}

static void what_there_is_not_is_said(void **state) {
    (void)state;
    const struct {
        const char *kind, *word;
    } cases[] = { { "", "found none" },
                  { "chars", "the weights: expected a pointer" },
                  { "a/tokenizer.json", "the file a/tokenizer.json" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[200];
        strata_tokenizer *t;
        assert_int_equal(
            strata_tokenizer_of_model(model_with(cases[i].kind), NULL, &t, message, sizeof message),
            1);
        if (!strstr(message, cases[i].word)) fail_msg("%s: %s", cases[i].kind, message);
        assert_null(t);
    }
    assert_int_equal(strata_tokenizer_of_model(NULL, NULL, NULL, NULL, 0), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_those_of_generate),
        cmocka_unit_test(what_was_there_is_less_likely),
        cmocka_unit_test(older_callers_have_no_penalty),
        cmocka_unit_test(min_p_leaves_the_likely),
        cmocka_unit_test(wrong_settings_are_named),
        cmocka_unit_test(texts_end_at_a_stop),
        cmocka_unit_test(wrong_calls_of_tokenizers_are_refused),
        cmocka_unit_test(wrong_pools_are_refused),
        cmocka_unit_test_setup_teardown(weights_hold_characters, scratch_setup, scratch_teardown),
        cmocka_unit_test(what_there_is_not_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
