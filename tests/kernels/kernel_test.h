/* SPDX-License-Identifier: MIT
** What tests of kernels share: memory between guard pages, repeatable random
** numbers, and the question whether this processor runs the tested set.
**
** A guarded array ends at a page that may not be touched, or begins after one;
** a kernel that reads or writes beyond it dies.  guard_readonly() makes a
** kernel's operands unwritable.
*/
#ifndef TESTS_KERNEL_TEST_H
#define TESTS_KERNEL_TEST_H

#include "test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef KERNEL_SET_amx
#include <cpuid.h>
#include <sys/syscall.h>
#endif
#include <unistd.h>
#include "kernels.h"

/* What a test's main returns where the processor lacks the instructions. */
enum { SKIPPED = 77 };

#ifdef KERNEL_SET_amx
/* Tiles of bfloat16, and the system's leave to use them. */
static inline bool host_has_tiles(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 22 & d >> 24 & 1
        && !syscall(SYS_arch_prctl, 0x1023, 18);
}
#endif

static inline bool host_runs_kernels(void) {
    __builtin_cpu_init();
#ifdef KERNEL_SET_amx
    if (!host_has_tiles()) return false;
#endif
#ifdef KERNEL_SET_avxvnni
    if (!__builtin_cpu_supports("avxvnni")) return false;
#endif
#ifdef KERNEL_SET_avx512bf16
    if (!__builtin_cpu_supports("avx512bf16")) return false;
#endif
    return __builtin_cpu_supports(KERNEL_CPU);
}

typedef enum Side { BEFORE, AFTER } Side; /* where the guard page is next to the data */

typedef struct Guarded {
    char *pages;
    size_t size; /* of the pages between the two guards */
    float *at;   /* the data */
} Guarded;

/* 'bytes' of zeros; on the side of the other guard, up to a page is free. */
static inline Guarded guard_bytes(int64_t bytes, Side side) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = ((size_t)bytes + page) / page * page;
    char *pages = mmap(NULL, size + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages, page, PROT_NONE), 0);
    assert_int_equal(mprotect(pages + page + size, page, PROT_NONE), 0);
    char *at = pages + page + (side == AFTER ? size - (size_t)bytes : 0);
    return (Guarded){ pages, size, (float *)at };
}

/* A matrix whose last row ends with its last column. */
static inline Guarded guard_matrix(int64_t rows, int64_t columns, int64_t ld, Side side) {
    int64_t floats = rows > 0 && columns > 0 ? (rows - 1) * ld + columns : 0;
    return guard_bytes(floats * (int64_t)sizeof(float), side);
}

static inline void guard_readonly(Guarded g) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(mprotect(g.pages + page, g.size, PROT_READ), 0);
}

static inline void guard_writable(Guarded g) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(mprotect(g.pages + page, g.size, PROT_READ | PROT_WRITE), 0);
}

static inline void guard_free(Guarded g) {
    munmap(g.pages, g.size + 2 * (size_t)sysconf(_SC_PAGESIZE));
}

/* Repeatable numbers: splitmix64. */
typedef struct Draw {
    uint64_t state;
} Draw;

static inline uint64_t draw(Draw *d) {
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* 0 .. count - 1 */
static inline int64_t draw_below(Draw *d, int64_t count) {
    return (int64_t)(draw(d) % (uint64_t)count);
}
/* [-1, 1) */
static inline float draw_real(Draw *d) { return (float)((double)(draw(d) >> 11) * 0x1p-52 - 1); }

#endif
