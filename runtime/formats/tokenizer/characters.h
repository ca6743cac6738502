/* SPDX-License-Identifier: MIT
** Classes of characters, as the libraries take them whose files are read here. */
#ifndef STRATA_CHARACTERS_H
#define STRATA_CHARACTERS_H

#include "json.h"

bool character_space(int32_t c);  /* Unicode's White_Space */
bool character_word(int32_t c);   /* Alphabetic, marks, decimal digits, connectors, joiners */
bool character_number(int32_t c); /* categories Nd, Nl, No */
bool character_punctuation(int32_t c);

/* The character at 'at', its bytes; what is no UTF-8 is 1 byte of U+FFFD. */
int character_at(const char *text, size_t length, size_t at, int32_t *c);
/* Where the white space ends that begins at 'at'; where that begins which ends there. */
size_t characters_after_space(const char *text, size_t length, size_t at);
size_t characters_before_space(const char *text, size_t at);
/* Does the character before 'at' belong to a word?  That at 'at'? */
bool characters_word_before(const char *text, size_t at);
bool characters_word_after(const char *text, size_t length, size_t at);

/* Where the first byte from 'at' on is that belongs to no character. */
size_t characters_valid(const char *text, size_t length, size_t at);
/* Adds 'text' with U+FFFD for each of its longest parts that begin a character and do not go on
** as one.  False: it is UTF-8, and nothing was added. */
bool characters_mend(Text *out, const char *text, size_t length);

#endif
