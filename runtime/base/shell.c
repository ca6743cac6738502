/* SPDX-License-Identifier: MIT
** See shell.h. */
#include "shell.h"

#include <string.h>

void text_shell_word(Text *t, const char *word) {
    size_t plain =
        strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./,:@%");
    if (*word && !word[plain]) {
        text_add(t, "%s", word);
        return;
    }
    text_add(t, "'");
    for (; *word; word++)
        if (*word == '\'') text_add(t, "'\\''");
        else text_bytes(t, word, 1);
    text_add(t, "'");
}
