/* SPDX-License-Identifier: MIT
** Specs that tests write: FILE (of a model: model.lua) in the test's folder (scratch.h) has the
** text, in printf's words, and what it makes is loaded; a spec that is wrong fails the test.
*/
#ifndef TEST_SCRATCH_SPEC_H
#define TEST_SCRATCH_SPEC_H

#include "scratch.h"
#include "spec.h"

struct Report;
struct ReportOptions;

__attribute__((format(printf, 2, 3))) Model *scratch_model(void **state, const char *text, ...);
__attribute__((format(printf, 4, 5))) struct Report *scratch_report(void **state, const char *file,
                                                                    const struct ReportOptions *o,
                                                                    const char *text, ...);

#endif
