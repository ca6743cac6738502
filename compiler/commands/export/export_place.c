/* SPDX-License-Identifier: MIT
** Checks that strata export does not write over what it reads: a spec and the files that it
** requires, weights, a tokenizer.  None of them may be the file that is written or lie in the
** folder.
*/
#include "export.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"

static int outside(const char *out, const char *in, Error *e) {
    char folder[PATH_MAX], file[PATH_MAX];
    if (!realpath(out, folder) || !realpath(in, file)) return STATUS_OK;
    size_t n = strlen(folder);
    if (strncmp(file, folder, n) != 0 || file[n] != '/') return place_unread(out, in, e);
    return error_set(e, STATUS_USER,
                     "%s: expected a folder to write, found one with a file that "
                     "is read (%s)",
                     out, in);
}

int export_unread(const Export *x, Error *e) {
    int status = outside(x->out, x->weights, e);
    for (int i = 0; !status && i < x->model->nread_file; i++)
        status = outside(x->out, x->model->read_file[i], e);
    char *tokenizer = status ? NULL : export_tokenizer(x, e);
    if (!status) status = e->status;
    if (!status && tokenizer) status = outside(x->out, tokenizer, e);
    free(tokenizer);
    return status;
}
