/* SPDX-License-Identifier: MIT
** Names of a processor's features, as LLVM lists them. */
#include "target.h"

#include <stdio.h>
#include <string.h>

static bool has(const char *features, const char *name) {
    size_t n = strlen(name);
    for (const char *p = features; (p = strstr(p, name)); p += n)
        if ((p == features || p[-1] == ',') && (p[n] == ',' || !p[n])) return true;
    return false;
}

bool target_has(const char *features, const char *names) {
    char name[32];
    for (const char *p = names; *p; p += *p == ',') {
        size_t n = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        if (!has(features, name)) return false;
        p += n;
    }
    return true;
}
