/*
** The kernel library as LLVM bitcode, one for each level of levels.def,
** inside the compiler.
*/
#include "blobs.h"

#include <stdint.h>

#define LEVEL(library, below, name, cpu, more, lanes, cache, needs)                 \
    __asm__(".section .rodata\n.balign 16\n"                                        \
            "blob_" #library ": .incbin \"" BLOB_DIR "/kernels_" #library ".bc\"\n" \
            "blob_" #library "_end: .byte 0\n.previous");                           \
    extern const char blob_##library[], blob_##library##_end[];
#include "levels.def"

const char *blob_kernels(int library, size_t *size) {
    const char *const first[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) blob_##library,
#include "levels.def"
    };
    const char *const end[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) blob_##library##_end,
#include "levels.def"
    };
    *size = (size_t)((uintptr_t)end[library] - (uintptr_t)first[library]);
    return first[library];
}
