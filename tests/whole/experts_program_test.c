/* SPDX-License-Identifier: MIT
** A program with experts: any number of threads and a run that stopped and went on leave the same
** bytes, balance biases and all; they have no moments and no gradients; a log has each step's
** loads; accumulated batches move the biases as one batch of all of them does.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learners.h"
#include "safetensors.h"

static const Learner experts = {
    "experts",
    "return model { name = 'experts', vocab = 256, context = 16, dim = 32, tokenizer = 'bytes',\n"
    "  norm = rmsnorm { eps = 1e-6 }, residual = attnres { block_size = 2 },\n"
    "  layers = times(2, layer { attention { heads = 2 },\n"
    "    moe { experts = 6, top = 2, hidden = 24, shared = 1, balance = 0.01 } }),\n"
    "  train = { optimizer = adamw { lr = 4e-3 }, batch = 4 } }\n"
};

static Folder folder;
static char text[TEXT + 1];

static int open_folder(void **state) {
    (void)state;
    learners_open(&folder, text);
    learner_build(&folder, &experts);
    folder_shell(&folder,
                 "./experts train --data text --steps 24 --order sequential --threads 1 "
                 "--log log --out one");
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

static void threads_and_pauses_change_no_byte(void **state) {
    (void)state;
    for (int threads = 2; threads < 4; threads++)
        folder_shell(&folder,
                     "./experts train --data text --steps 24 --order sequential --threads %d --out "
                     "more && cmp one more && rm more*",
                     threads);
    folder_shell(&folder, "./experts train --data text --steps 7 --order sequential --out halves");
    folder_shell(&folder,
                 "./experts train --data text --steps 24 --order sequential --threads 2 "
                 "--out halves --resume && cmp one halves");
}

static void open_file(Safetensors *s, const char *name) {
    char path[256];
    Error e = { 0 };
    snprintf(path, sizeof path, "%s/%s", folder.path, name);
    if (safetensors_open(s, path, &e)) fail_msg("%s", e.text);
}

static const char *const bias[] = { "layers.0.mlp.router.balance_bias",
                                    "layers.1.mlp.router.balance_bias" };

static void read_bias(const char *file, int layer, double value[6]) {
    Safetensors s = { 0 };
    Error e = { 0 };
    open_file(&s, file);
    const Tensor *t = safetensors_find(&s, bias[layer]);
    assert_true(t && t->count == 6);
    assert_int_equal(safetensors_read_f64(&s, t, value, &e), 0);
    safetensors_close(&s);
}

/* Steps of a hundredth, less their mean, many of which the bias adds up. */
static void biases_moved(void **state) {
    (void)state;
    for (int layer = 0; layer < 2; layer++) {
        double value[6], sum = 0, most = 0;
        read_bias("one", layer, value);
        for (int i = 0; i < 6; i++) {
            sum += value[i];
            if (value[i] > most) most = value[i];
        }
        assert_true(sum < 1e-6 && sum > -1e-6 && most > 0.021);
    }
}

static void batches_add_up(void **state) {
    (void)state;
    folder_shell(&folder,
                 "./experts train --data text --steps 1 --batch 8 --order sequential "
                 "--out eight");
    folder_shell(&folder,
                 "./experts train --data text --steps 1 --batch 2 --accumulate 4 --order "
                 "sequential --out four");
    for (int layer = 0; layer < 2; layer++) {
        double eight[6], four[6];
        read_bias("eight", layer, eight), read_bias("four", layer, four);
        assert_memory_equal(eight, four, sizeof four);
    }
}

static void no_moments(void **state) {
    (void)state;
    Safetensors s = { 0 };
    open_file(&s, "one");
    int moments = 0;
    for (int i = 0; i < s.count; i++) {
        moments += !strncmp(s.tensor[i].name, "optimizer.", 10);
        if (strstr(s.tensor[i].name, "balance_bias"))
            assert_true(!strncmp(s.tensor[i].name, "layers.", 7));
    }
    assert_int_equal(moments, 2 * (s.count - moments - 2));
    safetensors_close(&s);
}

static void loads_are_logged(void **state) {
    (void)state;
    size_t length;
    int lines = 0;
    char *log = folder_read(&folder, "log", &length);
    assert_non_null(log);
    for (char *at = strstr(log, "\"load\": ["); at; at = strstr(at + 1, "\"load\": [")) {
        double a, b;
        assert_int_equal(sscanf(at, "\"load\": [%lf, %lf]}", &a, &b), 2);
        assert_true(a >= 1 && a <= 3 && b >= 1 && b <= 3); /* two of six: half of all at most */
        lines++;
    }
    assert_int_equal(lines, 24);
    free(log);
}

/* Each token takes two of six; the log has the same of a step's tokens, as one number a layer. */
static void loads_are_probed(void **state) {
    (void)state;
    size_t length;
    folder_shell(&folder,
                 "./experts probe --weights one --data text --json > probed && "
                 "./experts probe --weights one --data text -o page.html > shown && "
                 "grep -q 'layers.1.mlp.router.balance_bias  *6  ' shown && "
                 "grep -q '<h2>Loads' page.html");
    char *text = folder_read(&folder, "probed", &length), *at = strstr(text, "\"loads\": [");
    assert_non_null(at);
    for (int layer = 0; layer < 2; layer++) {
        double sum = 0;
        char name[64];
        snprintf(name, sizeof name, "{\"buffer\": \"%s\", \"per_token\": [", bias[layer]);
        at = strstr(at, name);
        assert_non_null(at);
        at += strlen(name);
        for (int i = 0; i < 6; i++, at++) {
            double share = strtod(at, &at);
            assert_true(share >= 0 && share <= 1);
            sum += share;
        }
        assert_true(sum > 2 - 1e-9 && sum < 2 + 1e-9);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_pauses_change_no_byte),
        cmocka_unit_test(biases_moved),
        cmocka_unit_test(batches_add_up),
        cmocka_unit_test(no_moments),
        cmocka_unit_test(loads_are_logged),
        cmocka_unit_test(loads_are_probed),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
