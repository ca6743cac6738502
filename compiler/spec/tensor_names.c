/* SPDX-License-Identifier: MIT
** Checks that no two parameters share a name in files; a parameter with a '*' in its name is
** several tensors.
*/
#include "fatal.h"
#include "front.h"

#include <stdlib.h>
#include <string.h>

typedef struct TensorName {
    char text[MAXNAME + 24];
    int param;
} TensorName;

static int names_by_text(const void *x, const void *y) {
    const TensorName *a = x, *b = y;
    int order = strcmp(a->text, b->text);
    return order ? order : a->param - b->param;
}

/* Of all of the parameters' tensors. */
static TensorName *names_of(const Graph *g, int64_t count) {
    TensorName *name = checked_new((size_t)count + 1, sizeof *name);
    int64_t n = 0;
    for (int i = 0; i < g->nparam; i++)
        for (int64_t k = 0; k < param_tensors(g->param[i].node); k++, n++) {
            param_tensor_name(g->param[i].node, k, name[n].text, sizeof name[n].text);
            name[n].param = i;
        }
    qsort(name, (size_t)n, sizeof *name, names_by_text);
    return name;
}

Node *tensor_names_clash(const Graph *g, char *text, size_t size) {
    int64_t count = graph_tensors(g);
    Node *second = NULL;
    if (count == g->nparam) return NULL; /* parameters have names of their own */
    TensorName *name = names_of(g, count);
    for (int64_t i = 1; !second && i < count; i++)
        if (!strcmp(name[i - 1].text, name[i].text)) {
            snprintf(text, size, "%s", name[i].text);
            second = g->param[name[i].param].node;
        }
    free(name);
    return second;
}
