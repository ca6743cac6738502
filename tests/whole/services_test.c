/* SPDX-License-Identifier: MIT
** What a program's main is given: a product that the caller brings, with the function that older
** programs call too; and what cannot be right is refused.
*/
#include "test.h"

#include <string.h>

#include "learners.h"
#include "thread_ranks.h"

static Folder folder;
static char text[TEXT + 1];
static strata_api api;
static Ran ran;

static int open_folder(void **state) {
    (void)state;
    learners_open(&folder, text);
    learner_load(&folder, &details, "", &api);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

static int64_t products;

static void product(void *user, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                    const float *b, int64_t ldb, float *c, int64_t ldc) {
    __atomic_add_fetch(user ? (int64_t *)user : &products, 1, __ATOMIC_RELAXED);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t l = 0; l < k; l++)
                c[i * ldc + j] += a[l * lda + i] * b[l * ldb + j];
}

/* 0: the product was called, with what goes with it. */
static int with_product(void *user) {
    char text[] = "train --data text --overwrite --steps 1 --out product", *word[16] = { "model" };
    int64_t own = 0;
    int count = 1;
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
        word[count++] = w;
    const strata_services s = { .struct_size = sizeof s, .gemm = product, .gemm_user = &own };
    int status = user ? strata_main_services(count, word, &api, &s)
                      : strata_main_with(count, word, &api, product);
    return status ? status : (user ? own : products) == 0;
}

static void products_are_the_callers(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        program_collect(&ran, &folder, program_fork(&folder, NULL, with_product, i ? &i : NULL));
        if (ran.status) fail_msg("status %d: %s%s", ran.status, ran.out, ran.err);
    }
}

static void wrong_services_are_refused(void **state) {
    (void)state;
    char *word[] = { "model", "info" };
    ThreadRanks *t = thread_ranks_new(2);
    strata_services s = { .struct_size = sizeof s - 8 };
    assert_int_equal(strata_main_services(2, word, &api, &s), 1);
    strata_reducer r = *thread_ranks_reducer(t, 1);
    s = (strata_services){ .struct_size = sizeof s, .reducer = &r };
    r.rank = 2;
    assert_int_equal(strata_main_services(2, word, &api, &s), 1);
    r = *thread_ranks_reducer(t, 1), r.range = NULL;
    assert_int_equal(strata_main_services(2, word, &api, &s), 1);
    thread_ranks_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_the_callers),
        cmocka_unit_test(wrong_services_are_refused),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
