/* SPDX-License-Identifier: MIT
** Two hashes: SHA-256 identifies data (FIPS 180-4), XXH64 guards checkpoints
** against damage at memory speed.  Both take their input in pieces of any size.
*/
#ifndef STRATA_HASH_H
#define STRATA_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct Sha256 {
    uint32_t h[8];
    uint64_t length;
    unsigned char block[64];
} Sha256;
void sha256_start(Sha256 *s);
void sha256_add(Sha256 *s, const void *bytes, size_t n);
void sha256_text(Sha256 *s, char out[65]); /* ends; lower-case hexadecimal */

typedef struct Xxh64 {
    uint64_t lane[4], seed, length;
    unsigned char block[32];
} Xxh64;
void xxh64_start(Xxh64 *x, uint64_t seed);
void xxh64_add(Xxh64 *x, const void *bytes, size_t n);
uint64_t xxh64_end(const Xxh64 *x);
uint64_t xxh64(const void *bytes, size_t n, uint64_t seed);

#endif
