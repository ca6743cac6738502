/* SPDX-License-Identifier: MIT
** Lines that show text of others; see command.h.
*/
#include "command.h"
#include "escape.h"

#include <string.h>

void show_line(FILE *f, const char *before, const char *text, const char *after) {
    char shown[4096];
    text_escape(shown, sizeof shown, text, strlen(text));
    fprintf(f, "%s%s%s\n", before, shown, after);
}
