/* SPDX-License-Identifier: MIT
** See kernel_object.h. */
#include "kernel_object.h"

#include "incbin.h"

#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) \
    INCBIN(kernel_object_##library, OBJECT_DIR "/kernels_" #library ".o")
#include "levels.def"

const void *kernel_object(int library, size_t *size) {
    static const Incbin object[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) \
    INCBIN_BYTES(kernel_object_##library),
#include "levels.def"
    };
    return incbin_bytes(object[library], size);
}
