/* SPDX-License-Identifier: MIT
** score on the mock model, whose logits are a table's: likelihoods are those that its tensors
** give, whatever is computed at once; contexts end where harnesses say.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_get.h"
#include "mock_model.h"
#include "program_run.h"
#include "weights.h"

enum { V = 24, CONTEXT = 8 };
static Folder folder;
static Ran ran;
static float weights[2 * V * V + V];

static const strata_api *model(void) {
    MockOptions o = { .tokenizer = "chars", .vocab = V, .context = CONTEXT };
    return mock_api(&o);
}

static void run(int status, const char *lines, const char *words) {
    if (lines) folder_write(&folder, "lines", lines, strlen(lines));
    program_run(&ran, model(), &folder, NULL, words);
    if (ran.status != status)
        fail_msg("'%s': status %d, expected %d\n%s%s", words, ran.status, status, ran.out, ran.err);
}

static int open_folder(void **state) {
    (void)state;
    folder_open(&folder);
    char text[1200], path[300];
    for (int i = 0; i < 1200; i++)
        text[i] = "abcd ef gh"[(i + i / 70) % 10];
    folder_write(&folder, "text", text, sizeof text);
    run(0, NULL, "train --data text --steps 30 --out w");
    snprintf(path, sizeof path, "%s/w", folder.path);
    return weights_load(model()->model(), path, weights, NULL);
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

/* == What must come out =================================================== */

/* Ids of the tokenizer that learned "abcd ef gh": a character's place by its count, ties by code
** point. */
static int id_of(char c) {
    static char order[12];
    if (!order[0]) {
        size_t n;
        char *text = folder_read(&folder, "text", &n), *at = order;
        int count[128] = { 0 };
        for (size_t i = 0; i < n; i++)
            count[(int)text[i]]++;
        for (int most = (int)n; most > 0; most--)
            for (int p = 0; p < 128; p++)
                if (count[p] == most) *at++ = (char)p;
        free(text);
    }
    return 4 + (int)(strchr(order, c) - order);
}

/* Of text[from …], after all that is before; the first 'hidden' characters are not seen. */
static double likelihood(const char *text, int from, int hidden, bool *greedy) {
    const float *previous = weights, *table = weights + V * V + V, *bias = weights + 2 * V * V + V;
    const strata_tensor *t = strata_tensors(model()->model());
    table = weights + t[0].weight, previous = weights + t[1].weight, bias = weights + t[2].weight;
    double sum = 0;
    *greedy = true;
    for (int i = from; text[i]; i++) {
        double logit[V], all = 0;
        int target = id_of(text[i]), best = 0;
        for (int v = 0; v < V; v++) {
            logit[v] = bias[v] + table[id_of(text[i - 1]) * V + v];
            if (i >= hidden + 2) logit[v] += previous[id_of(text[i - 2]) * V + v];
            all += exp(logit[v]);
            if (logit[v] > logit[best]) best = v;
        }
        sum += logit[target] - log(all);
        *greedy = *greedy && best == target;
    }
    return sum;
}

/* Line number 'number' of the output. */
static void parse_line(Json *j, int number) {
    const char *line = ran.out;
    while (number--)
        line = strchr(line, '\n') + 1;
    Error e = { 0 };
    if (json_parse(j, "output", line, strcspn(line, "\n"), 10000, &e)) fail_msg("%s", e.text);
}

static void assert_scored(const JsonNode *value, const JsonNode *greedy, const char *text, int from,
                          int hidden) {
    bool is;
    double found, expected = likelihood(text, from, hidden, &is);
    assert_true(json_double(value, &found));
    if (fabs(found - expected) > 1e-5 * fabs(expected))
        fail_msg("'%s' from %d: expected %g, found %g", text, from, expected, found);
    if (greedy) assert_int_equal(greedy->type, is ? JSON_TRUE : JSON_FALSE);
}

