/* SPDX-License-Identifier: MIT
** Is an HTML page well-formed?  Everything asserts. */
#ifndef TEST_PAGE_CHECK_H
#define TEST_PAGE_CHECK_H

/* Tags are closed in order; returns how many there are. */
int page_check_tags(const char *page);
/* In every picture names are on no other name, on no dot, and beside the name of the axis. */
void page_check_labels(const char *page);
int page_count(const char *page, const char *words);

#endif
