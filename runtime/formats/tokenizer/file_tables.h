/* SPDX-License-Identifier: MIT
** A tokenizer that was read from a file: the tables of all formats, and how text goes through them.
**   added tokens are cut out → what is between them is normalized → taken apart into words →
**   each word is merged (BPE) or segmented (unigram) → what stands around a text is added
*/
#ifndef STRATA_FILE_TABLES_H
#define STRATA_FILE_TABLES_H

#include "charsmap.h"
#include "merge.h"
#include "normalize.h"
#include "split.h"
#include "tokenizer.h"

typedef enum TokenFormat { FORMAT_JSON, FORMAT_PIECES, FORMAT_RANKS } TokenFormat;

/* Of an id; flags. */
enum {
    TOKEN_SPECIAL = 1, /* not shown when text is decoded */
    TOKEN_BYTE = 2,    /* stands for the byte that its text is */
    TOKEN_UNKNOWN = 4,
    TOKEN_USER = 8, /* SentencePiece: user defined, taken whatever its score */
    TOKEN_UNUSED = 16
};

/* An added token; of tokenizer.json. */
typedef struct AddedToken {
    int32_t id;
    bool single_word, lstrip, rstrip, special;
} AddedToken;

/* Texts that are cut out before anything else, or after normalization. */
typedef struct AddedSet {
    PrefixTree tree; /* of indices */
    AddedToken *token;
    int32_t count;
} AddedSet;

/* What is done at the beginning of a text when it is decoded. */
typedef enum DecodeStart {
    START_AS_IS,
    START_STRIP,     /* one space less */
    START_MARKS,     /* no marks of spaces in the first id's text */
    START_PIECES,    /* SentencePiece: one mark of a space less */
    START_ALL_PIECES /* SentencePiece: none until there is text */
} DecodeStart;

typedef struct TokenFile {
    TokenFormat format;
    const char *described;
    bool bytes; /* byte-level: symbols of a word are bytes, else characters */
    bool ignore_merges, fuse_unknown, byte_fallback;
    bool mark_splits;         /* no merge goes from another character to a mark of a space */
    int32_t unknown;          /* -1: what is unknown is left out */
    Vocabulary pieces;        /* as words have them */
    Vocabulary shown, begins; /* as decoded text has them, at its beginning; no ids: as words do */
    uint8_t *flags;           /* by id */
    PairTable pairs;
    uint32_t *rank;       /* by id: words are merged by text; NULL: by pairs */
    double *score;        /* by id: words are segmented by scores; NULL: merged */
    double low;           /* of normal pieces, the least */
    PrefixTree tree;      /* of pieces, for scores */
    PrefixTree user;      /* user-defined pieces, to ids */
    int32_t byte_id[256]; /* -1: none */
    AddedSet raw, normalized;
    Charsmap charsmap;
    Normalizer normalizer;
    Splitter splitter;
    int32_t *before, *after; /* around a text */
    int before_count, after_count;
    DecodeStart start;
    bool prefix_once; /* SentencePiece: only what begins a text begins with a space; */
    bool one_prefix;  /* what begins with one gets no other */
} TokenFile;

extern const TokenizerKind tokenizer_in_file;

/* Empty, with t's tables and functions; what fails later is freed by tokenizer_free. */
TokenFile *token_file_new(Tokenizer *t, TokenFormat format, const char *what, Error *e);
/* Room for the pieces and flags of ids 0 … ids-1. */
int token_file_ids(Tokenizer *t, int32_t ids, const char *what, Error *e);
/* An added token, whose piece stands already. */
int added_add(AddedSet *s, const AddedToken *token, const char *text, size_t length,
              const char *what, Error *e);
/* Once all is read: whether marks split, whether all bytes have ids. */
void token_file_done(Tokenizer *t);

#define MARK "\xe2\x96\x81" /* ▁, which stands for a space */
enum { MARK_BYTES = 3 };

/* The characters that stand for bytes in byte-level files. */
int32_t byte_character(int byte);
/* The byte, -1: none. */
int byte_of_character(int32_t c);
/* The byte of "<0x0A>", -1: none. */
int byte_of_piece(const char *text, size_t length);

enum { TOKEN_CACHED = 10 }; /* ids of a word that is kept */

/* One call of encode. */
typedef struct TokenCall {
    const TokenFile *f;
    TokenIds *ids;
    const char *what;
    PatternPlace place; /* the part that added tokens leave */
    MergeWork merge;
    NormalizeWork normalize;
    SplitWork split;
    Text pieces;              /* SentencePiece's normalized text */
    int32_t stray;            /* characters from here on stand for bytes (stray.h); 0: none */
    Text word;                /* one that has such */
    struct TokenCache *cache; /* words and their ids; NULL: none */
    struct UnigramNode *node;
    int32_t made[TOKEN_CACHED]; /* ids of the word so far */
    int made_count;             /* may be more */
    bool unknown;               /* the last one was */
} TokenCall;

/* token_encode.c: the kind's. */
int token_encode(const Tokenizer *t, const char *what, const char *text, size_t length,
                 TokenIds *ids, Error *e);
void token_add(TokenCall *c, int32_t id);
/* token_words.c: the ids of a word. */
int token_word(void *call, const char *text, size_t length, Error *e);
/* The same of a text of characters, in which marks of spaces may begin words. */
int token_marks(void *call, const char *text, size_t length, Error *e);
void token_cache_open(TokenCall *c, size_t length);
/* token_unigram.c */
int token_unigram(TokenCall *c, const char *text, size_t length, Error *e);
/* token_sentence.c: SentencePiece's normalizer, and then its ids. */
int token_sentence(TokenCall *c, const char *text, size_t length, bool first, Error *e);
/* SentencePiece: bytes of a piece that is none, or the unknown one. */
void token_piece(TokenCall *c, int32_t id, const char *text, size_t length);

/* By the format; see tokenizer_file.h. */
int token_json_read(Tokenizer *t, const char *what, const char *bytes, size_t length, Error *e);
int token_model_read(Tokenizer *t, const char *what, const char *bytes, size_t length, Error *e);

#endif
