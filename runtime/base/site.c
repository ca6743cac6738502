/* SPDX-License-Identifier: MIT
** See site.h. */
#include "site.h"

#include <stdlib.h>
#include <string.h>

/* What follows the layer's number, and that number; NULL: it is in none. */
static const char *behind_layer(const char *site, int *layer) {
    static const char layers[] = "layers.";
    const size_t n = sizeof layers - 1;
    char *end;
    if (!site || strncmp(site, layers, n)) return NULL;
    *layer = (int)strtol(site + n, &end, 10);
    return end > site + n ? end : NULL;
}

int site_layer(const char *site) {
    int layer;
    return behind_layer(site, &layer) ? layer : -1;
}

const char *site_inside(const char *at) {
    int layer;
    const char *rest = behind_layer(at, &layer), *dot = rest ? strchr(rest, '.') : NULL;
    return dot ? dot + 1 : at;
}

const char *site_last(const char *site) {
    const char *dot = strrchr(site, '.');
    return dot ? dot + 1 : site;
}

bool site_within(const char *site, const char *outer) {
    size_t n = strlen(outer);
    return !strncmp(site, outer, n) && (!site[n] || site[n] == '.');
}

bool site_is_mixer(const char *param) { return strstr(param, ".residual.") != NULL; }
