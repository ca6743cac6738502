/* SPDX-License-Identifier: MIT
** How compiling ends early: one line on standard error and the matching exit status.  Passes and
** code generation fail in no other way, and no other part of the compiler ends a process.  The
** commands compile in child processes, whose line and status become the error of the command
** (allowance.h).
*/
#ifndef STRATA_FATAL_H
#define STRATA_FATAL_H

#include <stddef.h>
#include <stdio.h>

/* A limit was hit, memory included: exit status 3.  bug() is in graph.h. */
__attribute__((format(printf, 1, 2))) _Noreturn void limit_hit(const char *fmt, ...);
/* The same of what a line of the spec asks for: the message begins with that line. */
struct Node;
__attribute__((format(printf, 2, 3))) _Noreturn void limit_at(const struct Node *n, const char *fmt,
                                                              ...);

#define NO_MEMORY "memory: expected enough to compile with, found none left"

/* Memory outside of arenas, or the end by limit_hit: what a call returned, if not NULL; zeroed;
** as reallocarray; as strdup. */
void *checked(void *memory);
void *checked_new(size_t count, size_t size);
void *checked_more(void *p, size_t count, size_t size);
char *checked_text(const char *text);
/* A text that grows: as open_memstream; as fclose, after which all of it is there. */
FILE *checked_file(char **text, size_t *size);
void checked_written(FILE *f, char **text);

#endif
