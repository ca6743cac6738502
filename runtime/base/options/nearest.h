/* SPDX-License-Identifier: MIT
** Finds the name that a user probably meant.
*/
#ifndef STRATA_NEAREST_H
#define STRATA_NEAREST_H

/* Letters to insert, delete, change or swap with the next to make one word of the other;
** NAME_FAR where one has more than 63 bytes. */
enum { NAME_FAR = 64 };
int name_distance(const char *a, const char *b);

/* The candidate nearest to 'word', or NULL if none is near. */
const char *nearest_name(const char *word, const char *const *candidate, int count);

#endif
