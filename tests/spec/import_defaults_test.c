/* SPDX-License-Identifier: MIT
** What config.json leaves out is what transformers' configuration class gives it.  The small
** checkpoint of each architecture, for each field of its class (import_defaults.txt, which
** tests/interop/classes.py writes): without the field, and with the class's value, which null is
** where the class has none of its own, the importer makes the same spec; or it requires the field
** by name; or neither fits the checkpoint's tensors.  With null for the field the spec is what the
** class makes of it, or the field is refused by name.  A field that no class has is refused by name
** in every object of config.json that is of the text model.  An importer that reads a field which
** its class does not have, or leaves one out that it has, fails and says which.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "importer.h"
#include "scratch.h"

enum { LONGEST = 1 << 16 };

/* == config.json, as transformers writes it: a field a line ================ */

/* What the fields of the class are indented by: those of a text model lie in text_config. */
static int depth_of(const char *config) { return strstr(config, "\n  \"text_config\": {") ? 4 : 2; }

/* Where the class's fields begin. */
static char *fields_of(char *config, int depth) {
    return depth == 4 ? strstr(config, "\"text_config\": {") : config;
}

/* The text without the field. */
static void remove_field(char *config, const char *field, int depth) {
    char line[160], same[16], outer[16];
    print_text(line, sizeof line, "\n%*s\"%s\": ", depth, "", field);
    print_text(same, sizeof same, "\n%*s\"", depth, "");
    print_text(outer, sizeof outer, "\n%*s}", depth - 2, "");
    char *at = strstr(fields_of(config, depth), line);
    if (!at) return;
    char *next = strstr(at + 1, same), *end = strstr(at + 1, outer);
    assert_non_null(end);
    bool last = !next || next > end;
    if (last && at[-1] == ',') at--;
    char *rest = last ? end : next;
    memmove(at, rest, strlen(rest) + 1);
}

static void add_field(char *config, const char *field, const char *value, int depth) {
    char line[1024];
    char *at = strchr(fields_of(config, depth), '{') + 1;
    size_t n = (size_t)print_text(line, sizeof line, "\n%*s\"%s\": %s,", depth, "", field, value);
    memmove(at + n, at, strlen(at) + 1);
    memcpy(at, line, n);
}

/* == Importing ============================================================ */

typedef struct Trial {
    struct Front *front;
    CheckpointFolder folder;
    char text[LONGEST];
} Trial;

/* The spec's text, to be freed, or NULL: 'e' says why. */
static char *spec_of(Trial *t, Error *e) {
    Json config = { 0 };
    Imported made;
    *e = (Error){ 0 };
    if (json_parse(&config, "config.json", t->text, strlen(t->text), FOLDER_CONFIG_VALUES, e))
        fail_msg("%s", e->text);
    const ImportRequest r = { .folder = &t->folder, .config = &config, .name = "m" };
    char *spec = NULL;
    if (!importer_ask(t->front, &r, &made, e)) {
        spec = strndup(made.spec.at, made.spec.length);
        importer_free(&made);
    }
    json_free(&config);
    return spec;
}

/* Whether the line is of a field of config.json, or of a tensor that it contradicts. */
static bool is_clear(const Error *e) {
    static const char *const places[] = { "/config.json: ", ".safetensors:",
                                          ": expected a tensor '" };
    bool clear = false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        clear = clear || strstr(e->text, places[i]);
    return clear && e->status == STATUS_USER;
}

static bool requires(const Error *e, const char *field) {
    char wanted[160];
    print_text(wanted, sizeof wanted, "%s: expected ", field);
    return strstr(e->text, wanted) && strstr(e->text, ", found none");
}

