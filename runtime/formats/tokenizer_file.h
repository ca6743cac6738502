/* SPDX-License-Identifier: MIT
** Tokenizers in files of other programs.  The content of a file tells its format:
**   tokenizer.json   byte-level BPE (GPT-2, Llama 3, Qwen), BPE of characters with byte fallback
**                    (Llama 2), and unigram, as the package 'tokenizers' writes them
**   *.model          SentencePiece: BPE and unigram
**   *.tiktoken       lines of base64, a space and a rank; the pattern and the special tokens, which
**                    such a file does not have, follow from the number of its ranks
**                    (tiktoken_known) or are given
** What a file asks for and this version cannot do is refused by name.  Bytes that are not UTF-8
** are kept if there are ids of all bytes.  Otherwise U+FFFD replaces each part that makes no
** character, or each byte for SentencePiece, as those libraries do.  Text may have any length;
** encoding takes O(n log n).  A Tokenizer does not change after it was read, so any number of
** threads may use it.
*/
#ifndef STRATA_TOKENIZER_FILE_H
#define STRATA_TOKENIZER_FILE_H

#include "tokenizer.h"

enum { TOKENIZER_LONGEST = 1 << 29 }; /* bytes of a file */

/* From the bytes of a file, which need not live on; 'what' names it in messages.  t->facts says
** what begins and ends texts. */
int tokenizer_parse(Tokenizer *t, const char *what, const char *bytes, size_t length, Error *e);
/* The same of a file's path; *bytes, if not NULL, gets the content, of malloc. */
int tokenizer_open(Tokenizer *t, const char *path, char **bytes, size_t *length, Error *e);

/* Is it a tokenizer.json, by its first character? */
bool tokenizer_is_json(const char *bytes, size_t length);

/* What is not in a .tiktoken file. */
typedef struct TiktokenExtra {
    const char *pattern;         /* which parts of text are merged apart; NULL: by the ranks */
    const char *const *specials; /* texts of the ids from the last rank on; NULL: by the ranks */
    int count;
} TiktokenExtra;
int tokenizer_parse_tiktoken(Tokenizer *t, const char *what, const char *bytes, size_t length,
                             const TiktokenExtra *extra, Error *e);

/* For 'info' and the like: the format and the algorithm, "tokenizer.json, byte-level BPE". */
const char *tokenizer_described(const Tokenizer *t);

#endif
