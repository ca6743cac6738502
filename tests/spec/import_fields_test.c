/* SPDX-License-Identifier: MIT
** strata import of config.json with values that no model has.  Of the small checkpoint of each
** architecture every value, at any depth, becomes each of a list; goes; and fields of others come.
** What comes of it is files, or one line that names config.json and the field, or the tensor that
** it contradicts.  A part of them is a test; every one, and of one architecture:
**   IMPORT_EVERY=1 IMPORT_OF=llama build/tests/import_fields_test
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "scratch.h"
#include "json.h"

/* == What import asks of strata's main program ============================ */

void show_line(FILE *f, const char *before, const char *text, const char *after) {
    (void)f, (void)before, (void)text, (void)after;
}

/* == Values =============================================================== */

static const char *const hostile[] = {
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1",
    "2",
    "3",
    "2.5",
    "-0.0",
    "1e-320",
    "-1e300",
    "1e999",
    "NaN",
    "65537",
    "1048577",
    "2147483647",
    "1099511627776",
    "9223372036854775807",
    "18446744073709551616",
    "1e30",
    "\"\"",
    "\"x\"",
    "\"4\"",
    "\"\\u0000\"",
    "\"full_attention\"",
    "\"\\u001b[2J\\n\"",
    "[]",
    "[0]",
    "[null]",
    "[1, 1, 1]",
    "[1.5, -1]",
    "[[[[]]]]",
    "[\"full_attention\"]",
    "{}",
    "{\"a\": 1}",
    "{\"rope_type\": \"yarn\", \"factor\": 0.5}",
    "{\"rope_type\": \"linear\", \"rope_theta\": 1e308, \"factor\": 1e-308}",
};
enum { VALUES = sizeof hostile / sizeof *hostile };
/* What is made of the number or list that is there, and that it goes. */
typedef enum Change { ONE_MORE, ONE_LESS, TWICE, HALF, LONGER, SHORTER, GONE, CHANGES } Change;

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
                                      "max_window_layers" };
enum { OTHERS = sizeof others / sizeof *others };

/* == Values of a JSON text that is valid ================================== */

/* Bytes [begin, end) of one; 'member': where "NAME": begins, or its own beginning. */
typedef struct Value {
    size_t member, begin, end;
    char name[64]; /* of the innermost member that it is, or is in */
} Value;

typedef struct Values {
    const char *text;
    size_t at;
    Value list[512];
    int count;
} Values;

static void blanks(Values *s) { s->at += strspn(s->text + s->at, " \t\r\n"); }

static void skip_string(Values *s) {
    for (s->at++; s->text[s->at] != '"'; s->at++)
        if (s->text[s->at] == '\\') s->at++;
    s->at++;
}

static void scan_value(Values *s, size_t member, const char *name);

/* Members of an object, elements of a list. */
static void scan_box(Values *s, bool object, const char *name) {
    for (s->at++, blanks(s); !strchr("]}", s->text[s->at]); blanks(s)) {
        char own[64];
        size_t member = s->at;
        print_text(own, sizeof own, "%s", name);
        if (object) {
            skip_string(s);
            print_text(own, sizeof own, "%.*s", (int)(s->at - member) - 2, s->text + member + 1);
            blanks(s);
            s->at++;
            blanks(s);
        }
        scan_value(s, member, own);
        blanks(s);
        s->at += s->text[s->at] == ',';
    }
    s->at++;
}

static void scan_value(Values *s, size_t member, const char *name) {
    assert_true(s->count < (int)(sizeof s->list / sizeof *s->list));
    Value *x = &s->list[s->count++];
    *x = (Value){ .member = member, .begin = s->at };
    print_text(x->name, sizeof x->name, "%s", name);
    if (strchr("{[", s->text[s->at])) scan_box(s, s->text[s->at] == '{', name);
    else if (s->text[s->at] == '"') skip_string(s);
    else s->at += strcspn(s->text + s->at, ",]} \t\r\n");
    x->end = s->at;
}

/* == One import =========================================================== */

