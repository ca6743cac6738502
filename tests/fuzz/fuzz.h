/* SPDX-License-Identifier: MIT
** A reader below a fuzzer.  NAME_fuzz.c says how inputs are read and what must hold of any; the
** mutations, the counting and the main function are fuzz_main.c's, or libFuzzer's
** (fuzz_libfuzzer.c), whose words the first part has, too.
*/
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FUZZ_ROOM = 1 << 16 };

/* An input that grows and shrinks; at most FUZZ_ROOM bytes. */
typedef struct FuzzInput {
    uint64_t seed, drawn;
    size_t n;
    unsigned char bytes[FUZZ_ROOM];
} FuzzInput;

/* == What a reader defines ================================================ */

/* Reads it to the end; 1 if it is accepted.  A promise that does not hold: fuzz_broken. */
int fuzz_read(const unsigned char *bytes, size_t n);
/* Valid input number k; 0: there are no more.  At most FUZZ_ROOM bytes. */
size_t fuzz_seed(size_t k, unsigned char *to);
extern const char *const fuzz_words[]; /* that decide something; NULL at the end */
extern const int fuzz_bytes; /* mutations of bytes before it is repaired, less than that */
/* Puts right what nearly every mutation breaks (lengths, checksums), or mutates as no byte does. */
void fuzz_repair(FuzzInput *f);

/* == What a main function defines ========================================= */

extern const bool fuzz_forks; /* a reader may: nothing is learned from what code inputs reach */

/* == What it has for that ================================================= */

_Noreturn void fuzz_broken(const char *promise);
/* A file with these contents: its path, the same every time. */
const char *fuzz_file(const unsigned char *bytes, size_t n);
size_t fuzz_below(FuzzInput *f, size_t n);
void fuzz_insert(FuzzInput *f, size_t at, const void *bytes, size_t n); /* if there is room */
void fuzz_erase(FuzzInput *f, size_t at, size_t n);
void fuzz_mutate(FuzzInput *f);

/* The seeds as files of a folder. */
void fuzz_write_seeds(const char *folder);

#endif
