/* SPDX-License-Identifier: MIT
** The kernel library as LLVM bitcode, one for each level of levels.def,
** inside the compiler.
*/
#include "blobs.h"

#include "incbin.h"

#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) \
    INCBIN(blob_##library, BLOB_DIR "/kernels_" #library ".bc")     \
    INCBIN(blob_called_##library, BLOB_DIR "/called_" #library ".bc")
#include "levels.def"

const char *blob_kernels(int library, size_t *size) {
    static const Incbin blob[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) INCBIN_BYTES(blob_##library),
#include "levels.def"
    };
    return incbin_bytes(blob[library], size);
}

const char *blob_called(int library, size_t *size) {
    static const Incbin blob[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) \
    INCBIN_BYTES(blob_called_##library),
#include "levels.def"
    };
    return incbin_bytes(blob[library], size);
}
