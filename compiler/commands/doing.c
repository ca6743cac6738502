/* SPDX-License-Identifier: MIT
** See doing.h. */
#include "doing.h"

#include "allowance.h"
#include "console.h"
#include "escape.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double DOING_BETWEEN_LINES = 5; /* seconds */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool doing_on_terminal(const Allowance *a) { return isatty(fileno(a->console)); }

/* A terminal's line has no more characters than a row: what is wrapped is not rewritten. */
static void doing_show(Allowance *a, const char *text) {
    char shown[2048];
    bool terminal = doing_on_terminal(a);
    text_escape(shown, sizeof shown, text, strlen(text));
    if (terminal) console_cut(shown, console_columns(fileno(a->console)) - 1);
    fprintf(a->console, terminal ? "\r\033[K%s" : "%s\n", shown);
    fflush(a->console);
    a->notes->doing.told = now();
    a->notes->doing.stands = terminal && *text;
}

void doing(Allowance *a, const char *format, ...) {
    DoingNote *d = &a->notes->doing;
    va_list arguments;
    va_start(arguments, format);
    print_textv(d->what, sizeof d->what, format, arguments);
    va_end(arguments);
    d->since = now();
    if (!d->told || doing_on_terminal(a) || d->since - d->told >= DOING_BETWEEN_LINES)
        doing_show(a, d->what);
}

void doing_say(Allowance *a, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    print_textv(text, sizeof text, format, arguments);
    va_end(arguments);
    *a->notes->doing.what = 0;
    doing_show(a, text);
}

void doing_end(Allowance *a) {
    DoingNote *d = &a->notes->doing;
    if (d->stands) doing_show(a, "");
    *d = (DoingNote){ .told = d->told };
}

void doing_tick(void *allowance) {
    Allowance *a = allowance;
    DoingNote d = a->notes->doing;
    char text[sizeof d.what + 32];
    double least = doing_on_terminal(a) ? 1 : DOING_BETWEEN_LINES;
    if (!*d.what || now() - d.told < least) return;
    print_text(text, sizeof text, "%.255s: %.0f s", d.what, now() - d.since);
    doing_show(a, text);
}
