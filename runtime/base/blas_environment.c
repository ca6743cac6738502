/* SPDX-License-Identifier: MIT
** See blas_environment.h. */
#include "blas_environment.h"

#include "error.h"

#include <stdlib.h>

const char *blas_environment(char *to, size_t size) {
    static const char *const name[] = { "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",
                                        "OPENBLAS_BLOCK_FACTOR" };
    size_t used = 0;
    *to = 0;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const char *value = getenv(name[i]);
        if (value && *value && used < size)
            used += (size_t)print_text(to + used, size - used, "%s%s=%s", used ? ", " : "", name[i],
                                       value);
    }
    return to;
}