/* One that is no list. */
static void assert_line(int number, const char *text, int from, int hidden) {
    Json j = { 0 };
    parse_line(&j, number);
    assert_scored(json_get(&j, j.node, "loglikelihood"), json_member(&j, j.node, "is_greedy"), text,
                  from, hidden);
    if (strlen(text) - (size_t)from <= CONTEXT) /* one window */
        assert_true(json_get_number(&j, j.node, "tokens") == (double)strlen(text) - from);
    json_free(&j);
}

static void scores_continuations(void **state) {
    (void)state;
    run(0,
        "{\"context\": \"abc\", \"continuation\": \"d\", \"id\": [7]}\n"
        " \n"
        "{\"context\": \"abc\", \"continuation\": \"d e\"}\n"
        "{\"context\": \"abcd  \", \"continuation\": \"ef\"}\n"
        "{\"context\": \"abcd ef ghab\", \"continuation\": \"ccc\"}",
        "score --weights w lines --json --prefix none");
    assert_line(0, "abcd", 3, 0);
    assert_line(1, "abcd e", 3, 0);
    assert_line(2, "abcd  ef", 4, 0);         /* blanks at the end belong to the continuation */
    assert_line(3, "abcd ef ghabccc", 12, 6); /* 8 of 14 characters that are fed have room */
    Json j = { 0 };
    parse_line(&j, 1);
    assert_true(json_get_number(&j, j.node, "line") == 3); /* blank lines count */
    parse_line(&j, 3);
    assert_true(json_get_number(&j, j.node, "dropped") == 6);
    parse_line(&j, 4);
    const JsonNode *sum = json_get(&j, json_get(&j, j.node, "summary"), "continuations");
    assert_true(json_get_number(&j, sum, "scored") == 4);
    assert_true(json_get_number(&j, sum, "tokens") == 1 + 3 + 4 + 3);
    json_free(&j);
}

/* More of them than there are states, of many lengths. */
static void lists_are_scored_as_their_items(void **state) {
    (void)state;
    char lines[8000] = "{\"context\": \"ab\", \"continuation\": [", texts[40][8];
    for (int i = 0; i < 40; i++) {
        snprintf(texts[i], sizeof texts[i], "%.*s", 1 + i % 7, "cd ef gh" + i % 2);
        snprintf(lines + strlen(lines), 32, "%s\"%.7s\"", i ? ", " : "", texts[i]);
    }
    strcat(lines, "]}\n");
    run(0, lines, "score --weights w lines --json --prefix none");
    Json j = { 0 };
    parse_line(&j, 0);
    const JsonNode *value = json_first(&j, json_get(&j, j.node, "loglikelihood")),
                   *greedy = json_first(&j, json_get(&j, j.node, "is_greedy"));
    int greedy_count = 0;
    for (int i = 0; i < 40; i++) {
        char text[16];
        snprintf(text, sizeof text, "ab%.7s", texts[i]);
        assert_scored(value, greedy, text, 2, 0);
        greedy_count += greedy->type == JSON_TRUE;
        value = json_next(&j, value);
        greedy = json_next(&j, greedy);
    }
    assert_true(greedy_count > 0 && greedy_count < 40);
    assert_null(value);
    char *before = strdup(ran.out);
    run(0, NULL, "score --weights w lines --json --prefix none --threads 3");
    assert_string_equal(before, ran.out);
    free(before);
    json_free(&j);
}

