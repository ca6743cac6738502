/* SPDX-License-Identifier: MIT
** The rows of levels.def, of all targets, as numbers. */
#ifndef STRATA_LEVELS_H
#define STRATA_LEVELS_H

enum {
#define FEATURE(name, text, llvm, test) FEATURE_AT_##name,
#include "levels.def"
};

enum {
#define FEATURE(name, text, llvm, test) FEATURE_##name = 1 << FEATURE_AT_##name,
#include "levels.def"
};

enum {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) LEVEL_##library,
#include "levels.def"
    LEVELS
};

/* All that a level needs, with what those below it do. */
enum {
    NEEDS_none = 0,
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) \
    NEEDS_##library = NEEDS_##below | (needs),
#include "levels.def"
};

#endif
