/* SPDX-License-Identifier: MIT
** Words of a command line that name specs; see command.h.
*/
#include "command.h"

#include <string.h>

bool is_spec(const char *word) {
    size_t n = strlen(word);
    return n > 4 && word[0] != '-' && !strcmp(word + n - 4, ".lua");
}

int spec_of(const Options *o, const char **spec, Error *e) {
    const char *name = o->table->command[o->command].name;
    if (!o->words)
        return error_set(e, STATUS_USAGE, "strata %s: expected a spec, found nothing", name);
    if (o->words > 1)
        return error_set(e, STATUS_USAGE, "strata %s: expected one spec, found '%s' too", name,
                         o->word[1]);
    *spec = o->word[0];
    return STATUS_OK;
}