/* Whether a field without a value, and with that of the class, are the same. */
static bool check_field(Trial *t, const char *config, const char *field, const char *value,
                        int *alike) {
    Error without, with;
    print_text(t->text, sizeof t->text, "%s", config);
    int depth = depth_of(t->text);
    remove_field(t->text, field, depth);
    char *left = spec_of(t, &without);
    add_field(t->text, field, value, depth);
    char *given = spec_of(t, &with);
    bool same = left && given && !strcmp(left, given);
    *alike += same;
    bool right = same || (!left && requires(&without, field))
        || (!left && !given && is_clear(&without) && is_clear(&with));
    if (!right)
        print_error("%s: left out: %s\nas %s: %s\n", field, left ? left : without.text, value,
                    given ? given : with.text);
    free(left);
    free(given);
    return right;
}

/* == Null ================================================================= */

/* What a spec does not say where null switches it off. */
static const struct {
    const char *field, *word;
} switched_off[] = {
    { "final_logit_softcapping", "softcap" },
    { "linear_lower_bound", "floor" },
    { "q_lora_rank", "q_latent" },
    { "sliding_window", "window" },
    { "num_key_value_heads", "kv_heads" },
};

/* The spec's text with another value of the field. */
static char *spec_with(Trial *t, const char *config, const char *field, const char *value,
                       Error *e) {
    print_text(t->text, sizeof t->text, "%s", config);
    int depth = depth_of(t->text);
    remove_field(t->text, field, depth);
    add_field(t->text, field, value, depth);
    return spec_of(t, e);
}

static bool refuses(const Error *e, const char *field) {
    const char *file = strstr(e->text, "/config.json: ");
    const char *end = file ? strstr(file, ": expected ") : NULL;
    const char *name = file ? strstr(file, field) : NULL;
    return e->status == STATUS_USER && name && end && name < end;
}

/* Whether 'spec' is what comes of the config with this value of the field. */
static bool same_with(Trial *t, const char *config, const char *field, const char *value,
                      const char *spec) {
    Error e;
    char *other = spec_with(t, config, field, value, &e);
    bool same = other && !strcmp(other, spec);
    free(other);
    return same;
}

static const char no_word[] = "\"a word that no field takes\"";

/* Whether the spec with null is what null says; 'value': the class's own. */
static bool is_null(Trial *t, const char *config, const char *field, bool taken, const char *value,
                    const char *spec) {
    if (same_with(t, config, field, no_word, spec)) return true;
    if (!taken) return false;
    if (!strcmp(value, "true") || !strcmp(value, "false"))
        return same_with(t, config, field, "false", spec);
    if (!strcmp(value, "null")) return true; /* check_field compares it */
    for (size_t i = 0; i < sizeof switched_off / sizeof *switched_off; i++)
        if (!strcmp(field, switched_off[i].field)) return !strstr(spec, switched_off[i].word);
    return false;
}

/* Whether null makes another model, which these tensors are not of. */
static bool contradicts(const Error *e, const char *field) {
    return strstr(e->text, ": expected a tensor '")
        || (strstr(e->text, "/config.json: ") && strstr(e->text, field));
}

static bool check_null(Trial *t, const char *config, const char *field, bool taken,
                       const char *value) {
    Error e;
    char *spec = spec_with(t, config, field, "null", &e);
    bool right = spec ? is_null(t, config, field, taken, value, spec)
                      : refuses(&e, field) || (taken && contradicts(&e, field));
    if (!right)
        print_error("%s = null (%s, of itself %s): %s\n", field, taken ? "taken" : "not taken",
                    value, spec ? spec : e.text);
    free(spec);
    return right;
}

/* == Values of other types ================================================ */

typedef enum Type { NUMBER, WORD, FLAG, OTHER } Type;

/* Of the value that a class gives; OTHER: null, lists and objects. */
static Type type_of(const char *value) {
    if (*value == '"') return WORD;
    if (*value == 't' || *value == 'f') return FLAG;
    return strchr("-0123456789", *value) ? NUMBER : OTHER;
}

