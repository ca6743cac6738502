/* SPDX-License-Identifier: MIT
** Parts of the page of a comparison: each adds a section of HTML. */
#ifndef STRATA_COMPARE_PAGE_H
#define STRATA_COMPARE_PAGE_H

#include "comparison.h"
#include "page.h"

/* Pixels of letters in pictures three side by side, which are smaller: the page's style. */
enum { TRIO_LETTER = 14 };

/* Colours of variants in plots: a class of svg.h and, from the seventh on, a dash. */
void page_variant_keys(const Comparison *c, Text *t);
const char *page_dash(int variant);

/* compare_mixing.c, compare_memory.c, compare_kernel_page.c, compare_code_page.c */
void page_mixing(const Comparison *c, Text *t);
void page_memory(const Comparison *c, Text *t);
void page_kernels(const Comparison *c, Text *t);
void page_code(const Comparison *c, Text *t);

/* compare_made_page.c: how to make it again, what it was made of, and all numbers for programs. */
void page_made(const Comparison *c, Text *t);

/* compare_measured.c: the first table, and each variant in words */
void page_measured(const Comparison *c, Text *t);

/* Nothing where nothing was measured or trained: compare_scatter.c, compare_roofline.c,
** compare_curves.c with its heading of compare_training_page.c */
void page_scatter(const Comparison *c, Text *t);
void page_roofline(const Comparison *c, Text *t);
void page_curves(const Comparison *c, Text *t);
/* compare_sweep.c: a figure; nothing without a sweep */
void page_sweep(const Comparison *c, Text *t);
void page_training(const Comparison *c, Text *t);

#endif
