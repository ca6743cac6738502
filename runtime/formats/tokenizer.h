/*
** Text to token ids and back.
**   bytes   256 ids, one per byte
**   chars   0 pad, 1 unknown, 2 begin, 3 end, then the characters (code points) of the
**           training text by falling count, ties by code point, vocab - 4 at most
** Nothing is inserted: text of n bytes (characters) is n ids.  chars takes valid UTF-8
** only; anything else is an error with the byte's position.
** Decoding gives whole UTF-8 sequences: bytes wait until their character is complete,
** and what can be none becomes U+FFFD, as do 'unknown' and ids beyond the tokenizer's;
** pad, begin and end are nothing.
** A kind is a row of tokenizers.def and a file of its functions.
*/
#ifndef STRATA_TOKENIZER_H
#define STRATA_TOKENIZER_H

#include "error.h"
#include "safetensors.h"

typedef struct TokenizerKind TokenizerKind;

typedef struct Tokenizer {
    const TokenizerKind *kind; /* NULL: none */
    int32_t ids;               /* 0 … ids-1 are used; the model's vocabulary may be larger */
    void *tables;              /* the kind's own */
} Tokenizer;

/* Ids that text becomes, each of 'width' bytes: 1, 2 or 4. */
typedef struct TokenIds {
    void *at;
    int width;
    int64_t count, room;
    size_t first; /* bytes of text that the first id stands for */
} TokenIds;

void token_ids_add(TokenIds *ids, int32_t id);
/* Adds what 'text' becomes; an internal error if the room is too small for it. */
int token_ids_encode(TokenIds *ids, const Tokenizer *t, const char *what, const char *text,
                     size_t length, Error *e);

enum { TOKEN_BYTES = 4 }; /* of one id's text, at most */

/* Training text in pieces, each of whole characters; *text NULL: there is no more. */
typedef struct TextSource {
    int (*next)(void *user, const char **text, size_t *length, Error *e);
    void *user;
} TextSource;

struct TokenizerKind {
    const char *name;
    const char *tensor; /* that files of weights hold it in; NULL: there is nothing to hold */
    bool text_is_ids;   /* ids are the text's bytes */
    bool utf8;          /* takes valid UTF-8 only */
    int32_t end;        /* id that ends a text; -1: none */
    /* An empty 't' gets its ids and tables, from training text or from 'tensor'; checks that
    ** 'vocab' is enough.  After an error tokenizer_free is called. */
    int (*learn)(Tokenizer *t, int64_t vocab, const TextSource *from, Error *e);
    int (*load)(Tokenizer *t, int64_t vocab, const Safetensors *s, Error *e);
    int (*save)(const Tokenizer *t, TensorList *l, Error *e);
    void (*free)(Tokenizer *t);
    /* how many ids 'text' can become, at most */
    int64_t (*room)(const char *text, size_t length);
    int (*encode)(const Tokenizer *t, const char *what, const char *text, size_t length,
                  TokenIds *ids, Error *e);
    /* bytes of an id's text, which need not be whole characters; -1: it has none */
    int (*decode)(const Tokenizer *t, int32_t id, char out[TOKEN_BYTES]);
};

#define TOKENIZER(name, least) extern const TokenizerKind tokenizer_##name;
#include "tokenizers.def"
#undef TOKENIZER

/* What the descriptor's tokenizer string means; an error for "" (the command needs text)
** and for what this version does not know. */
int tokenizer_kind(const char *name, const TokenizerKind **kind, Error *e);

/* From training text; checks that 'vocab' is enough. */
int tokenizer_learn(Tokenizer *t, const TokenizerKind *kind, int64_t vocab, const char *text,
                    size_t length, Error *e);
int tokenizer_learn_from(Tokenizer *t, const TokenizerKind *kind, int64_t vocab,
                         const TextSource *from, Error *e);
/* From a file of weights, in which the absence of what the kind needs is an error. */
int tokenizer_load(Tokenizer *t, const TokenizerKind *kind, int64_t vocab, const Safetensors *s,
                   Error *e);
/* Does a file of weights hold all that the kind needs? */
bool tokenizer_held(const TokenizerKind *kind, const Safetensors *s);
/* adds the kind's tensor */
int tokenizer_save(const Tokenizer *t, TensorList *l, Error *e);
void tokenizer_free(Tokenizer *t);

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

#endif
