/* SPDX-License-Identifier: MIT
** Dependency files, as C compilers write them:  OUTPUT: SPEC MODULE ...
** Names are those of the command line, so that make finds them from where
** strata ran.
*/
#include "build.h"
#include "publish.h"

#include <string.h>

/* A name as make reads it back: blanks and '#' behind backslashes, dollars twice. */
static void depfile_add_name(Text *t, const char *name) {
    for (; *name; name++) {
        if (strchr(" \t#", *name)) text_add(t, "\\");
        if (*name == '$') text_add(t, "$");
        text_bytes(t, name, 1);
    }
}

void depfile_target(Text *t, const char *output) {
    depfile_add_name(t, output);
    text_add(t, ":");
}

int depfile_write(const Model *m, const char *output, const char *path, Error *e) {
    Text t = { 0 };
    if (strchr(output, '\n') || strchr(m->file, '\n'))
        return error_set(e, STATUS_USER,
                         "%s: expected names without line breaks, which a rule cannot hold", path);
    depfile_target(&t, output);
    for (int i = 0; i < m->nread_file; i++) {
        text_add(&t, " ");
        depfile_add_name(&t, m->read_file[i]);
    }
    text_add(&t, "\n");
    int status = text_status(&t, e);
    if (!status) status = publish_own(path, &t, e);
    text_free(&t);
    return status;
}
