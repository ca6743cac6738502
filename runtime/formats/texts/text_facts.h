/* SPDX-License-Identifier: MIT
** What is said of texts beside their tokens: which token begins one and whether it is put in front,
** which tokens end one, the chat template, and how a model's makers sample.
** One meaning for all readers and writers.  Where it stands:
**   tokenizer.json    the member "strata" of the file, an object
**   *.model           field 5027 of the message, that object's text
**   *.tiktoken        a last line: "strata ", and that object's text on one line
** The object keeps what the files of a checkpoint said, each under its name without ".json":
**   config               of config.json what text_config_members lists
**   generation_config, tokenizer_config, special_tokens_map, added_tokens    these files
**   chat_template        the text of chat_template.jinja
** What follows from it is decided here, when the tokenizer is read, as transformers 5.24 does:
**   names   bos_token, eos_token, pad_token of tokenizer_config; of special_tokens_map instead,
**           unless tokenizer_config has added_tokens_decoder; else those of the class
**   ends    eos_token_id of generation_config, else of config; and eos_token; where nobody names
**           one, the first that is there of tokenizer_ends
**   begin   bos_token, else bos_token_id likewise, else the first of tokenizer_begins
**   it is put in front of texts   where tokenizer.json's post-processor does, which
**           add_bos_token does not change; of other files where add_bos_token is true
**   chat template   chat_template.jinja, else chat_template of tokenizer_config
** A file without the object means what its tokens' names say.
*/
#ifndef STRATA_TEXT_FACTS_H
#define STRATA_TEXT_FACTS_H

#include "json.h"

enum {
    TEXT_ENDS = 64,          /* tokens that end a text */
    TEXT_ADDED = 8192,       /* tokens that the object adds */
    TEXT_TEMPLATE = 1 << 20, /* bytes of a chat template */
    TEXT_OBJECT = 16 << 20,  /* bytes of the object */
    TEXT_VALUES = 1 << 18,   /* values in it */
    TEXT_FIELD = 5027        /* of a SentencePiece model */
};

#define TEXT_MEMBER "strata"

/* Numbers that a checkpoint recommends; NaN: it says nothing. */
typedef enum SamplingName {
#define SAMPLING(id, name, low, high) SAMPLING_##id,
#include "sampling.def"
    SAMPLINGS
} SamplingName;

typedef struct TextFacts {
    int32_t begin, pad;     /* -1: none */
    int32_t eos;            /* the tokenizer's own end; -1: it names none */
    int32_t end[TEXT_ENDS]; /* 'ends' of them */
    int ends;
    bool said;      /* a file says so; else it follows from names of tokens */
    char *template; /* bytes of the chat template, of malloc; NULL: none */
    bool sampled;   /* some of 'sampling' is known */
    bool greedy;    /* do_sample is false */
    double sampling[SAMPLINGS];
} TextFacts;

void text_facts_none(TextFacts *f); /* nothing is known */
void text_facts_free(TextFacts *f);
bool text_facts_ends(const TextFacts *f, int32_t id);

/* Names of tokens that begin a text, and that end one, in the order in which they are looked for;
** NULL ends them. */
extern const char *const tokenizer_begins[], *const tokenizer_ends[];

/* The members of config.json that are kept; NULL ends them. */
extern const char *const text_config_members[];
/* "temperature" */
extern const char *const sampling_name[SAMPLINGS];

/* The object as a whole, of which the members are read: 'object' NULL: there is none. */
typedef struct TextObject {
    const Json *j;
    const JsonNode *object;
    const char *what; /* the file, for messages */
    bool folder;      /* 'what' is a checkpoint's folder, whose files the members are */
} TextObject;

/* A token that the object names: it is to be cut out of texts like those of the file. */
typedef struct TextAdded {
    int64_t id; /* -1: that of its piece */
    const char *content;
    bool single_word, lstrip, rstrip, special;
} TextAdded;

/* An error unless all members are known and what they should be. */
int text_object_check(const TextObject *x, Error *e);
/* A member that is an object; NULL: none. */
const JsonNode *text_object_member(const TextObject *x, const char *name);
/* "FILE:PLACE: expected EXPECTED, found ...", of a value. */
int text_object_wrong(const TextObject *x, const JsonNode *n, const char *expected, Error *e);
/* The chat template, of the JSON; NULL: none. */
int text_template(const TextObject *x, const char **out, Error *e);
/* Their list, to be freed, *count of them; an error names what is none. */
int text_added(const TextObject *x, TextAdded **list, int *count, Error *e);
/* A name of tokenizer_config or special_tokens_map ("bos_token"), or of the class; NULL: none. */
const char *text_named(const TextObject *x, const char *name);
/* A member of tokenizer_config that is true or false. */
bool text_flag(const TextObject *x, const char *name, bool absent);
/* Whether each piece of text between tokens begins as a text does, in a SentencePiece model. */
bool text_pieces_begin(const TextObject *x);

/* Whether transformers leaves the model's normalizer out, as LlamaTokenizer does. */
bool text_pieces_as_they_are(const TextObject *x);

struct Tokenizer; /* tokenizer.h */
/* All of t->facts, once t has its tokens; t->end is what its own file says, and becomes the token
** that stands between texts: the first of tokenizer_ends if it is among the ends. */
int text_facts_read(struct Tokenizer *t, const TextObject *x, Error *e);

/* text_facts_file.c: the object in the bytes of a tokenizer's file, [*from, *to) with what is
** around it: without these bytes the file is what it was.  False: there is none. */
bool text_object_span(const char *bytes, size_t length, size_t *from, size_t *to);
/* The file's bytes with this object (NULL: without any). */
int text_object_put(Text *out, const char *what, const char *bytes, size_t length,
                    const Text *object, Error *e);

#endif
