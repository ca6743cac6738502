/* SPDX-License-Identifier: MIT
** Quotes words of command lines that people copy into a shell.
*/
#ifndef STRATA_SHELL_H
#define STRATA_SHELL_H

#include "json.h"

/* Adds a word as a POSIX shell takes it, quoted where it must be. */
void text_shell_word(Text *t, const char *word);

#endif
