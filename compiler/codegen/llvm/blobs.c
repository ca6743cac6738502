/*
** The kernel library as LLVM bitcode, one for each level of levels.def,
** inside the compiler.
*/
#include "blobs.h"

#include <stdint.h>

#define BLOB(name, file)                                            \
    __asm__(".section .rodata\n.balign 16\n"                        \
            "blob_" name ": .incbin \"" BLOB_DIR "/" file ".bc\"\n" \
            "blob_" name "_end: .byte 0\n.previous");
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs)                      \
    BLOB(#library, "kernels_" #library)                                                  \
    BLOB("called_" #library, "called_" #library)                                         \
    extern const char blob_##library[], blob_##library##_end[], blob_called_##library[], \
        blob_called_##library##_end[];
#include "levels.def"

typedef struct Bitcode {
    const char *first, *end;
} Bitcode;

static const char *bytes_of(Bitcode b, size_t *size) {
    *size = (size_t)((uintptr_t)b.end - (uintptr_t)b.first);
    return b.first;
}

const char *blob_kernels(int library, size_t *size) {
    const Bitcode blob[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) \
    { blob_##library, blob_##library##_end },
#include "levels.def"
    };
    return bytes_of(blob[library], size);
}

const char *blob_called(int library, size_t *size) {
    const Bitcode blob[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) \
    { blob_called_##library, blob_called_##library##_end },
#include "levels.def"
    };
    return bytes_of(blob[library], size);
}
