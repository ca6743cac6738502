/*
** What a program's 'probe' says of routes is what the model's graph says in the float64
** interpreter: which tokens each takes, none and all among them, and how large the outputs
** of layers are at those; as text, as JSON and on the page, whatever the text is.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "page_check.h"
#include "../../runtime/commands/probe/probe.h" /* not the one beside */
#include "program_run.h"
#include "safetensors.h"
#include "spec.h"

enum { CONTEXT = 26, WIDTH = 16, NODES = 1 << 16, LAYERS = 5 };

/* == Programs ============================================================= */

static Folder folder;

/* Marks, an escape, a character of two tokens and a line break. */
/* CONTEXT tokens and one more */
static const char text[] = "to <b>&\"be\033[31m or\n not\xc3\xa9 to";

static const char shape[] = "return model { name = '%s', vocab = 256, context = 26, dim = 16, "
                            "tokenizer = 'bytes', norm = rmsnorm {}, residual = %s,\n"
                            "  route_penalty = 0.01, train = { optimizer = adamw { lr = 1e-2 } },\n"
                            "  layers = { one(), one(%s), one(%s), one(%s), one(%s) } }\n";
static const char one[] = "local function one(r) return layer { attention { heads = 2, rope = {} "
                          "}, mlp { hidden = 24 }, route = r } end\n";

/* It makes a list that nothing reads, too. */
static const char own[] =
    "return route { run = function(r, site, x, body)\n"
    "  local z = reshape(r:linear(site, 'router', x, 1, true), {})\n"
    "  rows(step(z - 1))\n"
    "  local list = rows(step(z))\n"
    "  local part = gather(x, list)\n"
    "  return x + reshape(sigmoid(z), { 1 }) * scatter(body(part) - part, list)\n"
    "end }\n";

/* It takes no token at all. */
static const char never[] =
    "return route { run = function(r, site, x, body)\n"
    "  local list = rows(step(reshape(r:linear(site, 'router', x, 1, true), {}) - 1000))\n"
    "  local part = gather(x, list)\n"
    "  return x + scatter(body(part) - part, list)\n"
    "end }\n";

typedef struct Kind {
    const char *name, *residual, *route[LAYERS - 1];
} Kind;

