/* SPDX-License-Identifier: MIT
** Passes on the command line: --no-pass of build and inspect, --graph=after: of inspect. */
#include "command.h"
#include "pipeline.h"

#include <stdio.h>
#include <string.h>

int no_pass_parse(const char *command, const char *value, unsigned *off, Error *e) {
    char names[256];
    for (const char *at = value; at;) {
        size_t n = strcspn(at, ",");
        PassId pass = pass_called(at, n);
        if (pass == PASSES || !pass_info[pass].optional)
            return error_set(e, STATUS_USAGE, "strata %s: --no-pass: expected %s, found '%.*s'",
                             command, pass_names(names, sizeof names, true), (int)n, at);
        *off |= 1u << pass;
        at = at[n] ? at + n + 1 : NULL;
    }
    return STATUS_OK;
}

int after_pass_parse(const char *value, PassId *pass, Error *e) {
    static const char prefix[] = "after:";
    const size_t n = sizeof prefix - 1;
    char names[256];
    *pass = strncmp(value, prefix, n) ? PASSES : pass_called(value + n, strlen(value + n));
    if (*pass != PASSES) return STATUS_OK;
    return error_set(e, STATUS_USAGE, "strata inspect: --graph: expected after:%s, found '%s'",
                     pass_names(names, sizeof names, false), value);
}
