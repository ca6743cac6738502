/* SPDX-License-Identifier: MIT
** Compressed files of tests and fuzzers. */
#ifndef TEST_COMPRESSED_H
#define TEST_COMPRESSED_H

#include <stddef.h>

/* One member or frame, or the text's two halves in two. */
enum { PACK_GZIP, PACK_ZSTD, PACK_GZIP_TWICE, PACK_ZSTD_TWICE, PACK_FORMS };

/* Compresses into to[room], which has room; the bytes there. */
size_t pack(int form, const unsigned char *bytes, size_t n, unsigned char *to, size_t room);

#endif
