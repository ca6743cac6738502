/* SPDX-License-Identifier: MIT
** Identifiers and parameters as Python writes them. */
#include "torch_print.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site.h"
#include "torch_globals.inc"

static bool is_among(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *at = list; at && (at = strstr(at, word)); at++)
        if (at > list && at[-1] == ' ' && at[n] == ' ') return true;
    return false;
}

static const char keywords[] =
    " False None True and as assert async await break class continue def del elif else except "
    "finally for from global if import in is lambda nonlocal not or pass raise return try while "
    "with yield ";
/* What else may not be the name of a value, beside what torch_globals.inc has. */
static const char reserved[] = " self ids p layer ";

static void identifier(const char *wish, char out[48]) {
    size_t n = 0;
    if (!isalpha((unsigned char)*wish) && *wish != '_') out[n++] = 'x';
    for (; *wish && n < 40; wish++)
        out[n++] = isalnum((unsigned char)*wish) ? *wish : '_';
    out[n] = 0;
}

static bool is_taken(const Text *taken, const char *name) {
    return is_among(keywords, name) || is_among(reserved, name) || is_among(file_globals, name)
        || is_among(python_globals, name) || is_among(taken->at, name);
}

char *torch_name(Text *taken, const char *wish) {
    char base[48], name[64];
    identifier(wish, base);
    snprintf(name, sizeof name, "%s", base);
    for (int i = 2; is_taken(taken, name); i++)
        snprintf(name, sizeof name, "%s%d", base, i);
    text_add(taken, taken->length ? "%s " : " %s ", name);
    return strdup(name);
}

size_t torch_owner(const char *site) {
    if (site_layer(site) < 0) return strlen(site);
    const char *dot = strchr(strchr(site, '.') + 1, '.');
    return dot ? (size_t)(dot - site) : strlen(site);
}

/* Python's keywords cannot be written behind a dot. */
static bool is_name(const char *part, size_t n) {
    char word[16] = "";
    if (!isalpha((unsigned char)*part) && *part != '_') return false;
    if (n < sizeof word) snprintf(word, sizeof word, "%.*s", (int)n, part);
    return !*word || !is_among(keywords, word);
}

/* One part of a name: an attribute, or the number of one of several. */
static void component(Text *t, const char *part, size_t n) {
    bool number = n > 0 && strspn(part, "0123456789") >= n;
    if (number) text_add(t, "[%.*s]", (int)n, part);
    else if (is_name(part, n)) text_add(t, ".%.*s", (int)n, part);
    else text_add(t, "[\"%.*s\"]", (int)n, part);
}

static void path(Text *t, const char *root, const char *name, const char *end) {
    text_add(t, "%s", root);
    while (name < end) {
        size_t n = strcspn(name, ".");
        if (n > (size_t)(end - name)) n = (size_t)(end - name);
        component(t, name, n);
        name += n + (name[n] == '.');
    }
}

void torch_param(Text *t, const char *root, const Node *param, size_t skip) {
    const char *name = param->attr->name + skip, *star = strchr(name, '*');
    if (*name == '.') name++;
    if (!star) {
        path(t, root, name, name + strlen(name));
        return;
    }
    text_add(t, "stacked(");
    path(t, root, name, star > name ? star - 1 : name);
    text_add(t, ", \"%s\")", star + 2);
}
