/* SPDX-License-Identifier: MIT
** Files that are inside the compiler. */
#ifndef STRATA_INCBIN_H
#define STRATA_INCBIN_H

#include <stddef.h>
#include <stdint.h>

#define INCBIN(symbol, file)                                                                    \
    __asm__(".section .rodata\n.balign 16\n" #symbol ": .incbin \"" file "\"\n" #symbol "_end:" \
            " .byte 0\n.previous");                                                             \
    extern const char symbol[], symbol##_end[];

#define INCBIN_BYTES(symbol) { symbol, symbol##_end }

typedef struct Incbin {
    const char *first, *end;
} Incbin;

static inline const char *incbin_bytes(Incbin e, size_t *size) {
    *size = (size_t)((uintptr_t)e.end - (uintptr_t)e.first);
    return e.first;
}

#endif
