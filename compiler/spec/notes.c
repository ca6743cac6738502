/* SPDX-License-Identifier: MIT
** What a spec reports besides errors: notes on the model, and its own prints.
*/
#include "escape.h"
#include "front.h"

#include <string.h>

enum { MAXPRINTS = 1000, MAXPRINT = 1000 }; /* lines that a spec prints, bytes of one */

void spec_note(Front *f, const char *text) {
    Model *m = f->m;
    char line[MAXNOTE + 4];
    if (m->nnote > MAXNOTES) return;
    if (m->nnote == MAXNOTES) text = "more notes are left out";
    if (strlen(text) > MAXNOTE) {
        size_t n = MAXNOTE;
        while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
        snprintf(line, sizeof line, "%.*s...", (int)n, text);
        text = line;
    }
    m->note = graph_grown(f->g, m->note, m->nnote, &f->notecap, sizeof *m->note);
    m->note[m->nnote++] = graph_string(f->g, text);
}

int notes_call(lua_State *L) {
    spec_note(front(L), luaL_checkstring(L, 1));
    return 0;
}

/* print(text): a line that begins with where the user is.  A loop that never ends prints so many
** lines and no more. */
int notes_call_print(lua_State *L) {
    Front *f = front(L);
    size_t n, all;
    const char *text = luaL_checklstring(L, 1, &all);
    char shown[4 * MAXPRINT + 1], file[512];
    Loc at = spec_here(L);
    if (!f->limit.console || f->prints > MAXPRINTS) return 0;
    text_escape(file, sizeof file, at.file, strlen(at.file));
    n = all < MAXPRINT ? all : MAXPRINT;
    while (n < all && n && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    text_escape(shown, sizeof shown, text, n);
    if (f->prints++ < MAXPRINTS)
        fprintf(f->limit.console, "%s:%d: %s%s\n", file, at.line, shown, n < all ? "..." : "");
    else
        fprintf(f->limit.console, "%s:%d: what is printed after %d lines is left out\n", file,
                at.line, MAXPRINTS);
    fflush(f->limit.console);
    return 0;
}
