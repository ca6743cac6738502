/* SPDX-License-Identifier: MIT
** Token files: the ids of a text behind a header of 256 int32, as llm.c has them, so that both read
** each other's.  All numbers are little-endian.
**   [0] magic, [1] version   20240520 and 1: ids of 16 bits; 20240801 and 7: ids of 32 bits
**   [2] ids, [3] the upper 32 bits of their number
**   [4] to [11]              which tokenizer made them (tokenizer_fingerprint); 0: not known
**   [252] ...                "strata tokens", where that wrote it
**   others                   0, and not looked at
** llm.c has at most 2^31 - 1 ids in a file, where [3] is 0; a file with more says so in [2] and [3]
** together, and llm.c refuses it, because its size is another than [2] alone tells.
*/
#ifndef STRATA_TOKEN_FILE_H
#define STRATA_TOKEN_FILE_H

#include "error.h"

enum { TOKEN_FILE_HEADER = 1024, TOKEN_FILE_MAKER = 32 }; /* bytes */

typedef struct TokenHeader {
    int width; /* bytes of an id: 2 or 4 */
    int64_t count;
    unsigned char maker[TOKEN_FILE_MAKER];
} TokenHeader;

/* Does a file that begins so claim to be one?  Also files that are refused for what they are: in
** another order of bytes, or with tasks of llm.c's evaluations. */
bool token_file_begins(const unsigned char *bytes, size_t n);

/* Of a file of 'size' bytes whose first n (its header, if it has one whole) are given. */
int token_file_header(TokenHeader *h, const char *path, const unsigned char *bytes, size_t n,
                      uint64_t size, Error *e);
/* Whether strata tokens wrote this header. */
bool token_file_ours(const unsigned char head[TOKEN_FILE_HEADER]);
void token_file_print(const TokenHeader *h, unsigned char to[TOKEN_FILE_HEADER]);

#endif
