/*
** libstrata for programs: a thread pool to inject into models (abi.h), their weights
** in files, and the standalone program around one model.  A pool may serve any number of models
** and threads of calls; calls that meet take turns.
*/
#ifndef STRATA_H
#define STRATA_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct strata_pool strata_pool;

/* 'threads' workers, the caller of strata_par_for being one of them; 0: as many as
** the process may run on.  NULL: not that many threads can be started (errno). */
strata_pool *strata_pool_new(int32_t threads);
void strata_pool_free(strata_pool *pool);
int32_t strata_pool_workers(const strata_pool *pool);

/* A strata_par_for_fn; 'pool' is a strata_pool.  Not from inside a task. */
void strata_par_for(void *pool, int64_t tasks, strata_task_fn fn, void *arg);

/* Processors that this process may run on (its affinity). */
int32_t strata_processors(void);

/* Parameters: the initial values of a seed; from and to safetensors files, atomically, with
** the model's names, checked against its table.  0, or an exit status of the standalone
** program with a line of text in 'message' (of 'size' bytes, may be NULL). */
void strata_weights_init(const strata_model *m, uint64_t seed, float *weights);
int32_t strata_weights_read(const strata_model *m, const char *file, float *weights, char *message,
                            size_t size);
int32_t strata_weights_write(const strata_model *m, const char *file, const float *weights,
                             char *message, size_t size);

/* The standalone program: parses the command line, returns the exit status. */
int strata_main(int argc, char **argv, const strata_api *api);
int strata_main_with(int argc, char **argv, const strata_api *api, strata_gemm_fn gemm);

/* In libstrata_blas: weight gradients through OpenBLAS, single-threaded inside tasks. */
strata_gemm_fn strata_blas_gemm(void);
const char *strata_blas_name(void); /* the kernels that it runs on this processor */

#ifdef __cplusplus
}
#endif
#endif
