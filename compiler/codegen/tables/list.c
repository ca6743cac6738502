#include "list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *list_add(List *l, size_t size) {
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->data = realloc(l->data, (size_t)l->cap * size);
        if (!l->data) {
            fprintf(stderr, "error: memory: expected room for the model's tables, found none\n");
            exit(3);
        }
    }
    void *at = (char *)l->data + (size_t)l->n++ * size;
    memset(at, 0, size);
    return at;
}
