/* SPDX-License-Identifier: MIT
** Checks that a model's parameters can be attributes of PyTorch modules under their own names.
*/
#include "torch_print.h"

#include <stdlib.h>
#include <string.h>

#include "fatal.h"
#include "torch_attributes.inc"

static bool is_owned(const char *list, const char *word, size_t n) {
    for (const char *at = list; (at = strstr(at, word)); at++)
        if (at[-1] == ' ' && at[n] == ' ') return true;
    return false;
}

/* What owns the name 'word' in a module; 'top': in the model itself.  NULL: nothing. */
static const char *owner_of(const char *word, size_t n, bool top) {
    if (!strncmp(word, "__", 2) || is_owned(module_attributes, word, n)) return "torch.nn.Module";
    return top && is_owned(model_attributes, word, n) ? "transformers' PreTrainedModel" : NULL;
}

static int check_parts(const char *name, Error *e) {
    for (const char *at = name; *at;) {
        size_t n = strcspn(at, ".");
        char *word = strndup(at, n);
        if (!word) return error_memory(e, "strata export", n);
        const char *owner = owner_of(word, n, at == name);
        if (owner)
            error_set(e, STATUS_USER,
                      "%s: expected names that modules of PyTorch leave free, found '%s', which is "
                      "an attribute of %s: another name for the sublayer or the parameter",
                      name, word, owner);
        free(word);
        if (owner) return e->status;
        at += n + (at[n] == '.');
    }
    return STATUS_OK;
}

static int torch_check_by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "a.b" and "a.b.c": b would be a tensor and a module.  No character of names comes before the
** dot, so that of sorted names such two are neighbours. */
static int check_pair(const char *shorter, const char *longer, Error *e) {
    size_t n = strlen(shorter);
    if (strncmp(shorter, longer, n) || longer[n] != '.') return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "%s: expected a name below which no other parameter is, found %s: PyTorch has "
                     "a tensor or a module of a name, not both",
                     shorter, longer);
}

int torch_check(const Graph *g, Error *e) {
    const char **name = checked_new((size_t)g->nparam + 1, sizeof *name);
    int status = STATUS_OK;
    for (int i = 0; i < g->nparam && !status; i++) {
        name[i] = g->param[i].node->attr->name;
        status = check_parts(name[i], e);
    }
    if (!status) qsort(name, (size_t)g->nparam, sizeof *name, torch_check_by_name);
    for (int i = 1; i < g->nparam && !status; i++)
        status = check_pair(name[i - 1], name[i], e);
    free(name);
    return status;
}
