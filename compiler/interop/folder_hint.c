/* SPDX-License-Identifier: MIT
** Messages about folders without weights; see folder_hint.h.
*/
#include "folder_hint.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* == A path =============================================================== */

static bool hint_begins(const char *path, const char *magic) {
    char start[8] = "";
    struct stat st; /* opening a pipe would wait for its other end */
    FILE *f = !stat(path, &st) && S_ISREG(st.st_mode) ? fopen(path, "rb") : NULL;
    size_t n = f ? fread(start, 1, strlen(magic), f) : 0;
    if (f) fclose(f);
    return n == strlen(magic) && !memcmp(start, magic, n);
}

/* ORG/NAME, as hubs name what they have. */
static bool is_hub_name(const char *path) {
    const char *slash = strchr(path, '/');
    return slash && slash > path && slash[1] && !strchr(slash + 1, '/') && *path != '.'
        && *path != '~';
}

int folder_refuse_path(const char *path, int problem, Error *e) {
    static const char wanted[] = "a folder with config.json and model.safetensors";
    if (problem == ENOENT && is_hub_name(path))
        return error_set(e, STATUS_USER,
                         "%s: expected %s, found no such folder; nothing is fetched from a hub: "
                         "download it, and give the folder",
                         path, wanted);
    if (problem) return error_errno(e, path, "open", problem);
    if (hint_begins(path, "GGUF"))
        return error_set(
            e, STATUS_USER,
            "%s: expected %s, found a GGUF file, which is written by strata export and "
            "not read",
            path, wanted);
    return error_set(e, STATUS_USER, "%s: expected %s, found a file", path, wanted);
}

/* == A folder ============================================================= */

/* Names of files, as fnmatch takes them, and what a person may do; the first that fits is told. */
static const struct Other {
    const char *pattern, *advice;
} others[] = {
    { "adapter_model.*",
      "an adapter without its model; merge it into the model first (in PEFT: merge_and_unload, "
      "then save_pretrained)" },
    { "model-*-of-*.safetensors", "one of several files without the index that lists them" },
    { "consolidated*.safetensors",
      "weights under names of their own; import those that transformers reads" },
    { "*.gguf", "a GGUF file, which is written by strata export and not read" },
    { "pytorch_model*.bin", "pickled weights, which are not read; save them as safetensors" },
    { "*.pth", "pickled weights, which are not read; save them as safetensors" },
    { "*.pt", "pickled weights, which are not read; save them as safetensors" },
    { "*.bin", "weights of another kind, which are not read; save them as safetensors" },
    { "*.h5", "weights of another kind, which are not read; save them as safetensors" },
    { "*.msgpack", "weights of another kind, which are not read; save them as safetensors" },
    { "*.npz", "weights of another kind, which are not read; save them as safetensors" },
    { "*.safetensors", "weights under another name" },
};
enum { OTHERS = sizeof others / sizeof *others };

/* The first name in byte order of the first pattern that any fits; OTHERS: none. */
static int find_other(const char *path, char name[256]) {
    int best = OTHERS;
    DIR *d = opendir(path);
    for (struct dirent *f; d && (f = readdir(d));)
        for (int i = 0; i <= best && i < OTHERS; i++) {
            if (fnmatch(others[i].pattern, f->d_name, 0)) continue;
            if (i < best || strcmp(f->d_name, name) < 0) snprintf(name, 256, "%s", f->d_name);
            best = i;
            break;
        }
    if (d) closedir(d);
    return best;
}

int folder_refuse_empty(const char *path, const char *single, const char *index, Error *e) {
    char name[256];
    int i = find_other(path, name);
    if (i == OTHERS)
        return error_set(e, STATUS_USER, "%s: expected %s or %s in it, found neither", path, single,
                         index);
    return error_set(e, STATUS_USER, "%s: expected %s or %s in it, found %s: %s", path, single,
                     index, name, others[i].advice);
}
