/* SPDX-License-Identifier: MIT
** Training on a comparison's page: curves (compare_curves.c) under their heading. */
#include "compare_page.h"
void page_training(const Comparison *c, Text *t) {
    char note[800];
    if (!c->text) return;
    print_text(
        note, sizeof note,
        "Lines: training loss, a mean over seeds, with a band from the lowest seed to the "
        "highest. Dots: validation loss on windows spread over the text, some of its values; "
        "the difference has all. Diamonds: validation loss after the last step, of the whole "
        "text: another measure than the dots, on no line with them. "
        "A seed gives initial weights and order of the data, the same for all variants; "
        "evaluations take no time here, and %s.",
        compare_times_measured(c)
            ? "a step takes what --measure found, in turns with the other variants"
            : "a step of more than four times the median takes the median");
    page_heading(t, "Training", note);
    page_curves(c, t);
}
