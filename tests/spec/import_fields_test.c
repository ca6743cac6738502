/* SPDX-License-Identifier: MIT
** strata import of config.json, and of model.safetensors.index.json, with values that no model has.
** Of the small checkpoint of each architecture every value, at any depth, becomes each of a list;
** goes; and fields of others come.  What comes of it is files, or one line that names the file and
** the field, or the tensor that it contradicts.  A part of them is a test (sweep.h).
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "json_sweep.h"
#include "scratch.h"

/* == Values =============================================================== */

/* Beside those of all. */
static const char *const values[] = {
    "\"full_attention\"",
    "[\"full_attention\"]",
    "{\"rope_type\": \"yarn\", \"factor\": 0.5}",
    "{\"rope_type\": \"linear\", \"rope_theta\": 1e308, \"factor\": 1e-308}",
    NULL,
};
static const char *const names[] = {
    "\".\"",
    "\"..\"",
    "\"/\"",
    "\"config.json\"",
    "\"model.safetensors\"",
    "\"./model-00001-of-00002.safetensors\"",
    "\"../hf/model-00001-of-00002.safetensors\"",
    "\"model-00001-of-00002.safetensors/\"",
    "\"model-00001-of-00002.safetensors\"",
    "\"model-00002-of-00002.safetensors\"",
    "{\"model.norm.weight\": \"model-00002-of-00002.safetensors\"}",
    NULL,
};

/* Fields that no small checkpoint has. */
static const char *const others[] = { "rope_scaling",
                                      "original_max_position_embeddings",
                                      "num_local_experts",
                                      "num_experts",
                                      "rope_local_base_freq",
                                      "sliding_window_pattern",
                                      "no_rope_layers",
                                      "mlp_only_layers",
                                      "model_max_length",
                                      "linear_attn_config",
                                      "rope_theta",
                                      "head_dim",
                                      "num_key_value_heads",
                                      "attention_bias",
                                      "layer_types",
                                      "sliding_window",
                                      "use_sliding_window",
                                      "partial_rotary_factor",
                                      "text_config",
                                      "rope_parameters",
                                      "tie_word_embeddings",
                                      "hidden_act",
                                      "n_inner",
                                      "final_logit_softcapping",
                                      "use_mrope",
                                      "max_window_layers",
                                      NULL };

/* == One import =========================================================== */

typedef struct Trial {
    Sweep sweep;
    void **state;
    char folder[SCRATCH_PATH], out[SCRATCH_PATH];
    const char *file;        /* that changes */
    char path[SCRATCH_PATH]; /* its own */
} Trial;

static int import(const Trial *t, Error *e) {
    char *argv[] = { "import", (char *)(size_t)t->folder, "-o", (char *)(size_t)t->out, NULL };
    Options o;
    assert_int_equal(options_parse(&o, &strata_options, 4, argv, e), 0);
    int status = command_import(&o, e);
    options_free(&o);
    return status;
}

/* Whether the line names the field that changed, or one that went or came with it. */
static bool names_field(const char *line, const JsonEdit *x) {
    char name[128], quoted[160];
    if (strstr(line, x->field)) return true;
    const char *end = strstr(line, ": expected ");
    const char *begin = end;
    while (begin > line && !strchr(". ", begin[-1]))
        begin--;
    print_text(name, sizeof name, "%.*s", (int)(end - begin), begin);
    print_text(quoted, sizeof quoted, "\"%s\"", name);
    return strstr(x->before, quoted) || strstr(x->after, quoted);
}

/* Whether the line is of the file that the value names. */
static bool names_file(const char *line, const JsonEdit *x) {
    size_t n = strlen(x->after);
    return n > 2 && *line == '/' && !strncmp(line + 1, x->after + 1, n - 2) && line[n - 1] == ':';
}

/* Whether it is what a user can do something with. */
static bool is_clear(const Trial *t, const Error *e, const JsonEdit *x) {
    size_t n = strlen(t->path);
    if (e->status != STATUS_USER || !sweep_line(e, t->folder)) return false;
    if (!strncmp(e->text, t->path, n) && !strncmp(e->text + n, ":byte ", 6)) return true;
    if (!strncmp(e->text, t->path, n) && !strncmp(e->text + n, ": ", 2))
        return names_field(e->text + n, x);
    const char *line = e->text + strlen(t->folder);
    if (names_file(line, x)) return true;
    return strstr(line, ".safetensors:") || strstr(line, ": expected a tensor '");
}

static void attempt(void *user, const JsonEdit *x) {
    Trial *t = user;
    Error e = { 0 };
    scratch_write(t->path, x->text->at, x->text->length);
    int status = import(t, &e);
    bool clear = !status || is_clear(t, &e, x);
    sweep_tried(&t->sweep, status, clear);
    if (!clear) sweep_tell(&t->sweep, x->path, x->after, &e);
}

/* == An architecture ====================================================== */

static char *stored(const char *name, const char *file, size_t *n) {
    char path[1024];
    print_text(path, sizeof path, SOURCE_DIR "/tests/checkpoints/%s/%s", name, file);
    return scratch_read(path, n);
}

/* The folder of a checkpoint; the text of the file that changes. */
static char *begin(Trial *t, const char *name) {
    static const char *const files[] = { "config.json", "model.safetensors",
                                         "model.safetensors.index.json",
                                         "model-00001-of-00002.safetensors",
                                         "model-00002-of-00002.safetensors" };
    char path[SCRATCH_PATH + 64], *text;
    size_t n;
    scratch_empty(t->state);
    scratch_path(t->state, "hf", t->folder);
    scratch_path(t->state, "out", t->out);
    print_text(path, sizeof path, "hf/%s", t->file);
    scratch_path(t->state, path, t->path);
    assert_int_equal(mkdir(t->folder, 0700), 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        print_text(path, sizeof path, "%s/%s", t->folder, files[i]);
        text = stored(name, files[i], &n);
        if (text) scratch_write(path, text, n);
        free(text);
    }
    text = stored(name, t->file, &n);
    assert_non_null(text);
    return text;
}

static void sweep(void **state, const char *checkpoint, const char *called, Trial *t,
                  const JsonSweep *w, int every) {
    t->state = state;
    if (!sweep_open(&t->sweep, called, every)) return;
    char *text = begin(t, checkpoint);
    json_sweep(w, &t->sweep, text);
    free(text);
    sweep_end(&t->sweep);
}

static void sweep_config(void **state, const char *name) {
    Trial t = { .file = "config.json" };
    sweep(state, name, name, &t, &(JsonSweep){ values, others, attempt, &t }, 131);
}

static void sweep_index(void **state, const char *name, const char *whole) {
    Trial t = { .file = "model.safetensors.index.json" };
    sweep(state, name, whole, &t, &(JsonSweep){ names, NULL, attempt, &t }, 23);
}

#define CASE(name) \
    static void test_##name(void **state) { sweep_config(state, #name); }
#include "import_cases.def"

static void index_of_llama(void **state) { sweep_index(state, "llama", "index_of_llama"); }
static void index_of_mixtral(void **state) { sweep_index(state, "mixtral", "index_of_mixtral"); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_of_llama),
        cmocka_unit_test(index_of_mixtral),
#define CASE(name) cmocka_unit_test(test_##name),
#include "import_cases.def"
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