typedef struct Sweep {
    void **state;
    const char *name;
    char folder[SCRATCH_PATH], config[SCRATCH_PATH], out[SCRATCH_PATH];
    char long_text[20000];
    long every, tried, written, refused, bad, number;
} Sweep;

/* Texts of the value that was there and that comes. */
typedef struct Edit {
    const char *field, *before, *after;
} Edit;

static int import(const Sweep *s, Error *e) {
    char *argv[] = { "import", (char *)(size_t)s->folder, "-o", (char *)(size_t)s->out, NULL };
    Options o;
    assert_int_equal(options_parse(&o, &strata_options, 4, argv, e), 0);
    int status = command_import(&o, e);
    options_free(&o);
    return status;
}

/* Whether the line names the field that changed, or one that went or came with it. */
static bool names_field(const char *line, const char *field, const char *before,
                        const char *after) {
    char name[64], quoted[80];
    if (strstr(line, field)) return true;
    const char *end = strstr(line, ": expected ");
    const char *begin = end;
    while (begin > line && !strchr(". ", begin[-1]))
        begin--;
    print_text(name, sizeof name, "%.*s", (int)(end - begin), begin);
    print_text(quoted, sizeof quoted, "\"%s\"", name);
    return strstr(before, quoted) || strstr(after, quoted);
}

/* Whether it is what a user can do something with. */
static bool is_clear(const Sweep *s, int status, const Error *e, const Edit *x) {
    size_t n = strlen(s->folder);
    const char *text = e->text;
    if (status != STATUS_USER || strchr(text, '\n') || strncmp(text, s->folder, n)) return false;
    if (!strstr(text, ": expected ") || !strstr(text, ", found ")) return false;
    if (!strncmp(text + n, "/config.json:byte ", 18)) return true; /* no JSON */
    if (!strncmp(text + n, "/config.json: ", 14))
        return names_field(text + n, x->field, x->before, x->after);
    return strstr(text + n, ".safetensors:") || strstr(text + n, ": expected a tensor '");
}

static void try_text(Sweep *s, const Text *config, const Edit *x) {
    Error e = { 0 };
    if (s->number++ % s->every) return;
    scratch_write(s->config, config->at, config->length);
    int status = import(s, &e);
    s->tried++;
    if (!status) s->written++;
    else s->refused++;
    if (!status || is_clear(s, status, &e, x)) return;
    s->bad++;
    print_error("%s: %s: %s: status %d, %s\n", s->name, x->field,
                *x->after ? strlen(x->after) < 300 ? x->after : "a long string" : "gone", status,
                e.text);
}

/* == Changes ============================================================== */

/* The text with other bytes in the place of [from, to). */
static void splice(Sweep *s, const char *text, size_t from, size_t to, const char *value,
                   const char *field) {
    Text t = { 0 }, before = { 0 };
    text_bytes(&before, text + from, to - from);
    text_bytes(&t, text, from);
    text_bytes(&t, value, strlen(value));
    text_add(&t, "%s", text + to);
    try_text(s, &t, &(Edit){ field, before.length ? before.at : "", value });
    text_free(&before);
    text_free(&t);
}

/* A member or an element, and a comma, go. */
static void remove_span(Sweep *s, const char *text, const Value *x) {
    size_t from = x->member, to = x->end + strspn(text + x->end, " \t\r\n");
    if (text[to] == ',') to++;
    else
        while (from && strchr(" \t\r\n,", text[from - 1]))
            from--;
    splice(s, text, from, to, "", x->name);
}

/* A list or an object without its last element, or with that twice. */
static void change_list(Sweep *s, const Values *all, const Value *x, bool longer) {
    const Value *last = NULL;
    for (const Value *y = x + 1; y < all->list + all->count && y->end < x->end; y++)
        if (!last || y->begin > last->end) last = y;
    if (all->text[x->begin] != '[' || !last) return;
    if (!longer) return remove_span(s, all->text, last);
    char value[256];
    print_text(value, sizeof value, ", %.*s", (int)(last->end - last->begin),
               all->text + last->begin);
    splice(s, all->text, last->end, last->end, value, x->name);
}