/* With others at once and alone. */
static void scores_texts(void **state) {
    (void)state;
    run(0,
        "{\"text\": \"abcd ef\"}\n{\"text\": \"ab\"}\n{\"text\": \"abc\"}\n"
        "{\"text\": \"abcd ef ghabcd ef ghabcd\"}\n{\"text\": \"bcd ef g\"}\n",
        "score --weights w lines --json --prefix none");
    assert_line(0, "abcd ef", 1, 0);
    assert_line(1, "ab", 1, 0);
    assert_line(2, "abc", 1, 0);
    assert_line(4, "bcd ef g", 1, 0);
    Json j = { 0 };
    parse_line(&j, 3);
    double found = json_get_number(&j, j.node, "loglikelihood");
    parse_line(&j, 5);
    const JsonNode *sum = json_get(&j, json_get(&j, j.node, "summary"), "texts");
    double bits = json_get_number(&j, sum, "bits_per_byte"),
           all = json_get_number(&j, sum, "loglikelihood");
    assert_true(fabs(bits + all / log(2) / (6 + 1 + 2 + 23 + 7)) < 1e-9);
    /* windows of eight; the last, which predicts seven, begins one token earlier */
    static const int begin[] = { 0, 8, 15 }, from[] = { 1, 9, 17 }, end[] = { 9, 17, 24 };
    double expected = 0;
    for (int i = 0; i < 3; i++) {
        char part[32];
        snprintf(part, sizeof part, "%.*s", end[i] - begin[i],
                 "abcd ef ghabcd ef ghabcd" + begin[i]);
        expected += likelihood(part, from[i] - begin[i], 0, &(bool){ false });
    }
    assert_true(fabs(found - expected) < 1e-5 * fabs(expected));
    json_free(&j);
}

static void a_prefix_stands_before_texts(void **state) {
    (void)state;
    char words[64],
        lines[] = "{\"text\": \"bcd\"}\n{\"context\": \"\", \"continuation\": \"bcd\"}\n";
    snprintf(words, sizeof words, "score --weights w lines --json --prefix %d", id_of('a'));
    run(0, lines, words);
    assert_line(0, "abcd", 1, 0);
    assert_line(1, "abcd", 1, 0);
    run(0, lines, "score --weights w lines --prefix 2");
    assert_non_null(strstr(ran.out, "bits_per_byte"));
}

/* Python's str.isspace: what lm-evaluation-harness moves to the continuation. */
static void blanks_are_those_of_python(void **state) {
    (void)state;
    static const int blank[] = { 9,      10,     11,     12,     13,     0x1c,   0x1d,   0x1e,
                                 0x1f,   32,     0x85,   0xa0,   0x1680, 0x2000, 0x2001, 0x2002,
                                 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a,
                                 0x2028, 0x2029, 0x202f, 0x205f, 0x3000 };
    static const int none[] = { 0,    8,      14,     0x1b,   0x21,   0x84,
                                0x86, 0x180e, 0x200b, 0x2060, 0xfeff, 'z' };
    char line[200], word[200];
    for (int p = 1; p < 0x3100; p++) {
        bool is = false;
        for (size_t i = 0; i < sizeof blank / sizeof *blank; i++)
            is |= blank[i] == p;
        bool asked = is || p < 0x200;
        for (size_t i = 0; i < sizeof none / sizeof *none; i++)
            asked |= none[i] == p;
        if (!asked || (p >= 0xd800 && p < 0xe000)) continue;
        snprintf(line, sizeof line,
                 "{\"context\": \"ab\\u%04x\\u%04x\", \"continuation\": \"d\"}\n", p, p);
        run(0, line, "score --weights w lines --json");
        snprintf(word, sizeof word, "\"tokens\": %d,", is ? 3 : 1);
        if (!strstr(ran.out, word)) fail_msg("U+%04X: %s", p, ran.out);
    }
}

/* The rest is scored, status 1, with the reason where the number would be. */
static const struct {
    const char *line, *words, *says;
} unscored[] = {
    { "{\"context\": \"a\", \"continuation\": \"\"}", "", "the continuation is empty" },
    { "{\"context\": \" \", \"continuation\": \"b\"}", "--prefix none",
      "the context is empty, and there is no token for its place (--prefix)" },
    { "{\"context\": \"\", \"continuation\": [\"b\"]}", "--prefix none",
      "[\"the context is empty, and there is no token for its place (--prefix)\"]" },
    { "{\"context\": \"a\", \"continuation\": [\"b\", \"abcdabcda\"]}", "",
      "[null, \"the continuation has 9 tokens, more than the context, 8\"]" },
    { "{\"text\": \"a\"}", "--prefix none",
      "the text is one token, and there is none before it (--prefix)" },
    { "{\"text\": \"\"}", "", "the text is empty" },
};

