/* SPDX-License-Identifier: MIT
** Vector instructions of x86-64 that clang does not generate from the loops of vector.h's types; a
** part of vector.h.  Each group has a macro: where it is not defined, the kernels use their own
** loops.
*/
#ifdef __AVX2__
#include <immintrin.h>
#else
#include <emmintrin.h>
#endif

/* If either is NaN, b: one instruction, which a comparison and a choice do not always become. */
#if LANES == 16 && defined(__AVX512F__)
#define SIMD_MAX
INLINE V v_max(V a, V b) { return (V)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE V v_min(V a, V b) { return (V)_mm512_min_ps((__m512)a, (__m512)b); }
#elif LANES == 8 && defined(__AVX2__)
#define SIMD_MAX
INLINE V v_max(V a, V b) { return (V)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE V v_min(V a, V b) { return (V)_mm256_min_ps((__m256)a, (__m256)b); }
#endif

/* The first n < LANES floats of a vector in memory. */
#if LANES == 16 && defined(__AVX512F__)
#define SIMD_PART
INLINE V v_load_part(const float *p, int64_t n) {
    return (V)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}

INLINE void v_store_part(float *p, V x, int64_t n) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)x);
}
#elif LANES == 8 && defined(__AVX2__)
#define SIMD_PART
INLINE V v_load_part(const float *p, int64_t n) {
    return (V)_mm256_maskload_ps(p, (__m256i)(vi_iota() < (int32_t)n));
}

INLINE void v_store_part(float *p, V x, int64_t n) {
    _mm256_maskstore_ps(p, (__m256i)(vi_iota() < (int32_t)n), (__m256)x);
}
#endif

/* Rounded to bfloat16, and the dot products of pairs; denormals are taken as zeros. */
#if LANES == 16 && defined(__AVX512BF16__)
#define SIMD_BF16
INLINE VH v_narrow(V x) { return (VH)_mm512_cvtneps_pbh((__m512)x); }
INLINE V v_bf16(V x) { return v_widen(v_narrow(x)); }

INLINE V v_pairs(V even, V odd) {
    typedef uint16_t All __attribute__((vector_size(64)));
    All x = (All)_mm512_cvtne2ps_pbh((__m512)odd, (__m512)even);
    return (V)__builtin_shufflevector(x, x, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23,
                                      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

INLINE V v_dot(V sum, V a, V b) {
    return (V)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
}
#endif

/* The first n < 2 LANES bfloat16s in memory, two a lane. */
#if LANES == 16 && defined(__AVX512BW__)
#define SIMD_PAIRS_PART
INLINE V v_load_pairs_part(const uint16_t *p, int64_t n) {
    return (V)_mm512_maskz_loadu_epi16((__mmask32)((1u << n) - 1), p);
}
#endif

/* x 2^n, rounded once; a reciprocal of 14 bits; which lanes are no less than a number, and
** a b + c in these, 0 in others. */
#if LANES == 16 && defined(__AVX512F__)
#define SIMD_SCALE
#define SIMD_RECIPROCAL
typedef __mmask16 VSome;
INLINE V v_scale(V x, V n) { return (V)_mm512_scalef_ps((__m512)x, (__m512)n); }
INLINE V v_reciprocal(V x) { return (V)_mm512_rcp14_ps((__m512)x); }
INLINE VSome v_from(V x, float least) {
    return _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(least), _CMP_NLT_UQ);
}

INLINE V v_fma_some(VSome some, V a, V b, V c) {
    return (V)_mm512_maskz_fmadd_ps(some, (__m512)a, (__m512)b, (__m512)c);
}
#endif

/* float16s as floats: finite ones, LANES of them; one, any. */
#if LANES == 16 && defined(__AVX512F__)
#define SIMD_HALVES
INLINE V v_load_half(const uint8_t *p) {
    return (V)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
#elif LANES == 8 && defined(__F16C__)
#define SIMD_HALVES
INLINE V v_load_half(const uint8_t *p) {
    return (V)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
#endif
#ifdef __F16C__
#define SIMD_HALF
INLINE float s_half(uint32_t bits) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128((int)bits)));
}
#endif

/* Of pairs of 16 bits, the sum of both products. */
#define SIMD_PAIRS_OF_16
#if LANES == 16 && defined(__AVX512BW__)
INLINE VI vi_multiply_pairs(VI a, VI b) { return (VI)_mm512_madd_epi16((__m512i)a, (__m512i)b); }
#elif LANES == 16 && defined(__AVX2__)
INLINE VI vi_multiply_pairs(VI a, VI b) {
    typedef int32_t Half __attribute__((vector_size(32)));
    Half low = (Half)_mm256_madd_epi16(
             (__m256i)__builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7),
             (__m256i)__builtin_shufflevector(b, b, 0, 1, 2, 3, 4, 5, 6, 7)),
         high = (Half)_mm256_madd_epi16(
             (__m256i)__builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15),
             (__m256i)__builtin_shufflevector(b, b, 8, 9, 10, 11, 12, 13, 14, 15));
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
#elif LANES == 8 && defined(__AVX2__)
INLINE VI vi_multiply_pairs(VI a, VI b) { return (VI)_mm256_madd_epi16((__m256i)a, (__m256i)b); }
#else
INLINE VI vi_multiply_pairs(VI a, VI b) { return (VI)_mm_madd_epi16((__m128i)a, (__m128i)b); }
#endif

/* sum + the products of w's four bytes, without signs, and code's, with signs (where
** PROCESSOR_BYTE_DOTS says that there is such an instruction). */
#if LANES == 16 && PROCESSOR_BYTE_DOTS
INLINE VI vi_dot_bytes(VI sum, VI w, VI code) {
    return (VI)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)w, (__m512i)code);
}
#elif PROCESSOR_BYTE_DOTS
INLINE VI vi_dot_bytes(VI sum, VI w, VI code) {
    return (VI)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)w, (__m256i)code);
}
#endif
