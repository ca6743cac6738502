/*
** The kernel library as LLVM bitcode, one for each vector width, inside the
** compiler.
*/
#include "blobs.h"

#include <stdint.h>

#define BLOB(lanes)                                                           \
    __asm__(".section .rodata\n.balign 16\n"                                  \
            "blob" #lanes ": .incbin \"" BLOB_DIR "/kernels" #lanes ".bc\"\n"  \
            "blob" #lanes "_end: .byte 0\n.previous");                        \
    extern const char blob##lanes[], blob##lanes##_end[];
BLOB(4)
BLOB(8)
BLOB(16)
#undef BLOB

const char *blob_kernels(int lanes, size_t *size) {
    const char *first = lanes == 16 ? blob16 : lanes == 8 ? blob8 : blob4;
    const char *end = lanes == 16 ? blob16_end : lanes == 8 ? blob8_end : blob4_end;
    *size = (size_t)((uintptr_t)end - (uintptr_t)first);
    return first;
}