static void what_cannot_be_scored_stops_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof unscored / sizeof *unscored; i++) {
        char lines[300], words[100], expected[100];
        snprintf(lines, sizeof lines,
                 "{\"context\": \"abc\", \"continuation\": \"d\"}\n%s\n{\"text\": \"abc\"}\n",
                 unscored[i].line);
        snprintf(words, sizeof words, "score --weights w lines --json %s", unscored[i].words);
        run(1, lines, words);
        Json j = { 0 };
        parse_line(&j, 1);
        snprintf(expected, sizeof expected, "\"not_scored\": %s%s",
                 unscored[i].says[0] == '[' ? "" : "\"", unscored[i].says);
        if (!strstr(ran.out, expected)) fail_msg("expected %s\nin %s", expected, ran.out);
        if (!strstr(ran.err, "error: lines:2: expected all to be scored, found 1 of "))
            fail_msg("%s", ran.err);
        parse_line(&j, 2);
        assert_true(json_get_number(&j, j.node, "line") == 3);
        parse_line(&j, 3);
        assert_non_null(strstr(ran.out, "\"not_scored\": 1"));
        json_free(&j);
        snprintf(words, sizeof words, "score --weights w lines %s", unscored[i].words);
        run(1, lines, words);
        if (!strstr(ran.out, "  not scored: the ")) fail_msg("%s", ran.out);
    }
}

/* Without --prefix it is the token that ends texts, where none is put in front of them. */
static void a_text_is_scored_from_its_first_token(void **state) {
    (void)state;
    char *asked;
    static const char lines[] =
        "{\"text\": \"bcd\"}\n{\"context\": \"\", \"continuation\": \"bcd\"}\n";
    run(0, lines, "score --weights w lines --json --prefix 3");
    asked = strdup(ran.out);
    run(0, NULL, "score --weights w lines --json");
    assert_string_equal(ran.out, asked);
    assert_non_null(strstr(ran.out, "\"tokens\": 3, \"bytes\": 3}"));
    free(asked);
}

static const struct {
    const char *lines, *says;
} mistake[] = {
    { "{\"text\": \"ab\"}\n{\"text\": \"ab\"", "lines:2:byte 13: expected" },
    { "7\n", "lines:1: expected an object" },
    { "\n\n{\"text\": 1}", "lines:3: expected 'text' to be a text" },
    { "{\"context\": \"a\"}", "lines:1: expected either" },
    { "{\"text\": \"ab\", \"context\": \"a\"}", "lines:1: expected either" },
    { "{\"context\": 1, \"continuation\": \"b\"}", "'context' to be a text" },
    { "{\"context\": \"a\", \"continuation\": []}", "a list of texts" },
    { "{\"context\": \"a\", \"continuation\": [\"b\", 2]}", "a list of texts" },
    { "{\"text\": \"a\xff\"}", "lines:1:byte" },
    { "{\"text\": \"ab\", \"text\": \"ab\"}", "found the key twice" },
};

/* All of them before anything is computed. */
static void mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mistake / sizeof *mistake; i++) {
        run(1, mistake[i].lines, "score --weights w lines --json");
        if (strncmp(ran.err, "error: ", 7) != 0 || !strstr(ran.err, mistake[i].says))
            fail_msg("expected '%s' in '%s'", mistake[i].says, ran.err);
        assert_string_equal(ran.out, "");
    }
    run(2, NULL, "score --weights w");
    run(1, NULL, "score --weights w nothing");
    run(1, NULL, "score --weights w lines --prefix 24");
    assert_non_null(
        strstr(ran.err, "an id from 0 to 23, a token of the tokenizer's file, or none"));
    run(0, "", "score --weights w lines --json --prefix none"); /* nothing to score */
    assert_non_null(strstr(ran.out, "\"scored\": 0"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_continuations),
        cmocka_unit_test(lists_are_scored_as_their_items),
        cmocka_unit_test(scores_texts),
        cmocka_unit_test(a_prefix_stands_before_texts),
        cmocka_unit_test(blanks_are_those_of_python),
        cmocka_unit_test(what_cannot_be_scored_stops_nothing),
        cmocka_unit_test(a_text_is_scored_from_its_first_token),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
