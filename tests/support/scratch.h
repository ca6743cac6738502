/* SPDX-License-Identifier: MIT
** A folder of its own for a test's files, and small files in it.
** Everything asserts: a test that cannot write its input has failed.
*/
#ifndef TEST_SCRATCH_H
#define TEST_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

enum { SCRATCH_PATH = 512 };

int scratch_setup(void **state); /* cmocka group fixtures; *state is the folder's path */
int scratch_teardown(void **state);

/* FOLDER/NAME into 'path'; returns it. */
const char *scratch_path(void **state, const char *name, char path[SCRATCH_PATH]);
void scratch_write(const char *path, const void *bytes, size_t n);
char *scratch_read(const char *path, size_t *n); /* malloc'ed, NUL after the end; NULL if absent */
bool scratch_exists(const char *path);
int scratch_entries(void **state); /* files in the folder */
void scratch_empty(void **state);  /* removes what is in it */

#endif
