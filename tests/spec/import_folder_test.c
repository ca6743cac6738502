/* SPDX-License-Identifier: MIT
** strata import of a folder that is not what it should be: one line says which file, which field or
** tensor of it, what was expected and what is there; no file is left.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "scratch.h"

/* == Folders ============================================================== */

#define CONFIG "config.json"
#define WEIGHTS "model.safetensors"
#define INDEX "model.safetensors.index.json"
#define FIRST "model-00001-of-00002.safetensors"
#define SECOND "model-00002-of-00002.safetensors"
#define GAIN "\"model.norm.weight\":{\"dtype\":\"BF16\",\"shape\":[16]"

static const char *const stored[] = { CONFIG, WEIGHTS, INDEX, FIRST, SECOND };

/* What of a small checkpoint's file changes, and the line. */
typedef struct Case {
    const char *checkpoint, *file;
    const char *from, *to; /* from NULL: the whole file; to NULL: there is none */
    const char *expected;  /* behind the folder's path */
} Case;

static const Case cases[] = {
    { "qwen3", CONFIG, NULL, NULL, ": expected a config.json in it, found none" },
    { "qwen3", CONFIG, NULL, "", "/config.json:byte 0: expected a value, found the end" },
    { "qwen3", CONFIG, NULL, "{}", ", or --importer FILE.lua, found none" },
    { "qwen3", CONFIG, NULL, "[]", "/config.json: expected an object, found something else" },
    { "qwen3", CONFIG, "\"qwen3\"", "\"qwen33\"", "FILE.lua, found the string 'qwen33'" },
    { "qwen3", CONFIG, "\"qwen3\"", "[\"qwen3\"]", "FILE.lua, found a list" },
    { "qwen3", CONFIG, "\"qwen3\"", "\"config_fields\"", "found the string 'config_fields'" },
    { "qwen3", CONFIG, NULL,
      "{\"model_type\": \"llava\", \"text_config\": {\"model_type\": \"qwen3\"}}",
      "found the string 'llava', with text_config.model_type 'qwen3'" },
    { "qwen3", CONFIG, "\"hidden_act\"", "\"text_config\": {}, \"hidden_act\"",
      "/config.json: text_config: expected the configuration of a text model alone, found one" },
    { "qwen3", CONFIG, "\"hidden_act\"", "\"clip_qkv\": {\"at\": [1, 2.5]}, \"hidden_act\"",
      "clip_qkv: expected only fields that this importer knows, found an object, "
      "{\"at\": [1, 2.5]}; one that is without effect may be removed" },
    { "qwen3", WEIGHTS, NULL, NULL,
      ": expected model.safetensors or model.safetensors.index.json in it, found neither" },
    { "qwen3", WEIGHTS, "\"model.norm.weight\"", "\"model.norm.other\"",
      ": expected a tensor 'model.norm.weight', found none, for 'final_norm.weight'" },
    { "qwen3", WEIGHTS, "\"__metadata__\":{\"format\":\"pt\"}",
      "\"model.other\":{\"dtype\":\"BF16\",\"shape\":[0],\"data_offsets\":[0,0]}",
      "/model.safetensors:model.other: expected tensors that the importer uses, found another" },
    { "qwen3", WEIGHTS, GAIN, "\"model.norm.weight\":{\"dtype\":\"BF16\",\"shape\":[8,2]",
      "model.norm.weight: expected what makes 'final_norm.weight' of shape [16], found [8,2]" },
    { "qwen3", WEIGHTS, GAIN, "\"model.norm.weight\":{\"dtype\":\"I16\",\"shape\":[16]",
      "expected F32, BF16, F16, I32 or I64, found I16, for 'final_norm.weight'" },
    { "qwen3", WEIGHTS, GAIN, "\"model.norm.weight\":{\"dtype\":\"I32\",\"shape\":[8]",
      "model.norm.weight: expected F32, BF16 or F16, found I32, for 'final_norm.weight'" },
    { "qwen3", WEIGHTS, GAIN, "\"model.norm.weight\":{\"dtype\":\"I64\",\"shape\":[4]",
      "model.norm.weight: expected F32, BF16 or F16, found I64, for 'final_norm.weight'" },
    { "llama", SECOND, NULL, NULL,
      "expected a file of the folder, found none called 'model-00002-of-00002.safetensors'" },
    { "llama", INDEX, "\"weight_map\": {", "\"weight_map\": {\"model.other\": \"" FIRST "\",",
      INDEX ": expected the tensor 'model.other' in " FIRST ", found none" },
    { "llama", INDEX, "\"model.norm.weight\": ", "\"model.norm.other\": ",
      INDEX ": expected the tensor 'model.norm.other' in " SECOND ", found none" },
};

