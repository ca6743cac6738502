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
#include "model_info.h"
#include "scratch_spec.h"

enum { SLOTS = 1 << 20 };

typedef struct Made {
    char key[65];
    uint64_t seed, hash;
    size_t size;
} Made;

typedef struct Known {
    pthread_mutex_t lock;
    Made *slot; /* [SLOTS], by key */
    uint64_t seed;
    int kernels, again, differ;
} Known;

static uint64_t setting(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static uint64_t hash(const void *data, size_t size) {
    const unsigned char *x = data;
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ x[i]) * 1099511628211u;
    return h;
}

static bool find_none(void *user, const char *key, void **data, size_t *size) {
    (void)user, (void)key, (void)data, (void)size;
    return false;
}

static Made *slot_of(const Known *k, const char *key) {
    uint64_t i = strtoull((char[]){ key[0], key[1], key[2], key[3], key[4], 0 }, NULL, 16);
    while (*k->slot[i % SLOTS].key && strcmp(k->slot[i % SLOTS].key, key) != 0)
        i++;
    return &k->slot[i % SLOTS];
}

static void compare(void *user, const char *key, const void *data, size_t size) {
    Known *k = user;
    const Made now = { .seed = k->seed, .hash = hash(data, size), .size = size };
    pthread_mutex_lock(&k->lock);
    Made *before = slot_of(k, key);
    k->kernels++;
    if (!*before->key) {
        *before = now;
        memcpy(before->key, key, sizeof before->key);
    } else {
        k->again++;
        if (before->hash != now.hash || before->size != size) {
            k->differ++;
            fprintf(stderr, "seeds %llu and %llu: a kernel of %zu and %zu bytes with one key\n",
                    (unsigned long long)before->seed, (unsigned long long)now.seed, before->size,
                    size);
        }
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
    assert_int_equal(codegen_compile(m->graph, &info, &o, &code, &e), 0);
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
    Known k = { .lock = PTHREAD_MUTEX_INITIALIZER, .slot = calloc(SLOTS, sizeof *k.slot) };
    assert_non_null(k.slot);
    for (uint64_t i = 0; i < count; i++)
        compile_all(state, &k, seed + i);
    print_message("%d kernels, of which %d had the key of an earlier one\n", k.kernels, k.again);
    free(k.slot);
    assert_true(k.kernels > k.again && k.again > k.kernels / 4);
    assert_int_equal(k.differ, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_key_is_one_object, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
