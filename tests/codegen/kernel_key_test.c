/* SPDX-License-Identifier: MIT
** Kernels with one key are one object, of whichever model: a build may take what another one kept.
** Random specs and lists are compiled, each kernel anew, then again with another number in one
** place, and what is made of a key is compared with what was made of it before.
** STRATA_FUZZ_SEED and STRATA_FUZZ_COUNT run others.
*/
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_lists.h"
#include "fuzz_spec.h"
#include "hash.h"
#include "model_info.h"
#include "planned.h"
#include "scratch_spec.h"
#include "setting.h"
#include "table.h"

typedef struct Made {
    char key[65];
    uint64_t seed, sum;
    size_t size;
} Made;

typedef struct Known {
    pthread_mutex_t lock;
    Table made; /* Made *, by key */
    uint64_t seed;
    int kernels, again, differ;
} Known;

static bool find_none(void *user, const char *key, void **data, size_t *size) {
    (void)user, (void)key, (void)data, (void)size;
    return false;
}

static bool has_key(const void *item, const void *key) {
    return !strcmp(((const Made *)item)->key, key);
}

static void add(Known *k, uint64_t hash, const Made *now) {
    Made *own = malloc(sizeof *own);
    if (!own) abort();
    *own = *now;
    table_add(&k->made, hash, own);
}

/* Of two threads. */
static void compare(void *user, const char *key, const void *data, size_t size) {
    Known *k = user;
    Made now = { .seed = k->seed, .sum = xxh64(data, size, 0), .size = size };
    uint64_t hash = hash_bytes(HASH_START, key, strlen(key));
    strcpy(now.key, key);
    pthread_mutex_lock(&k->lock);
    const Made *before = table_find(&k->made, hash, has_key, key);
    k->kernels++;
    k->again += before != NULL;
    if (!before) {
        add(k, hash, &now);
    } else if (before->sum != now.sum || before->size != size) {
        k->differ++;
        fprintf(stderr, "seeds %llu and %llu: a kernel of %zu and %zu bytes with one key\n",
                (unsigned long long)before->seed, (unsigned long long)now.seed, before->size, size);
    }
    pthread_mutex_unlock(&k->lock);
}

static void compile(void **state, Known *k, uint64_t seed, const char *text) {
    const KernelStore store = { find_none, compare, k };
    Model *m = scratch_model(state, "%s", text);
    ModelInfo info = model_info(m);
    CodegenOptions o = { .cpu = "native", .emit = EMIT_OBJ, .link = true, .store = &store };
    CompiledModel code;
    Error e;
    o.passes.bf16 = seed % 2;
    k->seed = seed;
    assert_int_equal(planned_compile(m->graph, &info, &o, &code, &e), 0);
    codegen_free(&code);
    spec_free(m);
}

/* The digit behind one of the 'word's, if there is one, becomes another; lines stay as they are. */
static bool change(char *text, const char *word, uint64_t which) {
    char *at = strstr(text, word);
    if (!at) return false;
    for (char *next; which % 8 && (next = strstr(at + 1, word)); which--)
        at = next;
    at += strlen(word);
    *at = *at == '9' ? '8' : (char)(*at + 1);
    return true;
}

static void compile_all(void **state, Known *k, uint64_t seed) {
    static const char *const word[] = { "vocab = ",   "context = ", "eps = ",
                                        "scale = 0.", "hidden = ",  "layers = times(" };
    char *text = seed % 4 ? fuzz_spec(seed) : fuzz_lists(seed, 2, 40);
    compile(state, k, seed, text);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if ((seed + i) % 3 == 0 && change(text, word[i], seed)) compile(state, k, seed, text);
    free(text);
}

static void one_key_is_one_object(void **state) {
    uint64_t seed = setting("STRATA_FUZZ_SEED", 1), count = setting("STRATA_FUZZ_COUNT", 10);
    Known k = { .lock = PTHREAD_MUTEX_INITIALIZER };
    for (uint64_t i = 0; i < count; i++)
        compile_all(state, &k, seed + i);
    print_message("%d kernels, of which %d had the key of an earlier one\n", k.kernels, k.again);
    for (size_t i = 0; i < k.made.n; i++)
        free(k.made.item[i]);
    table_free(&k.made);
    assert_true(k.kernels > k.again && k.again > k.kernels / 4);
    assert_int_equal(k.differ, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_key_is_one_object, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
