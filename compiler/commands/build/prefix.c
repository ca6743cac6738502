/* SPDX-License-Identifier: MIT
** See prefix.h. */
#include "prefix.h"

#include <ctype.h>
#include <string.h>

static bool is_identifier(const char *s) {
    if (!isalpha((unsigned char)*s) && *s != '_') return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_') return false;
    return true;
}

/* Whether s is the word, or begins with it and an underscore.  Macros are in capitals: so may s
** be. */
static bool prefix_begins(const char *s, const char *word) {
    size_t n = strlen(word);
    return !strncasecmp(s, word, n) && (!s[n] || s[n] == '_');
}

/* Functions of the C library are called so and _init, _strerror, ...: those of POSIX and C11. */
static bool is_of_c_library(const char *s) {
    static const char *const word[] = { "aio",
                                        "cnd",
                                        "fanotify",
                                        "gai",
                                        "inet6_opt",
                                        "inet6_option",
                                        "inet6_rth",
                                        "inotify",
                                        "mtx",
                                        "res",
                                        "sem",
                                        "posix_spawn_file_actions",
                                        "posix_spawnattr" };
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (!strcmp(s, word[i])) return true;
    return !strcmp(s, "pthread") || !strncmp(s, "pthread_", 8);
}

/* NULL, or why names cannot begin with it. */
static const char *taken(const char *s) {
    return prefix_begins(s, "strata") ? "names of the interface begin so"
        : *s == '_'                   ? "names that begin with '_' are the C compiler's"
        : is_of_c_library(s)          ? "functions of the C library begin so"
                                      : NULL;
}

int prefix_check(const char *command, const char *given, const Model *m, bool shown, Error *e) {
    const char *prefix = given ? given : m->name;
    if (!is_identifier(prefix) || strlen(prefix) > 64)
        return error_set(
            e, STATUS_USAGE,
            "strata %s: --prefix: expected a C identifier of at most 64 letters, found '%s'",
            command, prefix);
    const char *why = shown ? taken(prefix) : NULL;
    if (!why) return STATUS_OK;
    if (given)
        return error_set(e, STATUS_USAGE,
                         "strata %s: --prefix: expected a prefix that is free, found '%s': %s",
                         command, prefix, why);
    return error_set(
        e, STATUS_USER,
        "%s: expected a name that functions may begin with, or --prefix, found '%s': %s", m->file,
        prefix, why);
}
