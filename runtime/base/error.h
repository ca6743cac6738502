/* SPDX-License-Identifier: MIT
** Errors and numbers as text.
** One style for everything in the runtime that can fail: it returns a status
** (0, or the exit status that the failure means) and describes the failure in
** an Error.  Nothing here prints, exits or aborts.  Texts carry no "error: "
** in front and no newline at the end; what was formatted is escaped (escape.h), so a
** hostile file name cannot drive a terminal.
*/
#ifndef STRATA_ERROR_H
#define STRATA_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* status, the program's exit status */
enum {
    STATUS_OK = 0,
    STATUS_USER = 1,  /* the user's mistake: a wrong file, a wrong value */
    STATUS_USAGE = 2, /* the command line cannot be understood */
    STATUS_LIMIT = 3, /* a limit was hit, memory included */
    STATUS_IO = 4,    /* input or output failed */
    STATUS_INTERNAL = 5,
    STATUS_DIVERGED = 6 /* training: loss or gradients are not finite */
};

typedef struct Error {
    int status;      /* 0: no error */
    char text[1024]; /* first line: what is wrong and where; then details, one per line */
} Error;

/* Sets status and first line, in which words of more than 256 bytes lose their middle; returns
** 'status'.  e may be NULL. */
int error_set(Error *e, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
int error_setv(Error *e, int status, const char *format, va_list arguments);

/* Adds a line of detail, indented by two; dropped whole where it does not fit.
** Returns the status that was set. */
int error_line(Error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* STATUS_LIMIT, "WHAT: not enough memory for N bytes". */
int error_memory(Error *e, const char *what, size_t bytes);

/* The shell's limit that an errno is about, " (ulimit -n)"; "": none. */
const char *errno_limit(int number);

/* STATUS_IO (STATUS_USER for a missing file, a directory, no permission; STATUS_LIMIT for memory
** and open files): "PATH: cannot DOING: <errno's text>". */
int error_errno(Error *e, const char *path, const char *doing, int number);

/* The whole of 'text' as a number, whatever the locale: decimal digits only
** (no hexadecimal, inf, nan, blanks); false if it is none, or out of [low, high]. */
bool parse_int64(const char *text, int64_t low, int64_t high, int64_t *out);
bool parse_uint64(const char *text, uint64_t *out);
bool parse_double(const char *text, double low, double high, double *out);

/* printf into 'to' with the decimal point of the C locale; returns what snprintf does. */
int print_text(char *to, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int print_textv(char *to, size_t size, const char *format, va_list arguments);

/* The shortest decimal text that reads back as the same double ("nan", "inf" where not
** finite); 'to' has 32 bytes.  Returns 'to'. */
char *print_double(char to[32], double value);

/* 'digits' significant digits for people, without an exponent from 1e-15 to 1e15: 84.2, 9.6, 100,
** 1234. Returns 'to'. */
char *print_figures(char to[32], double value, int digits);
/* The same as an argument of a call. */
#define FIGURES(value, digits) print_figures((char[32]){ 0 }, value, digits)

#endif
