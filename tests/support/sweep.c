/* SPDX-License-Identifier: MIT
** See sweep.h. */
#include "sweep.h"

#include "test.h"

#include <string.h>

#include "setting.h"

bool sweep_open(Sweep *s, const char *name, uint64_t every) {
    const char *wanted = getenv("SWEEP_OF");
    *s = (Sweep){ .name = name, .every = setting("SWEEP_EVERY", every) };
    assert_true(s->every);
    return !wanted || !strcmp(wanted, name);
}

bool sweep_due(Sweep *s) { return s->number++ % s->every == 0; }

bool sweep_line(const Error *e, const char *file) {
    if (e->status != STATUS_USER && e->status != STATUS_LIMIT) return false;
    if (strchr(e->text, '\n') || strncmp(e->text, file, strlen(file)) != 0) return false;
    const char *expected = strstr(e->text, ": expected ");
    return expected && strstr(expected, ", found ");
}

void sweep_tried(Sweep *s, int status, bool clear) {
    s->tried++;
    if (!status) s->accepted++;
    else s->refused++;
    s->bad += !clear;
}

void sweep_tell(const Sweep *s, const char *field, const char *value, const Error *e) {
    size_t n = strlen(value);
    const char *shown = !n ? "gone" : n < 300 ? value : "a long text";
    print_error("%s: %s: %s: status %d, %s\n", s->name, field, shown, e->status, e->text);
}

void sweep_end(const Sweep *s) {
    if (getenv("SWEEP_EVERY"))
        print_message("%s: %llu tried, %llu accepted, %llu refused, %llu badly\n", s->name,
                      (unsigned long long)s->tried, (unsigned long long)s->accepted,
                      (unsigned long long)s->refused, (unsigned long long)s->bad);
    assert_true(s->accepted && s->refused); /* both sides of the checks */
    assert_int_equal(s->bad, 0);
}
