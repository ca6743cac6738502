/* See kernel_object.h. */
#include "kernel_object.h"

#include <stdint.h>

#define LEVEL(library, below, name, cpu, more, lanes, cache, needs)                           \
    __asm__(".section .rodata\n.balign 16\n"                                                  \
            "kernel_object_" #library ": .incbin \"" OBJECT_DIR "/kernels_" #library ".o\"\n" \
            "kernel_object_" #library "_end: .byte 0\n.previous");                            \
    extern const char kernel_object_##library[], kernel_object_##library##_end[];
#include "levels.def"

const void *kernel_object(int library, size_t *size) {
    const char *const first[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) kernel_object_##library,
#include "levels.def"
    };
    const char *const end[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) kernel_object_##library##_end,
#include "levels.def"
    };
    *size = (size_t)((uintptr_t)end[library] - (uintptr_t)first[library]);
    return first[library];
}
