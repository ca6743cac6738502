/* SPDX-License-Identifier: MIT
** eval --rope: how positions beyond the context turn.
*/
#include "eval_rope.h"

#include <stdlib.h>
#include <string.h>

int eval_rope(const Program *p, double *factor, Error *e) {
    const OptionValue *rope = option(p, OPTION_ROPE);
    const char *text = rope->given ? rope->text : "";
    char *end = NULL;
    *factor = 0;
    if (!rope->given) return STATUS_OK;
    if (!strncmp(text, "yarn:", 5)) *factor = strtod(text + 5, &end);
    if (!end || end == text + 5 || *end || !(*factor >= 1 && *factor <= 1e6))
        return error_set(e, STATUS_USAGE,
                         "eval: --rope: expected yarn:F with F from 1 to 1000000, found '%s'",
                         text);
    if (p->m->learned_positions || p->m->ctx_bytes == STRATA_CTX_HEAD)
        return error_set(e, STATUS_USER,
                         "eval: --rope: expected a model whose positions are rotary, found %s",
                         p->m->learned_positions ? "learned ones" : "none");
    return STATUS_OK;
}
