/*
** Does this processor have what the model was compiled for?  Compiled for
** the plainest x86-64, so that it runs where the rest would not.
*/
#include "driver.h"

typedef struct Leaf {
    uint32_t a, b, c, d;
} Leaf;

#define PLAIN __attribute__((target("no-avx"), noinline))

PLAIN static Leaf cpuid(uint32_t leaf, uint32_t sub) {
    Leaf r;
    __asm__("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(sub));
    return r;
}

PLAIN static uint32_t saved_by_system(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Linux gives tiles to processes that ask: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA). */
PLAIN static int tiles_allowed(void) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(158L), "D"(0x1023L), "S"(18L)
                     : "rcx", "r11", "memory");
    return result == 0;
}

/* k_constants.cpu[0]: bit set of these, in this order. */
PLAIN const char *k_cpu_missing(void) {
    uint64_t want = k_constants.cpu[0];
    Leaf one = cpuid(1, 0), seven = cpuid(0, 0).a >= 7 ? cpuid(7, 0) : (Leaf){ 0, 0, 0, 0 };
    uint32_t saved = one.c >> 27 & 1 ? saved_by_system() : 0;
    int ymm = (saved & 6) == 6, zmm = (saved & 0xe6) == 0xe6;
    if (want & 1 && !(one.c >> 19 & one.c >> 20 & 1)) return "SSE4";
    if (want & 2 && !(ymm && one.c >> 28 & 1)) return "AVX";
    if (want & 4 && !(ymm && one.c >> 12 & 1)) return "FMA";
    if (want & 8 && !(ymm && seven.b >> 5 & 1)) return "AVX2";
    if (want & 16 && !(zmm && seven.b >> 16 & 1)) return "AVX-512F";
    if (want & 64 && !(zmm && seven.a >= 1 && cpuid(7, 1).a >> 5 & 1)) return "AVX-512 BF16";
    if (want & 128
        && !((saved & 0x60000) == 0x60000 && seven.d >> 22 & seven.d >> 24 & 1 && tiles_allowed()))
        return "AMX-BF16";
    if (want & 32 && !(zmm && seven.b >> 17 & 1 && seven.b >> 30 & 1 && seven.b >> 31 & 1))
        return "AVX-512 DQ, BW, VL";
    return 0;
}
