/* SPDX-License-Identifier: MIT
** Weights for programs that embed models (strata.h): what the standalone program
** uses inside, with one line of text for an error.
*/
#include "strata.h"

#include <sys/stat.h>

#include "library.h"
#include "weights.h"

void strata_weights_init(const strata_model *m, uint64_t seed, float *weights) {
    if (m && weights) weights_init(m, seed, weights);
}

static bool is_there(const strata_model *m, const char *file, const float *weights, Error *e) {
    const char *missing = !m ? "model" : !file ? "file" : !weights ? "weights" : NULL;
    if (missing) error_set(e, STATUS_USER, "the %s: expected a pointer, found NULL", missing);
    return !missing;
}

int32_t strata_weights_read(const strata_model *m, const char *file, float *weights, char *message,
                            size_t size) {
    Error e = { 0 };
    int status = is_there(m, file, weights, &e) ? weights_load(m, file, weights, &e) : e.status;
    return tell(&e, status, message, size);
}

/* A caller may write its weights as often as it likes, over no file of another kind. */
static int check_place(const char *file, Error *e) {
    struct stat there;
    Safetensors s;
    if (stat(file, &there) || !S_ISREG(there.st_mode) || !there.st_size) return STATUS_OK;
    if (safetensors_open(&s, file, NULL))
        return error_set(e, STATUS_USER,
                         "%s: expected no file, or one of safetensors, found another: another "
                         "name, or remove it",
                         file);
    safetensors_close(&s);
    return STATUS_OK;
}

int32_t strata_weights_write_with(const strata_model *m, const char *file, const float *weights,
                                  const strata_tokenizer *t, char *message, size_t size) {
    Error e = { 0 };
    TensorList list = { 0 };
    int status = is_there(m, file, weights, &e) ? weights_list(&list, m, "", weights, &e)
                                                : e.status;
    if (!status) status = check_place(file, &e);
    if (!status && t) status = tokenizer_save(&t->t, &list, &e);
    if (!status) status = safetensors_write(file, &list, NULL, 0, SAFETENSORS_CHECKSUM, &e);
    tensors_free(&list);
    return tell(&e, status, message, size);
}

int32_t strata_weights_write(const strata_model *m, const char *file, const float *weights,
                             char *message, size_t size) {
    return strata_weights_write_with(m, file, weights, NULL, message, size);
}
