/* SPDX-License-Identifier: MIT
** See base64.h. */
#include "base64.h"

#include <stdint.h>
#include <string.h>

static int digit_of(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

bool base64_decode(const char *text, size_t length, char *to, size_t *n) {
    *n = 0;
    if (length % 4) return false;
    for (size_t i = 0; i < length; i += 4) {
        int last = i + 4 == length, pad = last && text[i + 3] == '=' ? 1 + (text[i + 2] == '=') : 0;
        uint32_t bits = 0;
        for (int k = 0; k < 4; k++) {
            int digit = k >= 4 - pad ? 0 : digit_of(text[i + (size_t)k]);
            if (digit < 0) return false;
            bits = bits << 6 | (uint32_t)digit;
        }
        if (pad && bits & ((1u << 8 * pad) - 1)) return false;
        for (int k = 0; k < 3 - pad; k++)
            to[(*n)++] = (char)(bits >> (16 - 8 * k));
    }
    return true;
}