static void change_number(Sweep *s, const Values *all, const Value *x, Change change) {
    char value[64], *end;
    double v = strtod(all->text + x->begin, &end);
    if (end != all->text + x->end || !strchr("-0123456789", all->text[x->begin])) return;
    double made[] = { v + 1, v - 1, 2 * v, v / 2 };
    print_text(value, sizeof value, "%.17g", made[change]);
    splice(s, all->text, x->begin, x->end, value, x->name);
}

/* A string that is longer than those of Lua may be. */
static const char *long_text(char *text, size_t size) {
    memset(text, 'x', size);
    text[0] = text[size - 2] = '"';
    text[size - 1] = 0;
    return text;
}

static void change_span(Sweep *s, const Values *all, const Value *x) {
    for (int i = 0; i < VALUES; i++)
        splice(s, all->text, x->begin, x->end, hostile[i], x->name);
    for (Change c = ONE_MORE; c <= HALF; c++)
        change_number(s, all, x, c);
    change_list(s, all, x, true);
    change_list(s, all, x, false);
    if (x->member) remove_span(s, all->text, x);
    splice(s, all->text, x->begin, x->end, long_text(s->long_text, sizeof s->long_text), x->name);
}

static void add_fields(Sweep *s, const Values *all) {
    char value[256], quoted[80];
    for (int k = 0; k < OTHERS; k++) {
        print_text(quoted, sizeof quoted, "\"%s\":", others[k]);
        if (strstr(all->text, quoted)) continue;
        for (int i = 0; i < VALUES; i++) {
            print_text(value, sizeof value, "%s %s, ", quoted, hostile[i]);
            splice(s, all->text, 1, 1, value, others[k]);
        }
    }
}

/* == An architecture ====================================================== */

static void copy_file(const char *from, const char *to) {
    size_t n;
    char *bytes = scratch_read(from, &n);
    if (!bytes) return;
    scratch_write(to, bytes, n);
    free(bytes);
}

/* The folder of a checkpoint, as links to all but its config.json. */
static char *begin(Sweep *s) {
    static const char *const files[] = { "model.safetensors", "model.safetensors.index.json",
                                         "model-00001-of-00002.safetensors",
                                         "model-00002-of-00002.safetensors" };
    char from[1024], to[SCRATCH_PATH + 64];
    size_t n;
    scratch_empty(s->state);
    scratch_path(s->state, "hf", s->folder);
    scratch_path(s->state, "hf/config.json", s->config);
    scratch_path(s->state, "out", s->out);
    assert_int_equal(mkdir(s->folder, 0700), 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        print_text(from, sizeof from, SOURCE_DIR "/tests/checkpoints/%s/%s", s->name, files[i]);
        print_text(to, sizeof to, "%s/%s", s->folder, files[i]);
        copy_file(from, to);
    }
    print_text(from, sizeof from, SOURCE_DIR "/tests/checkpoints/%s/config.json", s->name);
    char *text = scratch_read(from, &n);
    assert_non_null(text);
    return text;
}

static void sweep(void **state, const char *name) {
    const char *wanted = getenv("IMPORT_OF"), *every = getenv("IMPORT_EVERY");
    static Values spans;
    Sweep s = { .state = state, .name = name, .every = every ? atol(every) : 97 };
    if (wanted && strcmp(wanted, name) != 0) return;
    char *text = begin(&s);
    spans = (Values){ .text = text };
    scan_value(&spans, 0, "config.json");
    for (int i = 0; i < spans.count; i++)
        change_span(&s, &spans, &spans.list[i]);
    add_fields(&s, &spans);
    free(text);
    if (every)
        print_message("%s: %ld tried, %ld written, %ld refused, %ld badly\n", name, s.tried,
                      s.written, s.refused, s.bad);
    assert_true(s.written && s.refused); /* both sides of the checks */
    assert_int_equal(s.bad, 0);
}

#define CASE(name) \
    static void test_##name(void **state) { sweep(state, #name); }
#include "import_cases.def"

int main(void) {
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test(test_##name),
#include "import_cases.def"
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
