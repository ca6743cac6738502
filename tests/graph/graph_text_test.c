/* SPDX-License-Identifier: MIT
** The text form: what is printed reads back as the same graph, and what is
** no graph is refused with its line.
*/
#include "test.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "graph_file.h"

static void graphs_of_files_print_as_they_are(void **state) {
    (void)state;
    glob_t files;
    assert_int_equal(glob(SOURCE_DIR "/tests/graphs/*.graph", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char *text;
        Graph *g = graph_from_file(files.gl_pathv[i], &text);
        const char *body = text;
        while (*body == '#')
            body = strchr(body, '\n') + 1;
        graph_verify(g);
        char *again = graph_printed(g, true);
        assert_string_equal(again, body);
        free(again), free(text);
        graph_free(g);
    }
    globfree(&files);
}

static void numbers_and_names_survive(void **state) {
    (void)state;
    static const double numbers[] = { 0.1, 1.0 / 3, 1e-310, -0.0, 1e300, 0.30000000000000004 };
    char error[200] = "";
    const char *unused;
    Graph *g = graph_new();
    Shape s = { .rank = 1, .dim = { 6 } };
    graph_param(g, "a \"quoted\\name\"\n\x01", s, (Init){ .kind = INIT_LIST, .list = numbers },
                &unused);
    graph_param(g, "line", s, (Init){ INIT_UNIFORM, 0, numbers, 3 }, &unused);
    graph_output(g, "tab\there", op_fill(g, numbers[1]));
    char *once = graph_printed(g, false);
    Graph *r = graph_read(once, error, sizeof error);
    if (!r) fail_msg("%s", error);
    assert_memory_equal(r->param[0].init.list, numbers, sizeof numbers);
    assert_int_equal(r->param[1].init.points, 3);
    assert_memory_equal(r->param[1].init.list, numbers, 3 * sizeof *numbers);
    assert_string_equal(r->param[0].node->attr->name, "a \"quoted\\name\"\n\x01");
    assert_true(graph_find(r, "tab\there")->attr->value == numbers[1]);
    char *twice = graph_printed(r, false);
    assert_string_equal(once, twice);
    free(once), free(twice);
    graph_free(g), graph_free(r);
}

/* Through text, and through what passes make of a graph. */
static void how_parameters_are_trained_survives(void **state) {
    (void)state;
    char error[200] = "";
    const char *text = "%0 = param \"a\" normal 0.5 frozen : [2]\n"
                       "%1 = param \"b\" constant 1 muon rate 0.1 weight_decay 0 : [2]\n"
                       "%2 = param \"c\" list 1,2 rate 2 : [2]\n"
                       "%3 = add %0, %1 : [2]\n%4 = add %3, %2 : [2]\noutput \"y\" %4\n";
    Graph *g = graph_read(text, error, sizeof error);
    if (!g) fail_msg("%s", error);
    const Tuning *b = &graph_find_param(g, "b")->tuning;
    assert_true(g->param[0].tuning.frozen && b->muon && b->own_rate && b->own_decay);
    assert_true(b->rate == 0.1 && b->weight_decay == 0 && !g->param[2].tuning.own_decay);
    Graph *copy = graph_copy(g);
    char *again = graph_printed(copy, false);
    assert_string_equal(again, text);
    free(again);
    graph_free(g), graph_free(copy);
}

static void bad_text_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *error;
    } c[] = {
        { "hello", "line 1: expected the end of the line, found 'hello'" },
        { "%1 = tokens : int32[tokens]", "line 1: expected node %0 next" },
        { "%0 = tahn %0 : []", "line 1: expected the name of an op, found 'tahn'" },
        { "%0 = neg %0 : []", "line 1: expected a node from before, found %0" },
        { "\n%0 = fill : []", "line 2: expected a number, found ':'" },
        { "%0 = fill \n1 : []", "line 1: expected a number, found the end of the line" },
        { "%0 = fill 1", "line 1: expected ':', found the end of the line" },
        { "%0 = fill 1 : [", "line 1: expected the length of an axis, found the end of the line" },
        { "%0 = fill 1 : [1,1,1,1,1]", "line 1: expected at most 4 axes" },
        { "%0 = fill 1 : [9999999999999999999]",
          "line 1: expected the length of an axis of at most 281474976710656" },
        { "%0 = fill 1 : []\n%1 = neg %0 : [2]", "line 2: expected shape [], found [2]" },
        { "%0 = fill 1 : []\n%1 = sum %0 axis=0 : []", "line 2: sum: there is no axis 0 in []" },
        { "%0 = param \"w : [2]", "line 1: expected '\"', found the end of the line" },
        { "%0 = param \"\\xg0\" constant 0 : [2]",
          "line 1: expected two hexadecimal digits after \\x" },
        { "%0 = param \"w\" even 1 : [2]", "line 1: expected 'constant', found 'even'" },
        { "%0 = param \"w\" uniform 1 : [2]", "line 1: expected two numbers or more of a line" },
        { "%0 = param \"w\" list 1,2,3 : [2]", "line 1: expected 2 initial values, found 3" },
        { "%0 = param \"w\" list 1 : [281474976710656,281474976710656]",
          "line 1: [281474976710656,281474976710656] has too many elements" },
        { "%0 = fill 1 : [] extra", "line 1: expected the end of the line, found 'extra'" },
        { "output \"y\" %0", "line 1: expected a node from before, found %0" },
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        char error[200] = "";
        assert_null(graph_read(c[i].text, error, sizeof error));
        assert_string_equal(error, c[i].error);
    }
}

/* Every prefix of a good text, and every text with one byte changed, is read
** or refused; never anything else. */
static void spoiled_text_is_survived(void **state) {
    (void)state;
    static const char good[] =
        "%0 = param \"w\" list 1,2 : [2] @ \"f\":1 site \"s\"\n%1 = position : int32[tokens]\n"
        "%2 = wave %1 scale=1 cos 1,2 : [tokens,2]\n%3 = stack %2, %0 : [tokens,2,2]\n"
        "%4 = transpose %3 perm=1,0 : [tokens,2,2] copy=1 backward\n"
        "%5 = slice %4 axis=0 first=0 count=1 : [tokens,1,2]\noutput \"y\" %5\n";
    static const char bytes[] = "\0\n \"%,:[]=-0x9\\";
    for (size_t i = 0; i < sizeof good; i++)
        for (size_t k = 0; k < sizeof bytes; k++) {
            char text[sizeof good], error[80];
            memcpy(text, good, sizeof good);
            text[i] = bytes[k];
            text[sizeof good - 1] = 0;
            Graph *g = graph_read(text, error, sizeof error);
            if (g) graph_verify(g);
            else assert_memory_equal(error, "line ", 5);
            graph_free(g);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_of_files_print_as_they_are),
        cmocka_unit_test(numbers_and_names_survive),
        cmocka_unit_test(how_parameters_are_trained_survives),
        cmocka_unit_test(bad_text_is_refused),
        cmocka_unit_test(spoiled_text_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
