/* SPDX-License-Identifier: MIT
** Checks whether this processor has what the model was compiled for.  It is compiled for the
** plainest x86-64, so that it runs where the rest would not.
*/
#include "cpu.h"
#include "frame.h"
#include "levels.h"
#include "plain.h"

typedef struct Leaf {
    uint32_t a, b, c, d;
} Leaf;

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

/* Linux gives tiles to processes that ask for them by this system call. */
PLAIN static int tiles_allowed(void) {
    enum { ARCH_PRCTL = 158, ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)ARCH_PRCTL), "D"((long)ARCH_REQ_XCOMP_PERM),
                       "S"((long)XFEATURE_XTILEDATA)
                     : "rcx", "r11", "memory");
    return result == 0;
}

/* k_constants.cpu[0]: the set of FEATURE_.. it needs. */
PLAIN const char *k_cpu_missing(void) {
    uint64_t want = k_constants.cpu[0];
    Leaf one = cpuid(1, 0), seven = cpuid(0, 0).a >= 7 ? cpuid(7, 0) : (Leaf){ 0, 0, 0, 0 };
    uint32_t saved = one.c >> 27 & 1 ? saved_by_system() : 0;
    int ymm = (saved & 6) == 6, zmm = (saved & 0xe6) == 0xe6;
#define FEATURE(name, text, llvm, test) \
    if (want & FEATURE_##name && !(test)) return text;
#define TARGET_ROWS "x86_64/rows.def"
#include "levels.def"
    return 0;
}
