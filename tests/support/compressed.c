/* SPDX-License-Identifier: MIT
** See compressed.h. */
#include "compressed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

static size_t gzip(const unsigned char *bytes, size_t n, unsigned char *to, size_t room) {
    z_stream z = { 0 };
    if (deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
    z.next_in = (unsigned char *)bytes, z.avail_in = (uInt)n;
    z.next_out = to, z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END) abort();
    deflateEnd(&z);
    return room - z.avail_out;
}

/* With a checksum, as the program zstd writes it. */
static size_t zstd(const unsigned char *bytes, size_t n, unsigned char *to, size_t room) {
    ZSTD_CCtx *z = ZSTD_createCCtx();
    if (!z || ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1))) abort();
    size_t made = ZSTD_compress2(z, to, room, bytes, n);
    if (ZSTD_isError(made)) abort();
    ZSTD_freeCCtx(z);
    return made;
}

size_t pack(int form, const unsigned char *bytes, size_t n, unsigned char *to, size_t room) {
    bool twice = form == PACK_GZIP_TWICE || form == PACK_ZSTD_TWICE;
    bool by_zstd = form == PACK_ZSTD || form == PACK_ZSTD_TWICE;
    size_t half = twice ? n / 2 : n, made = 0;
    for (size_t at = 0, i = 0; i < 1 + (size_t)twice; i++, at = half, half = n - half)
        made += by_zstd ? zstd(bytes + at, half, to + made, room - made)
                        : gzip(bytes + at, half, to + made, room - made);
    return made;
}
