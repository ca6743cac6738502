/* SPDX-License-Identifier: MIT
** Results for people and for programs that read standard output; see console.h.
*/
#include "console.h"

#include "escape.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void console_fill_closed(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

int console_write(const char *bytes, size_t length, bool *closed, Error *e) {
    while (length > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes, length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EPIPE) {
            if (closed) *closed = true;
            return STATUS_OK;
        }
        if (n < 0)
            return error_set(e, STATUS_IO, "standard output: cannot write: %s", strerror(errno));
        bytes += n;
        length -= (size_t)n;
    }
    return STATUS_OK;
}

int console_text(Text *t, Error *e) {
    int status = text_status(t, e);
    if (!status) status = console_write(t->at ? t->at : "", t->length, NULL, e);
    text_free(t);
    return status;
}

int console_shown(const char *bytes, size_t length, bool *closed, Error *e) {
    size_t room = text_escape_room(length);
    char *shown = malloc(room);
    if (!shown) return error_memory(e, "standard output", room);
    size_t n = text_escape_lines(shown, room, bytes, length);
    int status = console_write(shown, n, closed, e);
    free(shown);
    return status;
}

int console_lines(Text *t, Error *e) {
    int status = text_status(t, e);
    if (!status) status = console_shown(t->at ? t->at : "", t->length, NULL, e);
    text_free(t);
    return status;
}

int console_columns(int file) {
    struct winsize w;
    return ioctl(file, TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col : 80;
}

void console_cut(char *text, int characters) {
    for (; *text; text++)
        if (((unsigned char)*text & 0xc0) != 0x80 && characters-- == 0) {
            *text = 0;
            return;
        }
}

char *human_bytes(char to[32], double bytes) {
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    int i = 0;
    for (; bytes >= 1024 && i < 6; i++)
        bytes /= 1024;
    print_text(to, 32, i ? "%.1f %s" : "%.0f %s", bytes, unit[i]);
    return to;
}

/* Below 10000 as it is, else three digits: 3.07 and M, 45.6 and k; returns the unit's letter. */
static const char *count_digits(char to[32], double count) {
    static const char *const unit[] = { "", "k", "M", "G", "T", "P" };
    int i = 0;
    if (fabs(count) >= 9999.5)
        for (; fabs(count) >= 999.5 && i < 5; i++)
            count /= 1000;
    int digits = i ? fabs(count) < 9.995 ? 2 : fabs(count) < 99.95
                   : count != floor(count) && fabs(count) < 99.95;
    print_text(to, 32, "%.*f", digits, count);
    return unit[i];
}

char *human_count(char to[32], double count) {
    char number[32];
    const char *unit = count_digits(number, count);
    print_text(to, 32, "%.20s%s", number, unit);
    return to;
}

char *human_flops(char to[32], double flops) {
    char number[32];
    const char *unit = count_digits(number, flops);
    print_text(to, 32, "%.16s %sFLOPs", number, unit);
    return to;
}