/* Whether no value is one of a class's field by mistake: each of another type is refused, unless
** nothing computes with the field; a number out of range, too, or it makes a spec of numbers. */
static bool check_types(Trial *t, const char *config, const char *field, const char *value) {
    static const struct {
        Type type;
        const char *text;
    } others[] = { { WORD, "\"4\"" },
                   { WORD, "\"\"" },
                   { OTHER, "[1]" },
                   { OTHER, "[]" },
                   { OTHER, "{\"a\": 1}" },
                   { FLAG, "true" },
                   { NUMBER, "-1" },
                   { NUMBER, "0" },
                   { NUMBER, "2.5" },
                   { NUMBER, "1e300" },
                   { NUMBER, "9223372036854775807" } };
    Type own = type_of(value);
    bool right = true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        Error e;
        char *spec = spec_with(t, config, field, others[i].text, &e);
        bool fits = own == OTHER || own == others[i].type;
        bool good = spec ? !strstr(spec, "nan") && !strstr(spec, "inf")
                && (fits || same_with(t, config, field, no_word, spec))
                         : is_clear(&e);
        if (!good)
            print_error("%s = %s, of itself %s: %s\n", field, others[i].text, value,
                        spec ? spec : e.text);
        right = right && good;
        free(spec);
    }
    return right;
}

/* == Fields that no class has ============================================= */

static const char *const no_text[] = { "vision_config", "audio_config" };

/* Whether the object at 'at' is, or is in, one of 'no_text'. */
static bool is_other(const char *config, const char *at) {
    char name[64];
    for (size_t i = 0; i < sizeof no_text / sizeof *no_text; i++) {
        print_text(name, sizeof name, "\n  \"%s\": {", no_text[i]);
        const char *begin = strstr(config, name);
        const char *end = begin ? strstr(begin, "\n  }") : NULL;
        if (begin && at > begin && at < end) return true;
    }
    return false;
}

/* Whether the importer names what was put into config.json. */
static bool check_refused(Trial *t, const char *found, const char *what) {
    Error e;
    char *spec = spec_of(t, &e);
    bool right = !spec && refuses(&e, "no_such_field") && strstr(e.text, found)
        && strstr(e.text, "one that is without effect may be removed");
    if (!right) print_error("%s: %s\n", what, spec ? spec : e.text);
    free(spec);
    return right;
}

/* In each object that is there; how many were not refused. */
static int check_invented(Trial *t, const char *config) {
    static const char *const values[] = { "7", "null", "\"seven\"", "true", "[7]" };
    static const char *const shown[] = { "found the number 7", "found null",
                                         "found the string 'seven'", "found true", "found a list" };
    int wrong = 0, tried = 0;
    for (const char *at = config; (at = strchr(at, '{')); at++) {
        if (is_other(config, at)) continue;
        for (size_t i = 0; i < sizeof values / sizeof *values; i++, tried++) {
            print_text(t->text, sizeof t->text, "%.*s\"no_such_field\": %s,%s",
                       (int)(at + 1 - config), config, values[i], at + 1);
            wrong += !check_refused(t, shown[i], values[i]);
        }
    }
    assert_true(tried > 0);
    return wrong;
}

/* In objects that come where the checkpoint has none, or another. */
static int check_invented_object(Trial *t, const char *config) {
    static const char *const names[] = { "rope_scaling",   "rope_parameters",
                                         "compress_rates", "linear_attn_config",
                                         "text_config",    "quantization_config" };
    static const char *const values[] = {
        "{\"no_such_field\": 7}", "{\"rope_type\": \"default\", \"no_such_field\": 7}",
        "{\"full_attention\": {\"no_such_field\": 7}}",
        "{\"rope_type\": \"yarn\", \"factor\": 2.0, \"no_such_field\": 7}"
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            Error e;
            char *spec = spec_with(t, config, names[i], values[k], &e);
            bool right = !spec
                && (refuses(&e, "no_such_field") || refuses(&e, names[i])
                    || strstr(e.text, ", found"));
            if (!right) print_error("%s = %s: %s\n", names[i], values[k], spec ? spec : e.text);
            wrong += !right;
            free(spec);
        }
    return wrong;
}

