/* SPDX-License-Identifier: MIT
** strata import: from a Hugging Face folder to NAME.lua, NAME.safetensors and the tokenizer's
** file.  Everything is checked before the first of them is written: the importer's plan must have
** the tensors that the spec asks for, by name and shape.
*/
#include "command.h"
#include "files.h"
#include "import.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* == The tokenizer ======================================================== */

/* The first name that ends in .tiktoken, or NULL. */
static char *find_tiktoken(const char *folder) {
    static const char ending[] = ".tiktoken";
    char *best = NULL;
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));) {
        size_t n = strlen(f->d_name), k = sizeof ending - 1;
        if (n <= k || strcmp(f->d_name + n - k, ending) || (best && strcmp(best, f->d_name) < 0))
            continue;
        free(best);
        best = strdup(f->d_name);
    }
    if (d) closedir(d);
    return best;
}

/* Which file the tokenizer is in, and what it will be called. */
static int find_tokenizer(Import *i, const char *base, Error *e) {
    static const char *const names[] = { "tokenizer.json", "tokenizer.model" };
    bool there = false;
    int status = STATUS_OK;
    for (int k = 0; k < 2 && !there && !status; k++) {
        status = folder_file(&i->folder, names[k], &i->tokenizer_from, &there, e);
        if (there && asprintf(&i->tokenizer, "%s.%s", base, names[k]) < 0)
            return error_memory(e, base, 0);
    }
    char *tiktoken = there || status ? NULL : find_tiktoken(i->folder.path);
    if (!tiktoken) return status;
    status = folder_file(&i->folder, tiktoken, &i->tokenizer_from, &there, e);
    if (there && asprintf(&i->tokenizer, "%s.tiktoken", base) < 0)
        status = error_memory(e, base, 0);
    free(tiktoken);
    return status;
}

/* What is there of a kind that is not read, or nothing: programs of the spec will take bytes. */
static void tell_none(Import *i) {
    static const char *const others[] = { "tekken.json", "vocab.json", "vocab.txt" };
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        char *path;
        bool there = false;
        Error unread;
        if (folder_file(&i->folder, others[k], &path, &there, &unread) || !there) continue;
        error_set(
            &i->refused, STATUS_USER,
            "%s: expected tokenizer.json, tokenizer.model or a .tiktoken beside it, found none",
            path);
        free(path);
        return;
    }
    error_set(&i->refused, STATUS_USER,
              "%s: expected tokenizer.json, tokenizer.model or a .tiktoken in it, found none",
              i->folder.path);
}

/* == The command ========================================================== */

static int import_write_all(Import *i, Error *e) {
    int status = STATUS_OK;
    for (int32_t k = 0; k < i->made.sames && !status; k++)
        status = plan_compare(i->made.same[k].one, i->made.same[k].other, e);
    if (!status) status = import_write(i, e);
    if (status) return status;
    show_line(stdout, "", i->spec, "");
    show_line(stdout, "", i->weights, "");
    if (i->tokenizer) show_line(stdout, "", i->tokenizer, "");
    import_tell(i);
    if (!i->tokenizer) tell_none(i);
    i->refused.text[strcspn(i->refused.text, "\n")] = 0;
    if (i->refused.status)
        show_line(stderr, "note: the spec names no tokenizer: ", i->refused.text, "");
    return STATUS_OK;
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool import_ends_in(const char *name, const char *ending) {
    size_t n = strlen(name), k = strlen(ending);
    return n >= k && !strcmp(name + n - k, ending);
}

/* Paths of what is written; 'given': -o, or NULL for the folder's name, here. */
static int name_files(Import *i, const char *given, Error *e) {
    const char *base = given ? given : last_part(i->folder.real);
    i->name = last_part(base);
    if (!*i->name)
        return error_set(e, STATUS_USAGE, "strata import: -o: expected a name, found '%s'", base);
    if (given && (import_ends_in(base, ".lua") || import_ends_in(base, ".safetensors")))
        return error_set(e, STATUS_USAGE,
                         "strata import: -o: expected a name, to which .lua and .safetensors are "
                         "added, found '%s'",
                         base);
    if (asprintf(&i->spec, "%s.lua", base) < 0) i->spec = NULL;
    if (asprintf(&i->weights, "%s.safetensors", base) < 0) i->weights = NULL;
    if (!i->spec || !i->weights) return error_memory(e, base, 0);
    int status = output_check(i->spec, false, e);
    if (!status) status = output_check(i->weights, false, e);
    return status ? status : find_tokenizer(i, base, e);
}

static int read_config(Import *i, Error *e) {
    bool there;
    int status = folder_json(&i->folder, "config.json", FOLDER_CONFIG, FOLDER_CONFIG_VALUES,
                             &i->config, &there, e);
    if (status) return status;
    if (!there)
        return error_set(e, STATUS_USER, "%s: expected a config.json in it, found none",
                         i->folder.path);
    if (i->config.node->type != JSON_OBJECT)
        return error_set(e, STATUS_USER, "%s/config.json: expected an object, found something else",
                         i->folder.path);
    return STATUS_OK;
}

/* The mixer and the route that the command line asks for, each on its own. */
static int check_change(const Import *i, Error *e) {
    const SpecValue given[] = { { "--residual", i->residual, "mixer", i->spec },
                                { "--route", i->route, "route", i->spec } };
    int status = STATUS_OK;
    for (int k = 0; k < 2 && !status; k++)
        if (given[k].text) status = spec_check_value(&given[k], e);
    return status;
}

static int import_folder(Import *i, const Options *o, Error *e) {
    i->residual = option_of(o, STRATA_OPTION_RESIDUAL)->text;
    i->route = option_of(o, STRATA_OPTION_ROUTE)->text;
    i->importer = option_of(o, STRATA_OPTION_IMPORTER)->text;
    int status = read_config(i, e);
    if (!status) status = name_files(i, option_of(o, STRATA_OPTION_IMPORT_NAME)->text, e);
    if (!status) status = check_change(i, e);
    if (!status) status = import_text(i, e);
    bool named = i->tokenizer && !i->refused.status;
    ImportRequest r = { .folder = &i->folder,
                        .config = &i->config,
                        .importer = i->importer,
                        .name = i->name,
                        .tokenizer = named ? last_part(i->tokenizer) : NULL,
                        .keep = option_of(o, STRATA_OPTION_KEEP_TYPE)->text != NULL,
                        .residual = i->residual,
                        .route = i->route };
    if (!status) status = importer_run(&r, &i->made, e);
    if (!status) status = import_check(i, e);
    if (!status) status = import_places(i, option_of(o, STRATA_OPTION_OVERWRITE)->given, e);
    return status ? status : import_write_all(i, e);
}

int command_import(const Options *o, Error *e) {
    Import i = { 0 };
    if (o->words != 1)
        return error_set(e, STATUS_USAGE, "strata import: expected a folder, found %s%s%s",
                         o->words ? "'" : "nothing", o->words ? o->word[1] : "",
                         o->words ? "' too" : "");
    int status = folder_load(&i.folder, o->word[0], e);
    if (!status) status = import_folder(&i, o, e);
    importer_free(&i.made);
    json_free(&i.config);
    folder_free(&i.folder);
    free(i.spec);
    free(i.weights);
    free(i.tokenizer_from);
    free(i.tokenizer);
    text_free(&i.tokenizer_text);
    for (int64_t k = 0; k < i.fresh_count; k++)
        free(i.fresh[k].name);
    free(i.fresh);
    text_free(&i.left);
    spec_free(i.model);
    return status;
}
