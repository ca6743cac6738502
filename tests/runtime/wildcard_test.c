/* SPDX-License-Identifier: MIT
** Patterns of names. */
#include "test.h"

#include <string.h>

#include "wildcard.h"

static void patterns_match_whole_names(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *name;
        bool matches;
    } row[] = {
        { "", "", true },
        { "", "a", false },
        { "*", "", true },
        { "*", "layers.0.mlp.up.weight", true },
        { "layers.0.*", "layers.0.mlp.up.weight", true },
        { "layers.0.*", "layers.01", false },
        { "*.weight", "layers.0.mlp.up.weight", true },
        { "*.weight", "layers.0.mlp.up.weights", false },
        { "*.q.*", "a.q.q.b", true },
        { "layers.?.mlp", "layers.3.mlp", true },
        { "layers.?.mlp", "layers.13.mlp", false },
        { "a?", "a", false },
        { "experts.*.gate", "experts.*.gate", true },
        { "a*b*c", "a.b.b.c", true },
        { "a*b*c", "a.c.b", false },
        { "**", "x", true },
        { "[a]", "a", false },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (wildcard_matches(row[i].pattern, row[i].name) != row[i].matches)
            fail_msg("%s on %s", row[i].pattern, row[i].name);
}

/* Many stars on a name that ends otherwise cost no more than a product of lengths. */
static void stars_end(void **state) {
    (void)state;
    char pattern[257], name[60001];
    for (size_t i = 0; i + 1 < sizeof pattern - 1; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[256] = 0, pattern[255] = 'b';
    memset(name, 'a', 60000);
    name[60000] = 0;
    assert_false(wildcard_matches(pattern, name));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_whole_names),
        cmocka_unit_test(stars_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
