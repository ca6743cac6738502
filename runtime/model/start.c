/* The main() of a standalone program; the rest of it is libstrata. */
#include "abi.h"

int strata_main_with(int argc, char **argv, const strata_api *api, strata_gemm_fn gemm);

const strata_model *model_model(void);
const char *model_strerror(int32_t);
const char *model_message(const void *);
int32_t model_init(void *, size_t, const strata_setup *);
size_t model_state_bytes(int64_t);
size_t model_arena_bytes(int64_t, int32_t);
int32_t model_state_init(void *, void *, int64_t);
size_t model_state_bytes_share(int64_t, int32_t);
int32_t model_state_init_share(void *, void *, int64_t, int32_t);
int32_t model_state_copy(void *, void *, const void *);
int32_t model_prefill(void *, const void *, void *, void *, const int32_t *, int64_t, float *);
int32_t model_decode(void *, const void *, void *const *, int32_t, void *, const int32_t *,
                     float *);
int32_t model_logits(void *, const void *, void *, const int32_t *, int64_t, int64_t, float *);
int32_t model_forward_backward(void *, const void *, void *, void *, const int32_t *,
                               const int32_t *, int64_t, int64_t, float, uint32_t, strata_range_fn,
                               void *, strata_loss *);
int32_t model_sum_squares(void *, const void *, int64_t, int64_t, double *);
int32_t model_update(void *, void *, void *, int64_t, int64_t, const strata_adamw *);
size_t k_probe_arena_bytes(int64_t, int32_t);
int32_t k_probe(void *, const void *, void *, const int32_t *, const int32_t *, int64_t, int64_t,
                float *, uint8_t *, strata_loss *);
int32_t model_loss(void *, const void *, void *, const int32_t *, const int32_t *, int64_t, int64_t,
                   float *, strata_loss *);

/* Set by the linker line when OpenBLAS is linked: see codegen/link.c. */
__attribute__((weak, visibility("default"))) strata_gemm_fn strata_blas_gemm(void);

/* Plain, as model_init is: a processor that lacks something is told about, not tried. */
__attribute__((visibility("default"), target("no-avx"))) int main(int argc, char **argv) {
    strata_api api = {
        .struct_size = sizeof api,
        .model = model_model,
        .strerror_ = model_strerror,
        .message = model_message,
        .init = model_init,
        .state_bytes = model_state_bytes,
        .arena_bytes = model_arena_bytes,
        .state_init = model_state_init,
        .prefill = model_prefill,
        .decode = model_decode,
        .logits = model_logits,
        .forward_backward = model_forward_backward,
        .sum_squares = model_sum_squares,
        .update = model_update,
        .loss = model_loss,
        .state_bytes_share = model_state_bytes_share,
        .state_init_share = model_state_init_share,
        .state_copy = model_state_copy,
        .probe_arena_bytes = k_probe_arena_bytes,
        .probe = k_probe,
    };
    return strata_main_with(argc, argv, &api, strata_blas_gemm ? strata_blas_gemm() : 0);
}
