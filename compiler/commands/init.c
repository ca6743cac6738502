/* SPDX-License-Identifier: MIT
** strata init: a folder to start from.  The sample specs are specs/sample/.  The annotations for
** editors and the settings of luacheck are generated, so that they match the constructors of this
** version.
*/
#include "command.h"
#include "embedded.h"
#include "files.h"
#include "spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sample.inc"

/* Where a file of the sample goes, and what generates it if it is none of the sample's. */
static const struct {
    const char *sample, *name;
    int (*generate)(FILE *f);
} layout[] = {
    { "model.lua", "model.lua", NULL },
    { "echo.lua", "echo.lua", NULL },
    { "luarc.json", ".luarc.json", NULL },
    { NULL, ".luacheckrc", spec_luacheck },
    { NULL, ".strata/strata.lua", spec_annotations },
};
enum { FILES = sizeof layout / sizeof *layout };

static const Embedded *sample_of(const char *name) {
    for (int i = 0; i < sample_count; i++)
        if (!strcmp(sample_file[i].name, name)) return &sample_file[i];
    return NULL;
}

static int init_write_text(const char *path, const void *text, size_t size, Error *e) {
    Output o;
    int status = output_open(&o, path, e);
    if (!status) status = output_write(&o, text, size, e);
    if (status) return output_discard(&o), status;
    return output_commit(&o, false, e);
}

static int write_generated(const char *path, int (*generate)(FILE *f), Error *e) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    bool ok = f && !generate(f);
    if (f && fclose(f)) ok = false;
    int status = ok
        ? init_write_text(path, text, size, e)
        : error_set(e, STATUS_INTERNAL, "%s: expected it to be generated, found an error", path);
    free(text);
    return status;
}

static int make_folder(const char *path, Error *e) {
    struct stat s;
    if (!mkdir(path, 0777) || (errno == EEXIST && !stat(path, &s) && S_ISDIR(s.st_mode)))
        return STATUS_OK;
    int number = errno;
    error_errno(e, path, "make a folder", number);
    if (number == ENOENT)
        error_line(e, "the folder that it is to be in is made first, by mkdir -p");
    return e->status;
}

static int init_write_file(const char *folder, int i, Error *e) {
    char *path;
    if (asprintf(&path, "%s/%s", folder, layout[i].name) < 0)
        return error_memory(e, layout[i].name, 0);
    const Embedded *s = layout[i].sample ? sample_of(layout[i].sample) : NULL;
    int status = layout[i].generate ? write_generated(path, layout[i].generate, e)
                                    : init_write_text(path, s->text, s->size, e);
    if (!status) show_line(stdout, "", path, "");
    free(path);
    return status;
}

/* Nothing is written if one of the files is there. */
static int init_check_files(const char *folder, Error *e) {
    for (int i = 0; i < FILES; i++) {
        char *path;
        struct stat s;
        if (asprintf(&path, "%s/%s", folder, layout[i].name) < 0)
            return error_memory(e, layout[i].name, 0);
        bool there = !lstat(path, &s);
        int status = there ? error_set(e, STATUS_USER,
                                       "strata init: expected a folder without %s, or --overwrite, "
                                       "found one in %s",
                                       layout[i].name, folder)
                           : STATUS_OK;
        free(path);
        if (status) return status;
    }
    return STATUS_OK;
}

int command_init(const Options *o, Error *e) {
    const char *folder = o->words ? o->word[0] : ".";
    if (o->words > 1)
        return error_set(e, STATUS_USAGE, "strata init: expected one folder, found '%s' too",
                         o->word[1]);
    if (!*folder)
        return error_set(e, STATUS_USAGE,
                         "strata init: expected a folder's name, found ''; none "
                         "is the current folder");
    char *hidden;
    bool overwrite = option_of(o, STRATA_OPTION_OVERWRITE)->given;
    int status = overwrite ? STATUS_OK : init_check_files(folder, e);
    if (!status) status = make_folder(folder, e);
    if (status) return status;
    if (asprintf(&hidden, "%s/.strata", folder) < 0) return error_memory(e, folder, 0);
    status = make_folder(hidden, e);
    free(hidden);
    for (int i = 0; !status && i < FILES; i++)
        status = init_write_file(folder, i, e);
    if (!status)
        show_line(stdout, "next: strata build ", o->words ? folder : "",
                  o->words ? "/model.lua" : "model.lua");
    return status;
}
