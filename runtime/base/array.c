/* SPDX-License-Identifier: MIT
** See array.h. */
#include "array.h"

#include <stdlib.h>
#include <string.h>

int64_t array_more(void *array, int64_t room, size_t size, int64_t first, int64_t most) {
    void *old;
    int64_t more = room ? 2 * room : first;
    size_t bytes;
    memcpy(&old, array, sizeof old);
    if (room > most / 2 || __builtin_mul_overflow((size_t)more, size, &bytes)) return room;
    void *grown = realloc(old, bytes);
    if (!grown) return room;
    memcpy(array, &grown, sizeof grown);
    return more;
}
