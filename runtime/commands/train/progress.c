/* SPDX-License-Identifier: MIT
** The progress of training.  The rate is smoothed over about ten steps; the time left
** is what that rate needs for the rest of the run.
*/
#include "progress.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "machine.h"
#include "standalone.h"

enum { BAR = 24, LINE_MOST = 400 };
static const double BETWEEN_LINES = 2.0, BETWEEN_FRAMES = 0.1; /* seconds */

static void put(Progress *p, const char *text) {
    if (!p->lost.status) console_write(text, strlen(text), NULL, &p->lost);
}

void progress_open(Progress *p) {
    const char *term = getenv("TERM"), *colour = getenv("NO_COLOR");
    p->terminal = isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
    p->plain = colour && *colour;
}

static int terminal_columns(void) {
    struct winsize w;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col : 80;
}

/* "2h03m", "4m10s", "12s" */
static void time_left(char to[32], double seconds) {
    long long s = seconds < 1e9 ? (long long)(seconds + 0.5) : 1000000000;
    if (s >= 3600) print_text(to, 32, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else if (s >= 60) print_text(to, 32, "%lldm%02llds", s / 60, s % 60);
    else print_text(to, 32, "%llds", s);
}

static void describe(const Progress *p, int64_t step, double loss, char *to, size_t size) {
    char rate[32], left[32], share[32] = "", epoch[32] = "";
    human_count(rate, p->tokens / p->seconds);
    time_left(left, p->seconds * (double)(p->steps - step));
    if (p->peak > 0)
        print_text(share, sizeof share, "  %.0f%% of peak", 100 * p->flops / p->seconds / p->peak);
    if (p->epoch > 0) print_text(epoch, sizeof epoch, "  epoch %.2f", p->epoch);
    print_text(to, size, "step %lld/%lld  loss %.4f%s  %s tokens/s%s  %s left", (long long)step,
               (long long)p->steps, loss, epoch, rate, share, left);
}

static void draw_bar(Progress *p, int64_t step, const char *text) {
    char line[LINE_MOST], bar[BAR + 1];
    int full = p->steps > 0 ? (int)(BAR * (double)step / (double)p->steps) : BAR;
    for (int i = 0; i < BAR; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR] = 0;
    int room = terminal_columns() - BAR - 4;
    print_text(line, sizeof line, "\r\033[K%s[%s]%s %.*s", p->plain ? "" : "\033[36m", bar,
               p->plain ? "" : "\033[0m", room > 0 ? room : 0, text);
    put(p, line);
    p->line = true;
}

void progress_time(Progress *p, double seconds) {
    p->seconds = p->seconds > 0 ? 0.9 * p->seconds + 0.1 * seconds : seconds;
}

bool progress_beats_peak(const Progress *p) {
    static const double noise = 1.02;
    return p->peak > 0 && p->seconds > 0 && p->flops / p->seconds > noise * p->peak;
}

void progress_step(Progress *p, int64_t step, double loss) {
    double now = machine_now();
    bool edge = p->shown == 0 || step == p->steps;
    if (!edge && now - p->shown < (p->terminal ? BETWEEN_FRAMES : BETWEEN_LINES)) return;
    p->shown = now;
    char text[LINE_MOST / 2];
    describe(p, step, loss, text, sizeof text);
    if (p->terminal) {
        draw_bar(p, step, text);
    } else {
        put(p, text);
        put(p, "\n");
    }
}

void progress_note(Progress *p, const char *format, ...) {
    char text[LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    print_textv(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    put(p, p->line ? "\r\033[K" : "");
    p->line = false;
    put(p, text);
    put(p, "\n");
}

void progress_close(Progress *p) {
    if (p->line) put(p, "\n");
    p->line = false;
}