static const Kind kinds[] = {
    { "mixed",
      "haares { blocks = 2 }",
      { "dtr {}", "dtr { choice = 'skip' }", "dtr { choice = 'expert', capacity = 1 }",
        "dtr { bypass = 'none' }" } },
    { "whole",
      "standard {}",
      { "mod { capacity = 0.4 }", "mod { capacity = 1 }", "dllm { hidden = 6, reserve = 1 }",
        "require 'own' {}" } },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Gates of sublayers that work on no token. */
static const Kind gated = { "gated",
                            "highway {}",
                            { "require 'never' {}", "dtr {}", "dtr {}", "dtr {}" } };

static void run(const char *words) { folder_shell(&folder, words); }

static void build(const Kind *k) {
    char spec[2000], file[64], words[256];
    int n = snprintf(spec, sizeof spec, "%s", one);
    n += snprintf(spec + n, sizeof spec - (size_t)n, shape, k->name, k->residual, k->route[0],
                  k->route[1], k->route[2], k->route[3]);
    snprintf(file, sizeof file, "%s.lua", k->name);
    folder_write(&folder, file, spec, (size_t)n);
    snprintf(words, sizeof words, "strata build %s", file);
    run(words);
    snprintf(words, sizeof words, "./%s train --data text --steps 0 --out %s.st", k->name, k->name);
    run(words);
}

static int open_folder(void **state) {
    (void)state;
    folder_open(&folder);
    folder_write(&folder, "text", text, sizeof text - 1);
    folder_write(&folder, "own.lua", own, sizeof own - 1);
    folder_write(&folder, "never.lua", never, sizeof never - 1);
    for (int i = 0; i < KINDS; i++)
        build(&kinds[i]);
    build(&gated);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

/* == The interpreter ====================================================== */

typedef struct Loaded {
    Model *m;
    Safetensors file;
    double *own[NODES];
    Eval *ev;
} Loaded;

static const double *loaded_value(void *user, const Node *p) {
    Loaded *x = user;
    Error e = { 0 };
    const Tensor *t = safetensors_find(&x->file, p->attr.name);
    if (!t) fail_msg("no tensor %s", p->attr.name);
    if (!x->own[p->id]) {
        x->own[p->id] = malloc((size_t)t->count * sizeof(double));
        assert_int_equal(safetensors_read_f64(&x->file, t, x->own[p->id], &e), 0);
    }
    return x->own[p->id];
}

static Loaded *loaded_open(const Kind *k) {
    static int32_t token[CONTEXT], target[CONTEXT];
    Loaded *x = calloc(1, sizeof *x);
    char path[256];
    Error error;
    Error e = { 0 };
    for (int i = 0; i < CONTEXT; i++)
        token[i] = (unsigned char)text[i], target[i] = (unsigned char)text[i + 1];
    snprintf(path, sizeof path, "%s/%s.lua", folder.path, k->name);
    x->m = spec_load(path, NULL, &error);
    if (!x->m) fail_msg("%s", error.text);
    snprintf(path, sizeof path, "%s/%s.st", folder.path, k->name);
    assert_int_equal(safetensors_open(&x->file, path, &e), 0);
    x->ev = eval_new(x->m->graph,
                     &(EvalInput){ .batch = 1,
                                   .time = CONTEXT,
                                   .tokens = token,
                                   .targets = target,
                                   .param = loaded_value,
                                   .user = x,
                                   .seed = 1,
                                   .keep = true });
    return x;
}

static void loaded_close(Loaded *x) {
    for (int i = 0; i < NODES; i++)
        free(x->own[i]);
    eval_free(x->ev);
    spec_free(x->m);
    safetensors_close(&x->file);
    free(x);
}

/* Does a list have the token? */
static bool takes(const Loaded *x, int list, int token) {
    return !list || eval_value(x->ev, graph_list(x->m->graph, list)->in[0])[token] > 0;
}

/* A sublayer's output at a token, [WIDTH]; NULL: it has none. */
static const double *output_at(const Loaded *x, int source, int token) {
    const Node *n = x->m->source[source];
    int row = 0;
    if (!takes(x, n->shape.list, token)) return NULL;
    for (int t = 0; t < token; t++)
        row += takes(x, n->shape.list, t);
    return eval_value(x->ev, n) + row * WIDTH;
}

/* Outputs of the sublayers from 'first' on, 'count' of them, at a token, added up; false: they have
** none. */
static bool sum_at(const Loaded *x, int first, int count, int token, double *sum) {
    memset(sum, 0, WIDTH * sizeof *sum);
    for (int s = first; s < first + count; s++) {
        const double *y = output_at(x, s, token);
        if (!y) return false;
        for (int i = 0; i < WIDTH; i++)
            sum[i] += y[i];
    }
    return true;
}

static double dot(const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Root mean square over the tokens that list 'of' has ('not': has not) and the outputs are there
** for. */
static double rms_of(const Loaded *x, int first, int count, int of, bool not) {
    double sum = 0, y[WIDTH];
    int tokens = 0;
    for (int t = 0; t < CONTEXT; t++) {
        if (takes(x, of, t) == not) continue;
        bool there = sum_at(x, first, count, t, y);
        if (there) sum += dot(y, y) / WIDTH;
        tokens += there || of;
    }
    return sqrt(sum / tokens);
}

static double cosine_of(const Loaded *x, int a, int b) {
    double sum = 0, y[WIDTH], z[WIDTH];
    int tokens = 0;
    for (int t = 0; t < CONTEXT; t++) {
        if (!sum_at(x, 1 + 2 * a, 2, t, y) || !sum_at(x, 1 + 2 * b, 2, t, z)) continue;
        sum += dot(y, z) / sqrt(dot(y, y) * dot(z, z));
        tokens++;
    }
    return sum / tokens;
}

/* == JSON ================================================================= */

static const JsonNode *item(const Json *j, const JsonNode *list, int index) {
    const JsonNode *n = list ? json_first(j, list) : NULL;
    while (n && index--)
        n = json_next(j, n);
    if (!n) fail_msg("expected more items");
    return n;
}

/* null is not a number, which is right where one is expected. */
static void expect(const JsonNode *n, double expected, const char *what, int index) {
    double found = NAN;
    if (!n) fail_msg("no %s %d", what, index);
    json_double(n, &found);
    if (isnan(expected) ? !isnan(found) : !(fabs(found - expected) <= 2e-6 + 1e-4 * fabs(expected)))
        fail_msg("%s %d: expected %.9g, found %.9g", what, index, expected, found);
}

static int route_at(const Json *j, const char *site) {
    const JsonNode *n = json_first(j, json_member(j, j->node, "routes"));
    for (int i = 0; n; n = json_next(j, n), i++)
        if (!strcmp(n->text, site)) return i;
    fail_msg("no route %s", site);
    return -1;
}

/* Where the route of a layer is: its name, list and first source. */
typedef struct Place {
    char site[64];
    int list, source, count;
} Place;

static Place place_of(const Loaded *x, const Json *j, int layer) {
    Place p = { .source = 1 + 2 * layer, .count = 1 };
    bool whole = !strcmp(x->m->name, "whole");
    snprintf(p.site, sizeof p.site, whole ? "layers.%d" : "layers.%d.attention", layer);
    if (whole) p.count = 2;
    p.list = 1 + route_at(j, p.site);
    return p;
}

static void check_route(const Loaded *x, const Json *j, int layer) {
    Place p = place_of(x, j, layer);
    int route = p.list - 1;
    double taken = 0;
    const JsonNode *tokens = json_member(j, j->node, "routed_tokens");
    assert_string_equal(item(j, json_member(j, tokens, "layers"), route)->text, p.site);
    for (int t = 0; t < CONTEXT; t++) {
        expect(item(j, item(j, json_member(j, tokens, "taken"), route), t), takes(x, p.list, t),
               "taken: token", t);
        taken += takes(x, p.list, t);
    }
    expect(item(j, json_member(j, j->node, "routed"), route), taken / CONTEXT, "share of layer",
           layer);
    expect(item(j, json_member(j, j->node, "routed_output_norm"), route),
           rms_of(x, p.source, p.count, p.list, false), "output taken, layer", layer);
    expect(item(j, json_member(j, j->node, "bypassed_output_norm"), route),
           rms_of(x, p.source, p.count, p.list, true), "output of others, layer", layer);
}

static void check_averages(const Loaded *x, const Json *j) {
    for (int s = 1; s < x->m->nsource; s++)
        expect(json_member(j, item(j, json_member(j, j->node, "sources"), s), "rms"),
               rms_of(x, s, 1, 0, false), "source", s);
    for (int a = 0; a < LAYERS; a++) {
        expect(item(j, json_member(j, j->node, "output_norm"), a),
               rms_of(x, 1 + 2 * a, 2, 0, false), "layer", a);
        for (int b = 0; b < LAYERS; b++)
            expect(item(j, item(j, json_member(j, j->node, "layer_similarity"), a), b),
                   cosine_of(x, a, b), "similarity of", 10 * a + b);
    }
}

static void check_text(const Json *j) {
    char all[CONTEXT * DECODER_OUT] = "";
    const JsonNode *tokens = json_member(j, j->node, "routed_tokens");
    for (int t = 0; t < CONTEXT; t++) {
        expect(item(j, json_member(j, tokens, "tokens"), t), (unsigned char)text[t], "token", t);
        strcat(all, item(j, json_member(j, tokens, "text"), t)->text);
    }
    assert_true(strlen(all) == CONTEXT && !memcmp(all, text, CONTEXT));
}

static void probe(const Kind *k, Json *j) {
    char words[256];
    size_t length;
    Error e = { 0 };
    snprintf(words, sizeof words, "./%s probe --weights %s.st --data text --json -o page.html",
             k->name, k->name);
    run(words);
    char *out = folder_read(&folder, "out", &length);
    if (json_parse(j, "out", out, length, 100000, &e)) fail_msg("%s", e.text);
    free(out);
}

static void a_program_says_what_routes_do(void **state) {
    (void)state;
    double most = 0, least = 1;
    for (int i = 0; i < KINDS; i++) {
        Json j = { 0 };
        Loaded *x = loaded_open(&kinds[i]);
        probe(&kinds[i], &j);
        for (int layer = 1; layer < LAYERS; layer++)
            check_route(x, &j, layer);
        check_averages(x, &j);
        check_text(&j);
        for (int r = 0; r < 4; r++) {
            double share;
            assert_true(json_double(item(&j, json_member(&j, j.node, "routed"), r), &share));
            most = fmax(most, share), least = fmin(least, share);
        }
        json_free(&j);
        loaded_close(x);
    }
    assert_true(least == 0 && most == 1);
}

/* Two windows a call, of which the first is shown; what dtr decides does not depend on what comes
** later. */
static void the_first_window_is_shown(void **state) {
    (void)state;
    size_t length;
    Json j = { 0 };
    Error e = { 0 };
    Loaded *x = loaded_open(&kinds[0]);
    run("./mixed probe --weights mixed.st --data text --json --length 10 --tokens 20");
    char *out = folder_read(&folder, "out", &length);
    if (json_parse(&j, "out", out, length, 100000, &e)) fail_msg("%s", e.text);
    assert_true(json_member(&j, json_member(&j, j.node, "routed_tokens"), "tokens")->count == 10);
    for (int layer = 1; layer < LAYERS; layer++) {
        Place p = place_of(x, &j, layer);
        const JsonNode *taken = item(
            &j, json_member(&j, json_member(&j, j.node, "routed_tokens"), "taken"), p.list - 1);
        for (int t = 0; t < 10; t++)
            expect(item(&j, taken, t), takes(x, p.list, t), "taken: token", t);
    }
    json_free(&j);
    free(out);
    loaded_close(x);
}

/* == For people =========================================================== */

static void a_page_shows_the_passage(void **state) {
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        Json j = { 0 };
        char words[256];
        probe(&kinds[i], &j);
        json_free(&j);
        char *page = folder_read(&folder, "page.html", NULL);
        page_check_tags(page);
        assert_int_equal(page_count(page, "<span class=\"t"), CONTEXT);
        assert_non_null(strstr(page, ">&lt;</span>"));
        assert_null(strchr(page, '\033'));
        assert_non_null(strstr(page, "\\x1b"));
        assert_non_null(strstr(page, "Depth mixing"));
        assert_non_null(strstr(page,
                               i ? "<title>layers.2: 26 of 26 tokens</title>"
                                 : "<title>layers.2.attention: 0 of 26 tokens</title>"));
        free(page);
        snprintf(words, sizeof words,
                 "./%s probe --weights %s.st --before %s.st --data text -o page.html",
                 kinds[i].name, kinds[i].name, kinds[i].name);
        run(words);
        page = folder_read(&folder, "page.html", NULL);
        page_check_tags(page);
        assert_int_equal(page_count(page, "<span class=\"t"), 2 * CONTEXT);
        free(page);
    }
}

static void what_was_not_measured_is_no_number(void **state) {
    (void)state;
    Json j = { 0 };
    int none = 0;
    probe(&gated, &j);
    for (const JsonNode *g = json_first(&j, json_member(&j, j.node, "gates")); g;
         g = json_next(&j, g)) {
        bool never_runs = !strncmp(json_member(&j, g, "site")->text, "layers.1.", 9);
        none += never_runs;
        assert_int_equal(json_member(&j, g, "mean")->type, never_runs ? JSON_NULL : JSON_NUMBER);
        assert_int_equal(json_member(&j, g, "deviation")->type,
                         never_runs ? JSON_NULL : JSON_NUMBER);
    }
    assert_int_equal(none, 2);
    json_free(&j);
    run("./gated probe --weights gated.st --before gated.st --data text -o page.html");
    char *page = folder_read(&folder, "page.html", NULL);
    page_check_tags(page);
    assert_null(strstr(page, "nan"));
    assert_int_equal(page_count(page,
                                "</th><td>\xe2\x80\x93</td><td>\xe2\x80\x93</td><td>\xe2\x80\x93</"
                                "td><td>\xe2\x80\x93</td>"),
                     none);
    free(page);
}

static int fails; /* which allocation of a text from now on does; 0: none */

void *__real_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size) {
    return fails && !--fails ? NULL : __real_realloc(at, size);
}

/* Two routes of a text that is made by hand. */
typedef struct Shown {
    strata_model m;
    uint32_t route[2];
    char site[2][24];
} Shown;

static void in_plain(const Probe *x, Text *t) { probe_print_passage(x, false, t); }
static void in_colours(const Probe *x, Text *t) { probe_print_passage(x, true, t); }
static void on_page(const Probe *x, Text *t) { probe_page_passage(x, "passage", t); }

static char *shown(const int32_t *ids, int count, uint8_t *taken,
                   void (*show)(const Probe *, Text *)) {
    static Shown s = { .site = { "layers.1.attention", "layers.2" } };
    Tokenizer bytes = { .kind = &tokenizer_bytes, .ids = 256 };
    ProbeText p = { .tokens = (int32_t *)ids, .count = 1, .length = count };
    Probe x = { .m = &s.m, .text = &p, .routes = 2, .taken = taken };
    Error e = { 0 };
    Text t = { 0 };
    s.m.routed_table = offsetof(Shown, route);
    for (int i = 0; i < 2; i++)
        s.route[i] = (uint32_t)(offsetof(Shown, site) + (size_t)i * sizeof s.site[0]);
    assert_int_equal(probe_passage(&p, &bytes, 100, &e), 0);
    show(&x, &t);
    free(p.piece);
    if (t.failed) text_free(&t);
    return t.at;
}

static void the_terminal_shows_the_passage(void **state) {
    (void)state;
    static const int32_t ids[] = { 'a', '\033', 0xc3, 0xa9, '\n', 0xff, 'z' };
    static uint8_t taken[] = { 0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0 };
    char *plain = shown(ids, 7, taken, in_plain), *colours = shown(ids, 7, taken, in_colours);
    assert_non_null(
        strstr(plain, "  a\\x1b\xc2\xb7\xc3\xa9\xe2\x86\xb5\n  01   021\n  \xef\xbf\xbdz\n  21\n"));
    assert_null(strchr(plain, '\033'));
    assert_non_null(
        strstr(colours, "\033[38;5;16;48;5;254ma\033[0m\033[38;5;16;48;5;216m\\x1b\033[0m"));
    assert_non_null(strstr(colours, "\033[38;5;16;48;5;202m\xc3\xa9\033[0m"));
    for (const char *c = colours; (c = strchr(c, '\033')); c++)
        assert_int_equal(c[1], '[');
    free(plain), free(colours);
    static const int32_t zero[] = { 'a', 0, 0xc3, '\n', 'b' };
    static uint8_t some[10] = { 1 };
    plain = shown(zero, 5, some, in_plain);
    /* byte 0 has a sign, what is unfinished another */
    assert_non_null(strstr(plain, "  a\xe2\x90\x80\xc2\xb7"));
    /* a line ends there even in the middle of a character */
    assert_non_null(strstr(plain, "\n  b\n"));
    char *page = shown(zero, 5, some, on_page);
    assert_int_equal(page_count(page, "</span><br>"), 1);
    free(plain), free(page);
}

static void long_lines_end(void **state) {
    (void)state;
    int32_t ids[100];
    uint8_t taken[200] = { 1 };
    for (int i = 0; i < 100; i++)
        ids[i] = 'x';
    char *plain = shown(ids, 100, taken, in_plain);
    assert_non_null(
        strstr(plain, "\n  xxxxxxxxxxxxxxxxxxxxxxxxxxxx\n  0000000000000000000000000000\n"));
    free(plain);
}

/* The passage is whole, or there is none, whichever allocation fails. */
static void memory_that_runs_out_is_told(void **state) {
    (void)state;
    int32_t ids[100];
    uint8_t taken[200] = { 1 };
    for (int i = 0; i < 100; i++)
        ids[i] = 'x';
    char *whole = shown(ids, 100, taken, in_colours);
    int n = 1;
    for (bool failed = true; failed; n++) {
        fails = n;
        char *part = shown(ids, 100, taken, in_colours);
        failed = !fails;
        fails = 0;
        if (failed) assert_null(part);
        else assert_string_equal(part, whole);
        free(part);
    }
    assert_true(n > 4); /* the whole, a line's text and its marks */
    free(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_says_what_routes_do),
        cmocka_unit_test(the_first_window_is_shown),
        cmocka_unit_test(a_page_shows_the_passage),
        cmocka_unit_test(what_was_not_measured_is_no_number),
        cmocka_unit_test(the_terminal_shows_the_passage),
        cmocka_unit_test(long_lines_end),
        cmocka_unit_test(memory_that_runs_out_is_told),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
