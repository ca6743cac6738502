/* SPDX-License-Identifier: MIT
** The table of published numbers that published_test.c writes, and its parts.
*/
#ifndef TEST_PUBLISHED_H
#define TEST_PUBLISHED_H

#include "json.h"

extern Text table;
extern int wrong; /* figures that did not come out as they are known to */

void heading(const char *text);
void line(const char *what, const char *ours, const char *published, const char *verdict);
/* Equal to so many digits after the point, or an error of ours. */
void equal(const char *what, double ours, double published, int digits, const char *convention);
void count(const char *what, int64_t ours, int64_t published, const char *convention);
/* Known to differ: ours is what we expect of it, and the reason is said. */
void differs(const char *what, double ours, double expected, int digits, const char *published,
             const char *because);

/* Parts, each a file of that name, write specs into the test's folder; routes: DTRNet,
** Mixture-of-Depths, D-LLM. */
void published_haares(void **folder);
void published_attnres(void **folder);
void published_routes(void **folder);

#endif
