/* SPDX-License-Identifier: MIT
** Rounds numbers to the types of GGUF's tensors.
*/
#ifndef STRATA_GGUF_BLOCK_H
#define STRATA_GGUF_BLOCK_H

#include "gguf_file.h"

enum { GGUF_BLOCK = 32 }; /* values that share a factor in q8_0 */

uint32_t gguf_block_id(GgufType type); /* ggml's number of the type */
uint64_t gguf_block_bytes(GgufType type, int64_t count);
/* n values (q8_0: whole blocks) as bytes; returns -1, or which is too large for the type. */
int64_t gguf_block_pack(GgufType type, const float *x, int64_t n, unsigned char *to);
/* -1, or the first value that the bytes do not hold to the type's precision. */
int64_t gguf_block_differs(GgufType type, const float *x, int64_t n, const unsigned char *from);

#endif
