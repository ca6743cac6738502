/* SPDX-License-Identifier: MIT
** Weight gradients through OpenBLAS.  The only file that names it, in an archive
** of its own: a program that does not call strata_blas_gemm needs no BLAS.
** There is one pool of threads, ours: OpenBLAS runs single-threaded in our tasks.
*/
#include <cblas.h>
#include <limits.h>

#include "strata.h"

/* C[m,n] += A^T[m,k] B[k,n] in pieces whose sizes fit OpenBLAS's int. */
static void gemm(void *user, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                 const float *b, int64_t ldb, float *c, int64_t ldc) {
    (void)user;
    const int64_t most = INT_MAX / 2;
    for (int64_t at = 0; at < k; at += most) {
        int64_t part = k - at < most ? k - at : most;
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)m, (blasint)n, (blasint)part,
                    1.0f, a + at * lda, (blasint)lda, b + at * ldb, (blasint)ldb, 1.0f, c,
                    (blasint)ldc);
    }
}

strata_gemm_fn strata_blas_gemm(void) {
    openblas_set_num_threads(1);
    return gemm;
}

const char *strata_blas_name(void) { return openblas_get_corename(); }
