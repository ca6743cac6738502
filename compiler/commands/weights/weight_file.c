/* SPDX-License-Identifier: MIT
** A file of weights whose checksum is right. */
#include "weight_tools.h"

int weight_file_open(Safetensors *s, const char *path, Error *e) {
    int status = safetensors_open(s, path, e);
    if (status) return status;
    status = safetensors_verify(s, NULL, e);
    if (status) safetensors_close(s);
    return status;
}
