/* SPDX-License-Identifier: MIT
** What a long command is doing: told at once, told again while it goes on, silent where it says
** for itself how far it is, and never longer than a terminal's row. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allowance.h"
#include "console.h"

/* What was told so far, of a file that is no terminal. */
static char *told(const Allowance *a) {
    static char text[1024];
    rewind(a->console);
    text[fread(text, 1, sizeof text - 1, a->console)] = 0;
    fseek(a->console, 0, SEEK_END);
    return text;
}

static Allowance open_allowance(void) {
    Allowance a = { .console = tmpfile(), .notes = calloc(1, sizeof *a.notes) };
    assert_non_null(a.console);
    assert_non_null(a.notes);
    return a;
}

static void close_allowance(Allowance *a) {
    fclose(a->console);
    free(a->notes);
}

static void the_first_is_told_at_once(void **state) {
    (void)state;
    Allowance a = open_allowance();
    assert_false(doing_on_terminal(&a));
    doing(&a, "compiling %s", "a");
    assert_string_equal(told(&a), "compiling a\n");
    doing(&a, "compiling b"); /* another line so soon would be noise */
    doing_tick(&a);
    assert_string_equal(told(&a), "compiling a\n");
    close_allowance(&a);
}

/* The clock's seconds are moved, nobody waits. */
static void what_goes_on_is_told_again(void **state) {
    (void)state;
    Allowance a = open_allowance();
    DoingNote *d = &a.notes->doing;
    doing(&a, "compiling a");
    for (int i = 0; i < 2; i++) {
        d->told -= 6, d->since -= 6;
        doing_tick(&a);
    }
    char *text = told(&a), *second = strchr(text, '\n') + 1;
    assert_int_equal(strncmp(second, "compiling a: 6 s\ncompiling a: 12 s\n", 34), 0);
    d->told -= 6;
    doing(&a, "compiling b");
    assert_non_null(strstr(told(&a), "\ncompiling b\n"));
    close_allowance(&a);
}

static void who_tells_for_himself_is_not_told(void **state) {
    (void)state;
    Allowance a = open_allowance();
    doing(&a, "training a");
    doing_say(&a, "training a: step %d of 9", 3);
    a.notes->doing.told -= 100;
    doing_tick(&a);
    assert_string_equal(told(&a), "training a\ntraining a: step 3 of 9\n");
    doing_end(&a);
    doing_tick(&a);
    assert_string_equal(told(&a), "training a\ntraining a: step 3 of 9\n");
    close_allowance(&a);
}

/* A name with a line's end or an escape is one line still. */
static void what_is_told_is_one_line(void **state) {
    (void)state;
    Allowance a = open_allowance();
    doing(&a, "planning %s", "a\n\033[31m.lua");
    assert_null(strchr(told(&a), '\033'));
    assert_ptr_equal(strchr(told(&a), '\n'), told(&a) + strlen(told(&a)) - 1);
    close_allowance(&a);
}

static void characters_are_cut_whole(void **state) {
    (void)state;
    char text[] = "a\xc3\xa4o\xe2\x89\x88z";
    console_cut(text, 9);
    assert_string_equal(text, "a\xc3\xa4o\xe2\x89\x88z");
    console_cut(text, 3);
    assert_string_equal(text, "a\xc3\xa4o");
    console_cut(text, 1);
    assert_string_equal(text, "a");
    console_cut(text, 0);
    assert_string_equal(text, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_told_at_once),
        cmocka_unit_test(what_goes_on_is_told_again),
        cmocka_unit_test(who_tells_for_himself_is_not_told),
        cmocka_unit_test(what_is_told_is_one_line),
        cmocka_unit_test(characters_are_cut_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
