/* SPDX-License-Identifier: MIT
** How compiling ends early, in one place; see fatal.h. */
#include "fatal.h"

#include "error.h"
#include "escape.h"
#include "op.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* == Ending =============================================================== */

/* Files and sites are the user's text. */
static void fatal_show(const char *s) {
    char shown[1024];
    text_escape(shown, sizeof shown, s, strlen(s));
    fputs(shown, stderr);
}

static void say(const char *fmt, va_list ap) {
    char text[1024];
    vsnprintf(text, sizeof text, fmt, ap);
    fatal_show(text);
}

/* No handlers of exit: LLVM's would take down what its other thread still works with. */
static _Noreturn void fatal_end(int status, const char *last) {
    fputs(last, stderr);
    fflush(stdout);
    _exit(status);
}

_Noreturn void limit_hit(const char *fmt, ...) {
    va_list ap;
    fputs("error: ", stderr);
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    fatal_end(STATUS_LIMIT, "\n");
}

static void show_place(const Node *n) {
    if (!n || !n->loc.file) return;
    fatal_show(n->loc.file);
    fprintf(stderr, ":%d: ", n->loc.line);
}

_Noreturn void limit_at(const Node *n, const char *fmt, ...) {
    va_list ap;
    fputs("error: ", stderr);
    show_place(n);
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    fatal_end(STATUS_LIMIT, "\n");
}

_Noreturn void bug(const Node *n, const char *fmt, ...) {
    va_list ap;
    fputs("error: ", stderr);
    show_place(n);
    fputs("internal error", stderr);
    if (n) fprintf(stderr, " at %%%d = %s", n->id, op_info[n->op].name);
    if (n && n->site) {
        fputs(" of ", stderr);
        fatal_show(n->site);
    }
    fputs(": ", stderr);
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    fatal_end(STATUS_INTERNAL, "; please report this\n");
}

void *checked(void *memory) {
    if (!memory) limit_hit("%s", NO_MEMORY);
    return memory;
}
