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
        "score --weights w lines --json");
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
    run(0, lines, "score --weights w lines --json");
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
    run(0, NULL, "score --weights w lines --json --threads 3");
    assert_string_equal(before, ran.out);
    free(before);
    json_free(&j);
}

/* Windows are eval's, and so is their sum; with others at once and alone. */
static void scores_texts(void **state) {
    (void)state;
    run(0,
        "{\"text\": \"abcd ef\"}\n{\"text\": \"ab\"}\n{\"text\": \"abc\"}\n"
        "{\"text\": \"abcd ef ghabcd ef ghabcd\"}\n{\"text\": \"bcd ef g\"}\n",
        "score --weights w lines --json");
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
    folder_write(&folder, "long", "abcd ef ghabcd ef ghabcd", 24);
    run(0, NULL, "eval --weights w --data long --json");
    parse_line(&j, 0);
    assert_true(fabs(found + 23 * json_get_number(&j, j.node, "loss")) < 1e-9);
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
    { "{\"context\": \"a\", \"continuation\": \"\"}", "at least one token, found none" },
    { "{\"context\": \" \", \"continuation\": \"b\"}",
      "a context of at least one token, or --prefix" },
    { "{\"context\": \"a\", \"continuation\": \"abcdabcda\"}",
      "at most the context, 8 tokens, found 9" },
    { "{\"text\": \"a\"}", "at least two tokens" },
    { "{\"text\": \"\"}", "found an empty one" },
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
    assert_non_null(strstr(ran.err, "an id from 0 to 23 or a token"));
    run(0, "", "score --weights w lines --json"); /* nothing to score */
    assert_non_null(strstr(ran.out, "\"scored\": 0"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_continuations),
        cmocka_unit_test(lists_are_scored_as_their_items),
        cmocka_unit_test(scores_texts),
        cmocka_unit_test(a_prefix_stands_before_texts),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
