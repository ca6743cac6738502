/* SPDX-License-Identifier: MIT
** How a passage with the routes that its tokens take is shown, whatever the text is: in a terminal,
** plain or in colours, and on a page; whole, or not at all where memory runs out.
*/
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page_check.h"
#include "routed_programs.h"
#include "../../runtime/commands/probe/probe.h" /* not the one beside */

static Folder folder;

static int open_folder(void **state) {
    (void)state;
    routed_open(&folder);
    for (int i = 0; i < ROUTED_KINDS; i++)
        routed_build(&folder, &routed_kind[i]);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

static void a_page_shows_the_passage(void **state) {
    (void)state;
    for (int i = 0; i < ROUTED_KINDS; i++) {
        Json j = { 0 };
        routed_probe(&folder, &routed_kind[i], &j);
        json_free(&j);
        char *page = folder_read(&folder, "page.html", NULL);
        page_check_tags(page);
        page_check_labels(page);
        assert_int_equal(page_count(page, "<span class=\"t"), CONTEXT);
        assert_non_null(strstr(page, ">&lt;</span>"));
        assert_null(strchr(page, '\033'));
        assert_non_null(strstr(page, "\\x1b"));
        assert_non_null(strstr(page, "Depth mixing"));
        assert_non_null(strstr(page,
                               i ? "<title>layers.2: 26 of 26 tokens</title>"
                                 : "<title>layers.2.attention: 0 of 26 tokens</title>"));
        free(page);
        const char *name = routed_kind[i].name;
        folder_shell(&folder, "./%s probe --weights %s.st --before %s.st --data text -o page.html",
                     name, name, name);
        page = folder_read(&folder, "page.html", NULL);
        page_check_tags(page);
        page_check_labels(page);
        assert_int_equal(page_count(page, "<span class=\"t"), 2 * CONTEXT);
        free(page);
    }
}

static int fails;           /* which allocation of a text from now on does; 0: none */
static int fail_of_passage; /* which one of the shown passage does */

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
    fails = fail_of_passage;
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
        fail_of_passage = n;
        char *part = shown(ids, 100, taken, in_colours);
        failed = !fails;
        fails = fail_of_passage = 0;
        if (failed) assert_null(part);
        else assert_string_equal(part, whole);
        free(part);
    }
    assert_true(n > 4); /* the whole, a line's text and its marks */
    free(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_shows_the_passage),
        cmocka_unit_test(the_terminal_shows_the_passage),
        cmocka_unit_test(long_lines_end),
        cmocka_unit_test(memory_that_runs_out_is_told),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
