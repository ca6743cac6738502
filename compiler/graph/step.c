/* SPDX-License-Identifier: MIT
** What the compiler is doing; see step.h.
*/
#include "step.h"

#include <stdarg.h>
#include <stdio.h>

void step_note(StepNote *note, int64_t operations, const char *format, ...) {
    if (!note) return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(note->what, sizeof note->what, format, ap);
    va_end(ap);
    note->operations = operations;
}