/* == An architecture ====================================================== */

static void check_importer(const char *name) {
    char path[1024], kind[64], field[64], taken[8], value[512];
    size_t n, prefix = strlen(name);
    static Trial t;
    Error e = { 0 };
    print_text(path, sizeof path, SOURCE_DIR "/tests/checkpoints/%s", name);
    if (folder_load(&t.folder, path, &e)) fail_msg("%s", e.text);
    print_text(path, sizeof path, SOURCE_DIR "/tests/checkpoints/%s/config.json", name);
    char *config = scratch_read(path, &n);
    char *list = scratch_read(SOURCE_DIR "/tests/spec/import_defaults.txt", &n);
    assert_non_null(config);
    assert_non_null(list);
    t.front = importer_open();
    int alike = 0, wrong = 0;
    for (char *line = list; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, prefix) || line[prefix] != ' ') continue;
        assert_int_equal(sscanf(line, "%63s %63s %7s %511[^\n]", kind, field, taken, value), 4);
        wrong += !check_field(&t, config, field, value, &alike);
        wrong += !check_types(&t, config, field, value);
        wrong += !check_null(&t, config, field, !strcmp(taken, "null"), value);
    }
    wrong += check_invented(&t, config) + check_invented_object(&t, config);
    assert_true(alike > 0);
    assert_int_equal(wrong, 0);
    importer_close(t.front);
    folder_free(&t.folder);
    free(config);
    free(list);
}

/* == An importer and its class ============================================ */

/* The line with which an importer of these fields fails for the folder of llama. */
static void check_class(void **state, const char *fields, const char *expected) {
    char path[SCRATCH_PATH], text[512];
    static Trial t;
    Error e = { 0 };
    Json config = { 0 };
    Imported made;
    size_t n;
    scratch_path(state, "own.lua", path);
    print_text(text, sizeof text,
               "local common, class = builtin 'common', builtin 'class'\n"
               "return function(config) class.fields('llama', config, %s) end\n",
               fields);
    scratch_write(path, text, strlen(text));
    if (folder_load(&t.folder, SOURCE_DIR "/tests/checkpoints/llama", &e)) fail_msg("%s", e.text);
    char *given = scratch_read(SOURCE_DIR "/tests/checkpoints/llama/config.json", &n);
    assert_int_equal(json_parse(&config, "config.json", given, n, FOLDER_CONFIG_VALUES, &e), 0);
    t.front = importer_open();
    const ImportRequest r = {
        .folder = &t.folder, .config = &config, .name = "m", .importer = path
    };
    assert_int_not_equal(importer_ask(t.front, &r, &made, &e), 0);
    if (!strstr(e.text, expected)) fail_msg("%s", e.text);
    importer_close(t.front);
    json_free(&config);
    folder_free(&t.folder);
    free(given);
}

static void test_class(void **state) {
    check_class(state, "common.known { clip_qkv = common.no, window = common.no }",
                "expected to read fields of its class (classes.lua), or listed beside them, found "
                "clip_qkv, window");
    check_class(state, "common.known { mlp_bias = false, attention_bias = false }",
                "expected each field of its class to be read, or listed as without effect, found "
                "attention_bias, mlp_bias");
    check_class(state, "common.known {}, {}, { 'clip_qkv', 'mlp_bias' }",
                "expected only fields beside its class that it reads and the class has not, found "
                "clip_qkv, mlp_bias");
}

#define CASE(name)                          \
    static void test_##name(void **state) { \
        (void)state;                        \
        check_importer(#name);              \
    }
#include "import_cases.def"

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class),
#define CASE(name) cmocka_unit_test(test_##name),
#include "import_cases.def"
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
