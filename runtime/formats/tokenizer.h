/* SPDX-License-Identifier: MIT
** Text to token ids and back.
**   bytes   256 ids, one per byte
**   chars   0 pad, 1 unknown, 2 begin, 3 end, then the characters (code points) of the
**           training text by falling count, ties by code point, vocab - 4 at most
** Nothing is inserted: text of n bytes (characters) is n ids.  chars takes valid UTF-8
** only; anything else is an error with the byte's position.
** Other kinds are read from files (tokenizer_file.h).
** Decoding gives whole UTF-8 sequences: bytes wait until their character is complete,
** and what can be none becomes U+FFFD, as do 'unknown' and ids beyond the tokenizer's;
** pad, begin and end are nothing.
** A kind is a row of tokenizers.def and a file of its functions.
*/
#ifndef STRATA_TOKENIZER_H
#define STRATA_TOKENIZER_H

#include "error.h"
#include "json.h"
#include "safetensors.h"
#include "text_facts.h"

typedef struct TokenizerKind TokenizerKind;

enum { TOKENIZER_NAME = 80 }; /* bytes of a file's name that are kept */

typedef struct Tokenizer {
    const TokenizerKind *kind; /* NULL: none */
    int32_t ids;               /* 0 … ids-1 are used; the model's vocabulary may be larger */
    int32_t end;               /* id that stands between texts; -1: none */
    TextFacts facts;           /* which begin and end one, and more */
    bool any_bytes;            /* has ids of all bytes: what is no UTF-8 is kept as it is */
    bool each_byte;            /* bytes that make no character are a U+FFFD each */
    void *tables;              /* the kind's own */
    /* of a file that a program reads text with: its name, and SHA-256 of its bytes; else "" */
    char name[TOKENIZER_NAME], sha256[65];
} Tokenizer;

/* Ids that text becomes, each of 'width' bytes: 1, 2 or 4. */
typedef struct TokenIds {
    void *at;
    int width;
    int64_t count, room;
    uint64_t before; /* bytes of the text that other calls got, for messages */
    size_t first;    /* bytes of text that the first id stands for */
    int64_t unknown; /* how many stand for what the tokenizer does not know; 'chars' counts them */
    int64_t stray;   /* bytes so far that are no UTF-8; kinds of files count them */
    bool grows;      /* 'at' is NULL or of malloc, and gets the room that is needed */
    bool failed;     /* no memory for it */
    bool template;   /* what the tokenizer's file puts around a text (begin, end) is added */
    bool open;       /* of that, what is in front: the text goes on */
    bool plain;      /* text that spells a special token is text like any other */
} TokenIds;

void token_ids_add(TokenIds *ids, int32_t id);
/* Adds what 'text' becomes; an internal error if the room is too small for it and cannot grow. */
int token_ids_encode(TokenIds *ids, const Tokenizer *t, const char *what, const char *text,
                     size_t length, Error *e);

typedef struct Decoder Decoder;

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
    /* An empty 't' gets its ids and tables, from training text or from 'tensor'; checks that
    ** 'vocab' is enough.  After an error tokenizer_free is called. */
    int (*learn)(Tokenizer *t, int64_t vocab, const TextSource *from, Error *e);
    int (*load)(Tokenizer *t, int64_t vocab, const Safetensors *s, Error *e);
    int (*save)(const Tokenizer *t, TensorList *l, Error *e);
    void (*free)(Tokenizer *t);
    /* how many ids 'text' becomes, about; NULL: a byte each */
    int64_t (*room)(const char *text, size_t length);
    int (*encode)(const Tokenizer *t, const char *what, const char *text, size_t length,
                  TokenIds *ids, Error *e);
    /* Bytes of an id's text, *text, which need not be whole characters and are the tokenizer's;
    ** -1: it has none.  What is at a text's beginning may depend on d. */
    int (*decode)(const Tokenizer *t, int32_t id, Decoder *d, const char **text);
    /* The byte that a byte's id stands for, -1 for other ids; NULL: bytes need no other treatment.
    ** A run of such ids that is no UTF-8 is a U+FFFD for each when it is decoded as a whole. */
    int (*byte)(const Tokenizer *t, int32_t id);
    /* The id of a piece as the file spells it; -1: none.  NULL: pieces have no names. */
    int32_t (*find)(const Tokenizer *t, const char *piece, size_t length);
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

/* ids of 'text' into out, which has room for 'length' ids; *count of them: for the kinds
** of tokenizers.def, of which none makes more.  'what' names the text in messages:
** "WHAT:byte N: expected UTF-8 …". */
int tokenizer_encode(const Tokenizer *t, const char *what, const char *text, size_t length,
                     int32_t *out, int64_t *count, Error *e);

/* "44 characters of WHAT, 7 %, are not ..."; "" where none is unknown. all: of the text. */
enum { UNKNOWN_WORDS = 200 };
char *tokenizer_unknown(char to[UNKNOWN_WORDS], const Tokenizer *t, const char *what,
                        int64_t unknown, int64_t all);

/* "3 bytes of WHAT are not UTF-8: ...", and what became of them; "" where there are none. */
enum { STRAY_WORDS = 200 };
char *tokenizer_stray(char to[STRAY_WORDS], const Tokenizer *t, const char *what, int64_t stray);

/* The id of a piece as the tokenizer's file spells it ("<|im_end|>"); -1: none. */
int32_t tokenizer_find(const Tokenizer *t, const char *piece);

/* Is something put in front of texts?  Does this text begin with the token that begins texts? */
bool tokenizer_begins_texts(const Tokenizer *t);
bool tokenizer_ends_texts(const Tokenizer *t); /* something is put behind them */
bool tokenizer_spells_begin(const Tokenizer *t, const char *text, size_t length);
/* What --bos says, from then on: as the tokenizer's file, always, never. */
typedef enum BeginChoice { BEGIN_AUTO, BEGIN_YES, BEGIN_NO } BeginChoice;
int tokenizer_put_begin(Tokenizer *t, BeginChoice choice, const char *option, Error *e);
/* STATUS_USAGE if it says something and no text is read, only files of tokens. */
int tokenizer_begin_used(BeginChoice choice, const char *option, bool text, Error *e);

/* A text that comes id by id; starts as {0}, or with 'specials' set. */
struct Decoder {
    unsigned char pending[4];
    int count;
    bool specials; /* special tokens are shown as their file spells them, not left out */
    bool begun;    /* the kind's: the text's beginning is behind */
    bool seen;     /* the kind's */
    Text text;     /* whole characters that the last call gave; "" and 0 if none */
};
/* The text of one more id, in d->text; an error: no memory. */
int decoder_push(Decoder *d, const Tokenizer *t, int32_t id, Error *e);
/* What an incomplete character leaves, U+FFFD or nothing; d begins again. */
int decoder_end(Decoder *d, const Tokenizer *t, Error *e);
void decoder_free(Decoder *d);

/* The text of ids as a whole, added to 'text'.  It is what a Decoder gives, but for runs of bytes
** that are no characters where the kind has 'byte'. */
int tokenizer_decode(const Tokenizer *t, const int32_t *ids, int64_t count, bool specials,
                     Text *text, Error *e);

#endif
