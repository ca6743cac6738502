/* SPDX-License-Identifier: MIT
** See page_check.h. */
#include "test.h"

#include <stdbool.h>

#include <stdio.h>
#include <string.h>

#include "page_check.h"

int page_check_tags(const char *page) {
    static const char *const single[] = { "meta", "br", "!DOCTYPE" };
    char open[64][16];
    int depth = 0, tags = 0;
    for (const char *at = page; (at = strchr(at, '<')); at++) {
        char name[16];
        const char *end = strchr(at, '>');
        bool closes = at[1] == '/', empty = false;
        assert_non_null(end);
        if (sscanf(at + 1 + closes, "%15[A-Za-z0-9!]", name) != 1)
            fail_msg("expected a tag: %.40s", at);
        for (size_t i = 0; i < sizeof single / sizeof *single; i++)
            empty = empty || !strcmp(name, single[i]);
        tags++;
        if (closes) {
            assert_true(depth > 0);
            if (strcmp(open[--depth], name))
                fail_msg("expected </%s>, found </%s>", open[depth], name);
        } else if (!empty && end[-1] != '/') {
            assert_true(depth < 64);
            strcpy(open[depth++], name);
        }
    }
    assert_int_equal(depth, 0);
    return tags;
}

int page_count(const char *page, const char *words) {
    int n = 0;
    for (const char *at = page; (at = strstr(at, words)); at++)
        n++;
    return n;
}
