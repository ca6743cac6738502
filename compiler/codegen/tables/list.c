/* SPDX-License-Identifier: MIT */
#include "list.h"
#include "fatal.h"

#include <string.h>

void *list_add(List *l, size_t size) {
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->data = checked_more(l->data, (size_t)l->cap, size);
    }
    void *at = (char *)l->data + (size_t)l->n++ * size;
    memset(at, 0, size);
    return at;
}