/* The bytes with 'to' in the place of the first 'from', of a file of weights with the length of its
** header; 'n' becomes how many. */
static char *replaced(char *bytes, const Case *c, size_t *n) {
    size_t was = strlen(c->from), is = strlen(c->to);
    char *at = memmem(bytes, *n, c->from, was);
    assert_non_null(at);
    size_t before = (size_t)(at - bytes), after = *n - before - was;
    char *out = malloc(*n + is);
    assert_non_null(out);
    memcpy(out, bytes, before);
    memcpy(out + before, c->to, is);
    memcpy(out + before + is, at + was, after);
    if (!strcmp(c->file, WEIGHTS)) {
        uint64_t header;
        memcpy(&header, out, sizeof header);
        header += is - was;
        memcpy(out, &header, sizeof header);
    }
    *n += is - was;
    free(bytes);
    return out;
}

/* The checkpoint's folder with the change. */
static void make_folder(const Case *c, const char *folder) {
    char path[SCRATCH_PATH + 64];
    size_t n;
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
        bool changed = !strcmp(stored[i], c->file);
        print_text(path, sizeof path, SOURCE_DIR "/tests/checkpoints/%s/%s", c->checkpoint,
                   stored[i]);
        char *bytes = scratch_read(path, &n);
        if (!bytes) continue;
        if (changed && c->from) bytes = replaced(bytes, c, &n);
        print_text(path, sizeof path, "%s/%s", folder, stored[i]);
        if (changed && !c->from && c->to) scratch_write(path, c->to, strlen(c->to));
        else if (!changed || c->from) scratch_write(path, bytes, n);
        free(bytes);
    }
}

/* == Imports ============================================================== */

static int import(char *folder, char *name, Error *e) {
    char word[] = "import", flag[] = "-o";
    char *argv[] = { word, folder, flag, name, NULL };
    Options o;
    assert_int_equal(options_parse(&o, &strata_options, 4, argv, e), 0);
    int status = command_import(&o, e);
    options_free(&o);
    return status;
}

static bool check_case(void **state, const Case *c) {
    char folder[SCRATCH_PATH], name[SCRATCH_PATH];
    Error e = { 0 };
    scratch_empty(state);
    scratch_path(state, "hf", folder);
    scratch_path(state, "out", name);
    make_folder(c, folder);
    int status = import(folder, name, &e);
    bool right = status == STATUS_USER && !strncmp(e.text, folder, strlen(folder))
        && strstr(e.text, c->expected) && !strchr(e.text, '\n') && scratch_entries(state) == 1;
    if (!right)
        print_error("%s, %s: status %d, %s\nexpected %s\n", c->file, c->to ? c->to : "gone", status,
                    e.text, c->expected);
    return right;
}

static void test_folders(void **state) {
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        wrong += !check_case(state, &cases[i]);
    assert_int_equal(wrong, 0);
}

/* The folders that change are right before. */
static void test_unchanged(void **state) {
    static const char *const names[] = { "qwen3", "llama" };
    char folder[SCRATCH_PATH], name[SCRATCH_PATH];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Error e = { 0 };
        scratch_empty(state);
        scratch_path(state, "hf", folder);
        scratch_path(state, "out", name);
        make_folder(&(Case){ .checkpoint = names[i], .file = "" }, folder);
        if (import(folder, name, &e)) fail_msg("%s", e.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unchanged),
        cmocka_unit_test(test_folders),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
