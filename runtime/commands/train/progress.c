/* SPDX-License-Identifier: MIT
** The progress of training.  The speed is smoothed over about ten steps, and the time left follows
** from it.
*/
#include "progress.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "escape.h"
#include "files.h"
#include "machine.h"
#include "standalone.h"

enum { LINE_MOST = 2000 };
static const double PROGRESS_BETWEEN_LINES = 2.0, BETWEEN_FRAMES = 0.1; /* seconds */

static void progress_put(Progress *p, const char *text) {
    if (!p->lost.status && !p->quiet) console_write(text, strlen(text), NULL, &p->lost);
}

bool progress_rewrites(int file) {
    const char *term = getenv("TERM");
    return isatty(file) && term && strcmp(term, "dumb") != 0;
}

void progress_open(Progress *p) {
    const char *colour = getenv("NO_COLOR");
    p->terminal = progress_rewrites(STDOUT_FILENO);
    p->load = load_of_others();
    p->plain = colour && *colour;
}

/* "2h03m", "4m10s", "12s" */
static void time_left(char to[32], double seconds) {
    long long s = seconds < 1e9 ? (long long)(seconds + 0.5) : 1000000000;
    if (s >= 3600) print_text(to, 32, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else if (s >= 60) print_text(to, 32, "%lldm%02llds", s / 60, s % 60);
    else print_text(to, 32, "%llds", s);
}

/* Seconds until it is done. */
static double seconds_left(const Progress *p, int64_t step) {
    if (p->end == 0) return p->seconds * (double)(p->steps - step);
    double left = p->end - machine_now();
    return left > 0 ? left : 0;
}

static double share_done(const Progress *p, int64_t step) {
    if (p->end == 0) return p->steps > 0 ? (double)step / (double)p->steps : 1;
    return 1 - seconds_left(p, step) / (p->end - p->begun);
}

char *progress_steps(const Progress *p, int64_t step, char to[64]) {
    if (p->steps > 0) print_text(to, 64, "%lld/%lld", (long long)step, (long long)p->steps);
    else print_text(to, 64, "%lld", (long long)step);
    return to;
}

/* What a line tells, what matters most first. */
enum { PARTS = 6, NEEDED = 3, PART = 96 };

static void progress_describe(const Progress *p, int64_t step, double loss,
                              char part[PARTS][PART]) {
    char number[64];
    memset(part, 0, PARTS * PART);
    print_text(part[0], PART, "%s %s", p->unit ? p->unit : "step", progress_steps(p, step, number));
    print_text(part[1], PART, "  loss %.4f", loss);
    time_left(number, seconds_left(p, step));
    print_text(part[2], PART, "  %s left", number);
    print_text(part[3], PART, "  %s tokens/s", human_count(number, p->tokens / p->seconds));
    if (p->epoch > 0) print_text(part[4], PART, "  epoch %.2f", p->epoch);
    if (!(p->peak > 0)) return;
    double share = 100 * p->flops / p->seconds / p->peak;
    if (p->load > 0)
        print_text(part[5], PART, "  %.0f%% of peak, load %s", share, FIGURES(p->load, 2));
    else print_text(part[5], PART, "  %.0f%% of peak", share);
}

static int length(char part[PARTS][PART], int parts) {
    int n = 0;
    for (int i = 0; i < parts; i++)
        n += (int)strlen(part[i]);
    return n;
}

static void progress_draw_bar(const Progress *p, int64_t step, int cells, Text *t) {
    int full = (int)((double)cells * share_done(p, step));
    text_add(t, "%s[", p->plain ? "" : "\033[36m");
    for (int i = 0; i < cells; i++)
        text_add(t, i < full ? "#" : ".");
    text_add(t, "]%s ", p->plain ? "" : "\033[0m");
}

/* A line that does not fit gets a smaller bar, then says less, then has no bar. */
void progress_line(const Progress *p, int64_t step, double loss, int columns, Text *t) {
    enum { BAR = 24, LEAST = 8, AROUND = 4 };
    char part[PARTS][PART];
    int parts = PARTS;
    progress_describe(p, step, loss, part);
    while (parts > NEEDED && length(part, parts) + LEAST + AROUND > columns)
        parts--;
    int room = columns - AROUND - length(part, parts);
    if (room >= LEAST) progress_draw_bar(p, step, room < BAR ? room : BAR, t);
    for (int i = 0; i < parts; i++)
        text_add(t, "%s", part[i]);
}

static void rewrite_line(Progress *p, int64_t step, double loss) {
    Text t = { 0 };
    text_add(&t, "\r\033[K");
    progress_line(p, step, loss, console_columns(STDOUT_FILENO), &t);
    if (!t.failed) progress_put(p, t.at);
    text_free(&t);
    p->line = true;
}

void progress_words(const Progress *p, int64_t step, double loss, Text *t) {
    char part[PARTS][PART];
    progress_describe(p, step, loss, part);
    for (int i = 0; i < PARTS; i++)
        text_add(t, "%s", part[i]);
    text_add(t, "\n");
}

static void progress_add_line(Progress *p, int64_t step, double loss) {
    Text t = { 0 };
    progress_words(p, step, loss, &t);
    if (!t.failed) progress_put(p, t.at);
    text_free(&t);
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
    bool edge = p->shown == 0 || step == p->steps || (p->end > 0 && now >= p->end);
    if (!edge && now - p->shown < (p->terminal ? BETWEEN_FRAMES : PROGRESS_BETWEEN_LINES)) return;
    p->shown = now;
    if (p->terminal) rewrite_line(p, step, loss);
    else progress_add_line(p, step, loss);
}

void progress_note(Progress *p, const char *format, ...) {
    char text[LINE_MOST], shown[2 * LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    print_textv(text, sizeof text, format, arguments);
    va_end(arguments);
    text_escape(shown, sizeof shown, text, strlen(text));
    progress_put(p, p->line ? "\r\033[K" : "");
    p->line = false;
    progress_put(p, shown);
    progress_put(p, "\n");
}

void progress_warn(Progress *p, const char *format, ...) {
    char text[LINE_MOST], shown[2 * LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    print_textv(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!*text) return;
    if (!p->quiet) {
        progress_note(p, "note: %s", text);
        return;
    }
    text_escape(shown, sizeof shown, text, strlen(text));
    program_note(shown);
}

void progress_close(Progress *p) {
    if (p->line) progress_put(p, "\n");
    p->line = false;
}
