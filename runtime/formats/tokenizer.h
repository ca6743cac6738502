/*
** Text to token ids and back.
**   bytes   256 ids, one a byte
**   chars   0 pad, 1 unknown, 2 begin, 3 end, then the characters (code points) of the
**           training text by falling count, ties by code point, vocab - 4 at most
** Nothing is inserted: text of n bytes (characters) is n ids.  chars takes valid UTF-8
** only; anything else is an error with the byte's position.
** Decoding gives whole UTF-8 sequences: bytes wait until their character is complete,
** and what can be none becomes U+FFFD, as do 'unknown' and ids beyond the tokenizer's;
** pad, begin and end are nothing.
*/
#ifndef STRATA_TOKENIZER_H
#define STRATA_TOKENIZER_H

#include "error.h"
#include "safetensors.h"

typedef enum TokenizerKind { TOKENIZER_NONE, TOKENIZER_BYTES, TOKENIZER_CHARS } TokenizerKind;

/* of chars */
enum { TOKEN_PAD = 0, TOKEN_UNKNOWN = 1, TOKEN_BEGIN = 2, TOKEN_END = 3, TOKEN_FIRST = 4 };

typedef struct Tokenizer {
    TokenizerKind kind;
    int32_t ids;        /* 0 … ids-1 are used; the model's vocabulary may be larger */
    int32_t *character; /* chars: code point of id TOKEN_FIRST + i, ids - TOKEN_FIRST of them */
    int32_t *page; /* chars: code point -> id, pages of 256; page[cp >> 8] is an offset in 'id' */
    int32_t *id;
} Tokenizer;

/* What the descriptor's tokenizer string means; an error for "" (the command needs text)
** and for what this version does not know. */
int tokenizer_kind(const char *name, TokenizerKind *kind, Error *e);

/* Each checks that 'vocab' is enough (bytes 256, chars at least one character). */
int tokenizer_bytes(Tokenizer *t, int64_t vocab, Error *e);
/* from text */
int tokenizer_chars(Tokenizer *t, int64_t vocab, const char *text, size_t length, Error *e);
int tokenizer_load(Tokenizer *t, TokenizerKind kind, int64_t vocab, const Safetensors *s, Error *e);
/* chars: tensor tokenizer.chars of s (unique, valid code points), its absence an error; bytes:
** nothing is read. */
void tokenizer_free(Tokenizer *t);
/* adds tokenizer.chars; bytes: nothing */
int tokenizer_save(const Tokenizer *t, TensorList *l, Error *e);

/* ids of 'text' into out, which has room for 'length' ids; *count of them.
** 'what' names the text in messages: "WHAT:byte N: expected UTF-8 …". */
int tokenizer_encode(const Tokenizer *t, const char *what, const char *text, size_t length,
                     int32_t *out, int64_t *count, Error *e);

typedef struct Decoder {
    unsigned char pending[4];
    int count;
} Decoder; /* starts as {0} */
enum { DECODER_OUT = 24 };
/* Text of one more id: 0 … DECODER_OUT - 1 bytes and a NUL in out; returns the bytes. */
int decoder_push(Decoder *d, const Tokenizer *t, int32_t id, char out[DECODER_OUT]);
/* what an incomplete character leaves: U+FFFD or nothing */
int decoder_end(Decoder *d, char out[DECODER_OUT]);

/* The id of a code point: TOKEN_UNKNOWN if the vocabulary lacks it.  chars only. */
int32_t tokenizer_character(const Tokenizer *t, int32_t point);

/* Length of the UTF-8 sequence at s (n bytes left), its code point in *point; 0 if invalid. */
int utf8_next(const char *s, size_t n, int32_t *point);

#endif
