/* SPDX-License-Identifier: MIT
** Which identifiers and parameter names are allowed.
*/
#include "bindings.h"

#include <ctype.h>
#include <string.h>

/* identifier(s, most): whether s is [A-Za-z_][A-Za-z0-9_]*, at most so long */
int names_call_identifier(lua_State *L) {
    size_t n;
    const char *s = luaL_checklstring(L, 1, &n);
    bool ok = n > 0 && n <= (size_t)luaL_checkinteger(L, 2) && !isdigit((unsigned char)*s);
    for (size_t i = 0; i < n; i++)
        ok &= s[i] == '_' || (isalnum((unsigned char)s[i]) && (unsigned char)s[i] < 128);
    lua_pushboolean(L, ok);
    return 1;
}

/* Whether each '*' is all there is between two dots, and there is one at most. */
static bool stars_fit(const char *s) {
    const char *star = strchr(s, '*');
    if (!star) return true;
    bool before = star > s && star[-1] == '.', after = !star[1] || star[1] == '.';
    return before && after && !strchr(star + 1, '*');
}

/* Letters, digits, '_' and dots between them, '*' for numbers; not what checkpoints add. */
const char *names_checked(lua_State *L, int arg) {
    static const char *const taken[] = { "optimizer.", "tokenizer.", STATISTIC };
    size_t n;
    const char *s = luaL_checklstring(L, arg, &n);
    bool ok = n > 0 && n <= MAXNAME && s[0] != '.' && s[n - 1] != '.' && !strstr(s, "..");
    for (size_t i = 0; i < n; i++)
        ok &= s[i] == '_' || s[i] == '.' || s[i] == '*' || isalnum((unsigned char)s[i]);
    ok &= stars_fit(s);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        ok &= strncmp(s, taken[i], strlen(taken[i])) != 0;
    if (!ok)
        spec_fail(
            L, "expected a parameter's name of at most %d letters, digits, '_' and '.', found '%s'",
            MAXNAME, s);
    return s;
}
