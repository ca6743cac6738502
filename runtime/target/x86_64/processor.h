/* SPDX-License-Identifier: MIT
** x86-64: which of its instructions the kernels may use, as the compiler's options say, and those
** of its own that no language has a word for.
*/
#ifndef STRATA_PROCESSOR_H
#define STRATA_PROCESSOR_H

/* It has a fused multiply-add. */
#ifdef __FMA__
#define PROCESSOR_FMA 1
#else
#define PROCESSOR_FMA 0
#endif

/* It multiplies pairs of bfloat16s, and in tiles: bfloat16s, bytes (tile_registers.h). */
#if defined(__AVX512BF16__) || defined(__AMX_BF16__)
#define PROCESSOR_PAIRS 1
#else
#define PROCESSOR_PAIRS 0
#endif
#ifdef __AMX_BF16__
#define PROCESSOR_TILES 1
#else
#define PROCESSOR_TILES 0
#endif
#ifdef __AMX_INT8__
#define PROCESSOR_BYTE_TILES 1
#else
#define PROCESSOR_BYTE_TILES 0
#endif

/* It has dot products of four bytes, of vectors of LANES integers. */
#if LANES == 16 && defined(__AVX512VNNI__) || LANES == 8 && defined(__AVXVNNI__)
#define PROCESSOR_BYTE_DOTS 1
#else
#define PROCESSOR_BYTE_DOTS 0
#endif

/* Round to nearest, no traps, no flushing: what the bits are defined for.  Every
** task and whatever else computes with floats is between these two. */
static inline unsigned enter_mode(void) {
    unsigned old = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80);
    return old;
}

static inline void leave_mode(unsigned old) { __builtin_ia32_ldmxcsr(old); }

/* What was stored past the caches is seen by others after this. */
static inline void store_fence(void) { __builtin_ia32_sfence(); }

/* In a loop that waits for another thread. */
static inline void wait_a_little(void) { __builtin_ia32_pause(); }

#endif
