/*
** The kernel library as LLVM bitcode, one for each set of instructions (the
** folder's CMakeLists.txt has the list), inside the compiler.
*/
#include "blobs.h"

#include <stdint.h>

#define BLOB(name)                                                            \
    __asm__(".section .rodata\n.balign 16\n"                                  \
            "blob_" #name ": .incbin \"" BLOB_DIR "/kernels_" #name ".bc\"\n" \
            "blob_" #name "_end: .byte 0\n.previous");                        \
    extern const char blob_##name[], blob_##name##_end[];
BLOB(v2)
BLOB(v3)
BLOB(v4)
BLOB(v4_avx512bf16)
BLOB(v4_amx)
#undef BLOB

const char *blob_kernels(int library, size_t *size) {
    const char *const first[] = { blob_v2, blob_v3, blob_v4, blob_v4_avx512bf16, blob_v4_amx };
    const char *const end[] = { blob_v2_end, blob_v3_end, blob_v4_end, blob_v4_avx512bf16_end,
                                blob_v4_amx_end };
    *size = (size_t)((uintptr_t)end[library] - (uintptr_t)first[library]);
    return first[library];
}
