/* SPDX-License-Identifier: MIT
** What the object of a row kernel depends on: the description that tells which kernels share code
** (rows_identity.c), the settings of a build, and the lines that the code came from.
*/
#include "kernel_objects.h"

#include "hash.h"

#include <string.h>

static void kernel_key_add_text(Sha256 *h, const char *text) {
    sha256_add(h, text, strlen(text) + 1);
}

static void kernel_key_add_line(Sha256 *h, Loc loc) {
    Loc at = loc_innermost(loc);
    const int64_t line = at.line;
    kernel_key_add_text(h, at.file ? at.file : "");
    sha256_add(h, &line, sizeof line);
}

void kernel_key(const Level *l, int level, const Rows *r, const RowsIdentity *identity, bool plain,
                char key[65]) {
    const int64_t facts[] = { level,  plain,      l->lanes,      r->lanes,
                              l->fma, l->narrows, r->p->guarded, identity->n };
    Sha256 h;
    sha256_start(&h);
    kernel_key_add_text(&h, l->name), kernel_key_add_text(&h, l->cpu),
        kernel_key_add_text(&h, l->features);
    sha256_add(&h, facts, sizeof facts);
    sha256_add(&h, identity->word, (size_t)identity->n * sizeof *identity->word);
    kernel_key_add_line(&h, r->step->n ? r->step->node[0]->loc : (Loc){ 0 });
    for (int i = 0; i < r->nvalue; i++)
        if (r->value[i].here) kernel_key_add_line(&h, r->value[i].n->loc);
    sha256_text(&h, key);
}
