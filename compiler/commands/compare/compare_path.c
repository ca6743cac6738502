/* SPDX-License-Identifier: MIT
** Where the files of a run are. */
#include "compare_runs.h"

void run_path(const RunPlan *p, const char *suffix, char path[WORKSHOP_PATH]) {
    print_text(path, WORKSHOP_PATH, "%s.%.40s", p->base, suffix);
}
