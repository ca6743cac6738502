/* SPDX-License-Identifier: MIT
** Matching only backtracks to the last '*': what earlier ones matched need not change.
*/
#include "wildcard.h"

#include <stddef.h>

bool wildcard_matches(const char *pattern, const char *name) {
    const char *star = NULL, *after = NULL; /* the last '*', and the name behind what it matches */
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            after = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++, name++;
        } else if (star) {
            pattern = star + 1;
            name = ++after;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
