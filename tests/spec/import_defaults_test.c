/* SPDX-License-Identifier: MIT
** What config.json leaves out is what transformers' configuration class gives it.  The small
** checkpoint of each architecture, for each field of its class (import_defaults.txt, which
** tests/interop/classes.py writes): without the field, and with the class's value, which null is
** where the class has none of its own, the importer makes the same spec; or it requires the field
** by name; or neither fits the checkpoint's tensors.
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
    bool right = same || (!left && requires(&without, field)) || (!left && !given);
    if (!right)
        print_error("%s: left out: %s\nas %s: %s\n", field, left ? left : without.text, value,
                    given ? given : with.text);
    free(left);
    free(given);
    return right;
}

/* == An architecture ====================================================== */

static void check_importer(const char *name) {
    char path[1024], kind[64], field[64], value[512];
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
        assert_int_equal(sscanf(line, "%63s %63s %511[^\n]", kind, field, value), 3);
        wrong += !check_field(&t, config, field, value, &alike);
    }
    assert_true(alike > 0);
    assert_int_equal(wrong, 0);
    importer_close(t.front);
    folder_free(&t.folder);
    free(config);
    free(list);
}

#define CASE(name)                          \
    static void test_##name(void **state) { \
        (void)state;                        \
        check_importer(#name);              \
    }
#include "import_cases.def"

int main(void) {
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test(test_##name),
#include "import_cases.def"
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
