/* SPDX-License-Identifier: MIT
** Numbers that a variable of the environment may give a test: seeds, how many of something. */
#ifndef TESTS_SETTING_H
#define TESTS_SETTING_H

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t setting(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

#endif
