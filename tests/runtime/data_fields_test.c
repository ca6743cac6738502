/* SPDX-License-Identifier: MIT
** JSON lines with values that no data has: of documents with their field, and of the requests of
** score.  What comes of a line is a document, a request, or one line that names the file, the line
** and the field.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "data_words.h"
#include "documents.h"
#include "json_sweep.h"
#include "score.h"
#include "scratch.h"

/* Beside those of all. */
static const char *const values[] = {
    "\"a\"",
    "\" \\n\"",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\ud83d\\ude00\"",
    "\"\xff\"",
    "\"a\nb\"",
    "[\"a\", \"\"]",
    "[\"a\", [\"b\"]]",
    "[\"a\", {\"text\": \"b\"}]",
    "{\"text\": \"a\"}",
    "\"a\", \"text\": \"b\"",
    "\"a\", \"context\": \"b\"",
    "\"a\"} {\"text\": \"b\"",
    "\"a",
    NULL,
};
static const char *const members[] = { "text", "context", "continuation", "texts", NULL };

/* == One file ============================================================= */

typedef struct Trial {
    Sweep sweep;
    void **state;
    char path[SCRATCH_PATH], place[SCRATCH_PATH + 8]; /* of the file, of the line that changes */
    int (*read)(struct Trial *t, Error *e);
} Trial;

static const char before[] = "{\"text\": \"one\"}\n \n", after[] = "\n{\"text\": \"two\"}\n";

/* "FILE:3: expected ...", of the line's own field where it is not the line as a whole; what a line
** has to be may come behind it. */
static bool is_clear(const Trial *t, const Error *e, const JsonEdit *x) {
    char field[80];
    Error first = *e;
    char *more = strstr(first.text, "\n  a line is {");
    if (more) *more = 0;
    if (!sweep_line(&first, t->place)) return false;
    const char *line = first.text + strlen(t->place);
    if (!strncmp(line, "byte ", 5) || !*x->path) return true; /* no JSON, no object */
    if (strstr(line, "expected a whole value on the line")) return true;
    if (strstr(x->after, "\", \"")) return true; /* a field came with it */
    print_text(field, sizeof field, "%.*s", (int)strcspn(x->path, ".["), x->path);
    return strstr(line, field) || strstr(line, "expected a text");
}

static void attempt(void *user, const JsonEdit *x) {
    Trial *t = user;
    Text file = { 0 };
    Error e = { 0 };
    text_bytes(&file, before, sizeof before - 1);
    text_bytes(&file, x->text->at, x->text->length);
    text_bytes(&file, after, sizeof after - 1);
    scratch_write(t->path, file.at, file.length);
    text_free(&file);
    int status = t->read(t, &e);
    bool clear = !status || is_clear(t, &e, x);
    sweep_tried(&t->sweep, status, clear);
    if (!clear) sweep_tell(&t->sweep, x->path, x->after, &e);
}

static void sweep_line_of(Trial *t, const char *name, const char *text) {
    const JsonSweep w = { values, members, attempt, t };
    if (!sweep_open(&t->sweep, name, 5)) return;
    scratch_empty(t->state);
    scratch_path(t->state, "lines.jsonl", t->path);
    print_text(t->place, sizeof t->place, "%s:3:", t->path);
    json_sweep(&w, &t->sweep, text);
    sweep_end(&t->sweep);
}

/* == Documents ============================================================ */

/* The first and the last document are there, whatever stands between. */
static int read_documents(Trial *t, Error *e) {
    DataNames names;
    DataFiles f;
    DocumentReader r;
    DocumentPiece p;
    int count = 0;
    DataWords words = data_names(&names, t->state, "@/lines.jsonl");
    if (data_files_open(&f, &words, e)) return e->status;
    int status = documents_open(&r, &f.file[0], "text", true, e);
    while (!status && !(status = documents_next(&r, &p, e)) && p.text)
        count += p.begins;
    if (!status) assert_in_range(count, 2, 4);
    documents_close(&r);
    data_files_free(&f);
    return status;
}

static void documents(void **state) {
    Trial t = { .state = state, .read = read_documents };
    sweep_line_of(&t, "documents",
                  "{\"id\": 7, \"text\": \"a b\\u00e9\", \"meta\": {\"text\": [1, null]}}");
}

/* == Requests ============================================================= */

static int read_requests(Trial *t, Error *e) {
    const strata_model m = { .context = 16, .vocab = 256 };
    const Program program = { .m = &m };
    const Tokenizer bytes = { .kind = &tokenizer_bytes, .ids = 256 };
    ScoreReader r = { .p = &program, .tokenizer = &bytes, .prefix = -1 };
    ScoreRequest q;
    bool more = true;
    int count = 0, status = jsonl_open(&r.lines, t->path, e);
    while (!status && !(status = score_next(&r, &q, &more, e)) && more) {
        for (int32_t i = 0; i < q.spans; i++)
            assert_true(q.span[i].why || (q.span[i].count > 0 && q.span[i].context > 0));
        score_request_free(&q);
        count++;
    }
    if (!status) assert_int_equal(count, 3);
    json_free(&r.json);
    jsonl_close(&r.lines);
    return status;
}

static void texts(void **state) {
    Trial t = { .state = state, .read = read_requests };
    sweep_line_of(&t, "texts", "{\"text\": \"a text\", \"id\": [1, {\"context\": 2}]}");
}

static void continuations(void **state) {
    Trial t = { .state = state, .read = read_requests };
    sweep_line_of(&t, "continuations",
                  "{\"context\": \"the cat \", \"continuation\": \"sat\", \"id\": 1}");
}

static void lists(void **state) {
    Trial t = { .state = state, .read = read_requests };
    sweep_line_of(&t, "lists",
                  "{\"context\": \"the cat \", \"continuation\": [\"sat\", \"s\", \"ran away\"]}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents),
        cmocka_unit_test(texts),
        cmocka_unit_test(continuations),
        cmocka_unit_test(lists),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
