/* SPDX-License-Identifier: MIT
** HTML pages in one file: style and pictures inside, no script, no network, light and dark.  The
** width follows the window, and tables scroll in boxes of their own.  Text from specs or the
** command line goes through svg_escaped (svg.h).
*/
#ifndef STRATA_PAGE_H
#define STRATA_PAGE_H

#include "json.h"

/* A page up to its title, which the caller adds; page_body goes on to the h1, of which the same
** holds; 'style' is the page's own, after the common one.  page_close ends it all. */
void page_open(Text *t);
void page_body(Text *t, const char *style);
void page_close(Text *t);

/* A section's title and the sentence below it, as HTML. */
void page_heading(Text *t, const char *title, const char *note);
/* A table's box, up to its rows' head; page_table_end closes its body and itself. */
void page_table(Text *t, const char *label);
void page_table_end(Text *t);

#endif
