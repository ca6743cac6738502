/* SPDX-License-Identifier: MIT
** Arrays that grow as elements are added. */
#ifndef STRATA_ARRAY_H
#define STRATA_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The new room of an array of 'room' elements of 'size' bytes, to which 'array' points: twice as
** much, 'first' at first.  Without memory, or where there would be more than
** 'most' elements, nothing changes and the old room is returned. */
int64_t array_more(void *array, int64_t room, size_t size, int64_t first, int64_t most);

/* Whether there is room for one more of 'count' elements of an array; 'at' and 'room', its
** variables, change where it grows. */
#define ARRAY_ROOM(at, count, room, first)                                                    \
    ((count) < (room)                                                                         \
     || ((room) = (__typeof__(room))array_more(&(at), (int64_t)(room), sizeof *(at), (first), \
                                               sizeof(room) < 8 ? INT32_MAX : INT64_MAX),     \
         (count) < (room)))

#endif
