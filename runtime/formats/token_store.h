/* SPDX-License-Identifier: MIT
** Token ids that may be too many for memory: a store is read in pieces, at any position.  Its ids
** lie in memory while they are few, then in an unnamed temporary file (in $TMPDIR, else /var/tmp),
** which disappears with the process; or they are those of a user's file, which is read in place
** and never mapped, so that a file that is truncated meanwhile is an error and not a signal.
*/
#ifndef STRATA_TOKEN_STORE_H
#define STRATA_TOKEN_STORE_H

#include "files.h"

enum { TOKEN_STORE_MEMORY = 64 << 20 }; /* bytes; more of ids go to the temporary file */

typedef struct TokenStore {
    int width;     /* bytes of an id: 1, 2 or 4 */
    int64_t count; /* ids */
    void *memory;  /* the ids; NULL: they lie in a file */
    size_t room;   /* bytes of memory */
    Input in;      /* .path: the user's file, "": a temporary one, NULL: none yet */
    uint64_t at;   /* byte of the first id there */
} TokenStore;

/* Empty, to be added to. */
void token_store_begin(TokenStore *s, int width);
int token_store_add(TokenStore *s, const void *ids, int64_t count, Error *e);

/* Ids of a user's file, which was 'before' when it was looked at first; it is opened when it is
** read. 'path' outlives the store. */
void token_store_file(TokenStore *s, const char *path, const struct stat *before);

/* Ids first … first+n-1, which exist, checked to be below 'vocab'. */
int token_store_read(TokenStore *s, int64_t first, int64_t n, int64_t vocab, int32_t *out,
                     Error *e);
bool token_store_is_open(const TokenStore *s); /* it holds a user's file open */
void token_store_rest(TokenStore *s);          /* closes it, until it is read again */
void token_store_free(TokenStore *s);

#endif
