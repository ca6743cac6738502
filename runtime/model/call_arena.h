/* SPDX-License-Identifier: MIT
** The arena of a call. */
#ifndef STRATA_CALL_ARENA_H
#define STRATA_CALL_ARENA_H

#include "frame.h"

/* The most tokens of a call: more would need an arena of more bytes than there are addresses. */
int64_t k_tokens_most(void);
/* Bytes for any program but the probe, or for the probe; 0: arguments are wrong. */
size_t k_arena_bytes(bool probe, int64_t tokens, int32_t workers);
/* A frame of a program (PROGRAM_..) for the tokens [B,T], each at its place in a sequence that
** begins with this call. */
Frame k_frame(Context *c, int program, const void *w, void *arena, const int32_t *tokens, int64_t B,
              int64_t T);

#endif
