/*
** Weights for programs that embed models (strata.h): what the standalone program
** uses inside, with one line of text for an error.
*/
#include "strata.h"

#include "weights.h"

static int32_t tell(const Error *e, int status, char *message, size_t size) {
    if (message && size) print_text(message, size, "%s", status ? e->text : "");
    return status;
}

void strata_weights_init(const strata_model *m, uint64_t seed, float *weights) {
    weights_init(m, seed, weights);
}

int32_t strata_weights_read(const strata_model *m, const char *file, float *weights, char *message,
                            size_t size) {
    Error e = { 0 };
    return tell(&e, weights_load(m, file, weights, &e), message, size);
}

int32_t strata_weights_write(const strata_model *m, const char *file, const float *weights,
                             char *message, size_t size) {
    Error e = { 0 };
    TensorList list = { 0 };
    int status = weights_list(&list, m, "", weights, &e);
    if (!status) status = safetensors_write(file, &list, NULL, 0, SAFETENSORS_CHECKSUM, &e);
    tensors_free(&list);
    return tell(&e, status, message, size);
}
