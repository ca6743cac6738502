/* SPDX-License-Identifier: MIT
** SHA-256 (FIPS 180-4) and XXH64.
*/
#include "hash.h"

#include <string.h>

/* == SHA-256 ============================================================== */

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t ror(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void sha256_block(uint32_t h[8], const unsigned char *p) {
    uint32_t w[64];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8
            | p[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (ror(w[i - 15], 7) ^ ror(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7]
            + (ror(w[i - 2], 17) ^ ror(w[i - 2], 19) ^ w[i - 2] >> 10);
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], last = h[7];
    for (int i = 0; i < 64; i++) {
        uint32_t t = last + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + ((e & f) ^ (~e & g)) + K[i]
            + w[i];
        uint32_t u = (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        last = g, g = f, f = e, e = d + t;
        d = c, c = b, b = a, a = t + u;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d;
    h[4] += e, h[5] += f, h[6] += g, h[7] += last;
}

void sha256_start(Sha256 *s) {
    static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(s->h, start, sizeof start);
    s->length = 0;
}

void sha256_add(Sha256 *s, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    while (n) {
        size_t have = s->length % 64, take = 64 - have < n ? 64 - have : n;
        s->length += take;
        if (take == 64) {
            sha256_block(s->h, p);
        } else {
            memcpy(s->block + have, p, take);
            if (have + take == 64) sha256_block(s->h, s->block);
        }
        p += take;
        n -= take;
    }
}

void sha256_text(Sha256 *s, char out[65]) {
    static const char hex[] = "0123456789abcdef";
    unsigned char pad[72] = { 0x80 };
    uint64_t bits = s->length * 8;
    /* so that 1 + zeros + 8 fills the block */
    size_t zeros = (size_t)((119 - s->length % 64) % 64);
    for (int i = 0; i < 8; i++)
        pad[1 + zeros + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(s, pad, 9 + zeros);
    for (int i = 0; i < 64; i++)
        out[i] = hex[s->h[i / 8] >> (28 - 4 * (i % 8)) & 15];
    out[64] = 0;
}

/* == XXH64 ================================================================ */

#define P1 UINT64_C(0x9E3779B185EBCA87)
#define P2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define P3 UINT64_C(0x165667B19E3779F9)
#define P4 UINT64_C(0x85EBCA77C2B2AE63)
#define P5 UINT64_C(0x27D4EB2F165667C5)

static uint64_t rol(uint64_t x, int n) { return x << n | x >> (64 - n); }

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are loaded as they lie in memory");

static uint64_t word8(const unsigned char *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint32_t word4(const unsigned char *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t lane_round(uint64_t lane, uint64_t v) { return rol(lane + v * P2, 31) * P1; }

void xxh64_start(Xxh64 *x, uint64_t seed) {
    *x = (Xxh64){ .lane = { seed + P1 + P2, seed + P2, seed, seed - P1 }, .seed = seed };
}

static void stripe(Xxh64 *x, const unsigned char *p) {
    for (int i = 0; i < 4; i++)
        x->lane[i] = lane_round(x->lane[i], word8(p + 8 * i));
}

void xxh64_add(Xxh64 *x, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    size_t have = x->length % 32;
    x->length += n;
    if (have) {
        size_t take = 32 - have < n ? 32 - have : n;
        memcpy(x->block + have, p, take);
        if (have + take < 32) return;
        stripe(x, x->block);
        p += take;
        n -= take;
    }
    for (; n >= 32; p += 32, n -= 32)
        stripe(x, p);
    if (n) memcpy(x->block, p, n);
}

uint64_t xxh64_end(const Xxh64 *x) {
    const uint64_t *l = x->lane;
    const unsigned char *p = x->block, *end = p + x->length % 32;
    uint64_t h = x->seed + P5;
    if (x->length >= 32) {
        h = rol(l[0], 1) + rol(l[1], 7) + rol(l[2], 12) + rol(l[3], 18);
        for (int i = 0; i < 4; i++)
            h = (h ^ lane_round(0, l[i])) * P1 + P4;
    }
    h += x->length;
    for (; end - p >= 8; p += 8)
        h = rol(h ^ lane_round(0, word8(p)), 27) * P1 + P4;
    if (end - p >= 4) {
        h = rol(h ^ word4(p) * P1, 23) * P2 + P3;
        p += 4;
    }
    for (; p < end; p++)
        h = rol(h ^ *p * P5, 11) * P1;
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}

uint64_t xxh64(const void *bytes, size_t n, uint64_t seed) {
    Xxh64 x;
    xxh64_start(&x, seed);
    xxh64_add(&x, bytes, n);
    return xxh64_end(&x);
}
