/* SPDX-License-Identifier: MIT
** Unicode's forms: those of utf8proc_map, byte by byte, at any order and number of marks. */
#include "unicode_form.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "test.h"

enum { TEXTS = 4000, CHARACTERS = 60, MARKS = 200000 };

static const NormalizeKind kinds[] = { NORMALIZE_NFC, NORMALIZE_NFD, NORMALIZE_NFKC,
                                       NORMALIZE_NFKD };

static void check(NormalizeKind kind, NormalizeWork *w, const char *text, const char *expected,
                  size_t length) {
    Text out = { 0 };
    assert_int_equal(unicode_form(kind, w, &out, text, strlen(text)), STATUS_OK);
    assert_int_equal(out.length, length);
    if (length) assert_memory_equal(out.at, expected, length);
    text_free(&out);
}

/* == Spot values, of Python's unicodedata ================================= */

static void known_texts(void **state) {
    static const struct {
        const char *text, *form[4];
    } known[] = {
        { "", { "", "", "", "" } },
        { "plain", { "plain", "plain", "plain", "plain" } },
        /* e + acute; a + dot below + circumflex in the wrong order */
        { "e\u0301", { "\u00e9", "e\u0301", "\u00e9", "e\u0301" } },
        { "a\u0302\u0323", { "\u1ead", "a\u0323\u0302", "\u1ead", "a\u0323\u0302" } },
        /* marks without a character before them */
        { "\u0301\u0316", { "\u0316\u0301", "\u0316\u0301", "\u0316\u0301", "\u0316\u0301" } },
        /* a second mark of one class is not joined over the first that stays */
        { "a\u0315\u0300\u05ae"
          "b",
          { "\u00e0\u05ae\u0315b", "a\u05ae\u0300\u0315b", "\u00e0\u05ae\u0315b",
            "a\u05ae\u0300\u0315b" } },
        { "\u1100\u1161\u11a8",
          { "\uac01", "\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8" } },
        { "\uac01\uac00",
          { "\uac01\uac00", "\u1100\u1161\u11a8\u1100\u1161", "\uac01\uac00",
            "\u1100\u1161\u11a8\u1100\u1161" } },
        { "\ufb01\u2460", { "\ufb01\u2460", "\ufb01\u2460", "fi1", "fi1" } },
        { "\u212b\u2126", { "\u00c5\u03a9", "A\u030a\u03a9", "\u00c5\u03a9", "A\u030a\u03a9" } },
        /* excluded from composition */
        { "\u0958", { "\u0915\u093c", "\u0915\u093c", "\u0915\u093c", "\u0915\u093c" } },
        { "\U0001d15e",
          { "\U0001d157\U0001d165", "\U0001d157\U0001d165", "\U0001d157\U0001d165",
            "\U0001d157\U0001d165" } },
    };
    (void)state;
    NormalizeWork w = { 0 };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int k = 0; k < 4; k++)
            check(kinds[k], &w, known[i].text, known[i].form[k], strlen(known[i].form[k]));
    normalize_done(&w);
}

/* == Random texts ========================================================= */

static uint32_t draw(uint64_t *seed, uint32_t below) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

static int32_t draw_character(uint64_t *seed) {
    static const int32_t from[][2] = {
        { 0x300, 0x36f },     { 0x300, 0x36f },   { 0x591, 0x5bd },    { 0x64b, 0x65f },
        { 0x93c, 0x94d },     { 0x1dc0, 0x1dff }, { 0x1100, 0x1112 },  { 0x1161, 0x1175 },
        { 0x11a7, 0x11c2 },   { 0xac00, 0xd7a3 }, { 'a', 'z' },        { 0xc0, 0x24f },
        { 0x1e00, 0x1eff },   { 0x390, 0x3d0 },   { 0xf900, 0xfb4f },  { 0x2000, 0x24ff },
        { 0x1d150, 0x1d172 }, { 0x1, 0xd7ff },    { 0xe000, 0x10ffff }
    };
    const int32_t *range = from[draw(seed, sizeof from / sizeof *from)];
    return range[0] + (int32_t)draw(seed, (uint32_t)(range[1] - range[0] + 1));
}

/* One kind of character now and then, so that there are runs of marks. */
static void draw_text(uint64_t *seed, char *text) {
    size_t length = 0;
    int characters = (int)draw(seed, CHARACTERS);
    for (int i = 0; i < characters;) {
        bool marks = draw(seed, 2);
        for (int run = (int)draw(seed, 12); run >= 0 && i < characters; run--, i++) {
            int32_t c = marks ? 0x300 + (int32_t)draw(seed, 0x70) : draw_character(seed);
            length += (size_t)utf8proc_encode_char(c, (utf8proc_uint8_t *)text + length);
        }
    }
    text[length] = 0;
}

static void random_texts(void **state) {
    static const int options[] = { UTF8PROC_COMPOSE, UTF8PROC_DECOMPOSE,
                                   UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
                                   UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT };
    (void)state;
    NormalizeWork w = { 0 };
    uint64_t seed = 59;
    int others = 0;
    for (int i = 0; i < TEXTS; i++) {
        char text[4 * CHARACTERS + 1];
        draw_text(&seed, text);
        for (int k = 0; k < 4; k++) {
            utf8proc_uint8_t *expected;
            utf8proc_ssize_t n = utf8proc_map((const utf8proc_uint8_t *)text, 0, &expected,
                                              UTF8PROC_NULLTERM | UTF8PROC_STABLE
                                                  | (unsigned)options[k]);
            assert_true(n >= 0);
            others += strcmp(text, (char *)expected) != 0;
            check(kinds[k], &w, text, (char *)expected, (size_t)n);
            free(expected);
        }
    }
    assert_true(others > TEXTS);
    normalize_done(&w);
}

/* == Long runs ============================================================ */

static void repeat(Text *t, const char *what, int times) {
    for (int i = 0; i < times; i++)
        text_bytes(t, what, strlen(what));
}

/* Two classes in turn, the higher first: by insertion, each of the lower passes all of the higher,
** 10^10 steps for each form. */
static void long_runs(void **state) {
    (void)state;
    NormalizeWork w = { 0 };
    Text text = { 0 }, apart = { 0 }, joined = { 0 };
    text_bytes(&text, "a", 1);
    repeat(&text, "\u0301\u0316", MARKS / 2);
    text_bytes(&apart, "a", 1);
    repeat(&apart, "\u0316", MARKS / 2);
    repeat(&apart, "\u0301", MARKS / 2);
    text_bytes(&joined, "\u00e1", 2);
    repeat(&joined, "\u0316", MARKS / 2);
    repeat(&joined, "\u0301", MARKS / 2 - 1);
    assert_false(text.failed || apart.failed || joined.failed);
    for (int k = 0; k < 4; k++) {
        bool composes = kinds[k] == NORMALIZE_NFC || kinds[k] == NORMALIZE_NFKC;
        const Text *expected = composes ? &joined : &apart;
        check(kinds[k], &w, text.at, expected->at, expected->length);
    }
    normalize_done(&w);
    text_free(&text), text_free(&apart), text_free(&joined);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(known_texts),
                                        cmocka_unit_test(random_texts),
                                        cmocka_unit_test(long_runs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
