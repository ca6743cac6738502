/* SPDX-License-Identifier: MIT
** What a Report remembers of the passes while its programs are planned. */
#ifndef STRATA_PASS_NOTES_H
#define STRATA_PASS_NOTES_H

#include "report.h"

/* A PassObserver's; 'report' is a Report whose 'training' and 'wanted' are set. */
void pass_notes_see(void *report, const PassEvent *e);
/* The program whose graph is kept: what the model is built for. */
int pass_notes_program(const Report *r);

#endif
