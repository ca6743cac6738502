/* SPDX-License-Identifier: MIT
** The passes that made a model's programs: their times and their effects on the number of nodes,
** and the graph after one of them.
*/
#include "pass_notes.h"
#include "views.h"

void report_passes_text(const Report *r, Text *t) {
    text_add(t, "program   pass            ms  nodes before   after\n");
    for (int i = 0; i < r->npass; i++) {
        const PassNote *n = &r->pass[i];
        const PassInfo *p = &pass_info[n->pass];
        const char *kind = n->off ? "  off" : p->optional ? "  optional" : "";
        bool first = !i || r->pass[i - 1].program != n->program;
        text_add(t, "%-8s  %-10s %8.2f  %12d  %6d%s\n", first ? plan_name(n->program) : "", p->name,
                 1e3 * n->seconds, n->before, n->nodes, kind);
    }
}

int report_after_text(const Report *r, Text *t, Error *e) {
    const char *pass = pass_info[*r->wanted].name;
    if (!r->after)
        return error_set(e, STATUS_USER,
                         "strata inspect: --graph=after:%s: expected a pass that the %s program "
                         "runs, found one that it does not",
                         pass, plan_name(pass_notes_program(r)));
    text_add(t, "%s", r->after);
    return STATUS_OK;
}
