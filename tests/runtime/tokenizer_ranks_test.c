/* SPDX-License-Identifier: MIT
** .tiktoken files of which one line after another is none, or contradicts others.  What is accepted
** encodes and decodes; of what is not, a line names the file and the line.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "scratch.h"
#include "sweep.h"
#include "tokenizer_promises.h"

#define PATTERN "\\p{L}+|\\s+(?!\\S)|[^\\p{L}]"

/* What comes in the place of a line; of it: %P the piece, %R the rank, %Q the next rank. */
static const char *const lines[] = {
    "",
    " ",
    "%P",
    "%R",
    "%P ",
    " %R",
    "%P  %R",
    " %P %R",
    "%P\t%R",
    "%P %R ",
    "%P %R %R",
    "%P %R\r",
    "%P %R\n%P %R",
    "%P %R\n\n",
    "%P %Q",
    "%P 0",
    "%P -1",
    "%P -0",
    "%P +%R",
    "%P 0%R",
    "%P 000000000%R",
    "%P 0x1",
    "%P 1e2",
    "%P 2.5",
    "%P 300",
    "%P 4000000",
    "%P 4194303",
    "%P 4194304",
    "%P 999999999",
    "%P 2147483648",
    "%P 99999999999999999999",
    "%P nan",
    "%P rank",
    "IQ== %R",
    "YWJhYmFi %R",
    "==== %R",
    "= %R",
    "A %R",
    "AA %R",
    "AAA %R",
    "AAA= %R",
    "AAAAA %R",
    "AB== %R",
    "A=A= %R",
    "A?== %R",
    "A\x80== %R",
    "-_== %R",
    "%P= %R",
    "%P%P %R",
    "\xef\xbb\xbf%P %R",
    "<|endoftext|> %R",
    "{\"%P\": %R}",
    "# a comment",
    NULL,
};

/* == Files ================================================================ */

/* The line with its number, as the file's reader says it; or one of the file as a whole. */
static bool is_clear(const Error *e) {
    if (!sweep_line(e, "file:")) return false;
    const char *place = e->text + 5;
    return !strncmp(place, "line ", 5) || !strncmp(place, " expected each byte ", 20)
        || !strncmp(place, " expected ranks below ", 22)
        || !strncmp(place, " expected as many ranks as ", 27)
        || !strncmp(place, " expected a tokenizer ", 22);
}

static void read_it(Sweep *s, const char *place, const char *came, const Text *file,
                    const char *pattern) {
    Error e = { 0 };
    int taken = tokenizer_promises(file->length ? file->at : "", file->length, pattern, &e);
    bool clear = taken || is_clear(&e);
    sweep_tried(s, !taken, clear);
    if (!clear) sweep_tell(s, place, came, &e);
}

/* == Lines ================================================================ */

static void add_line(Text *to, const char *form, const char *line, size_t length, long rank) {
    const char *space = memchr(line, ' ', length);
    assert_non_null(space);
    for (; *form; form++) {
        if (*form != '%') text_bytes(to, form, 1);
        else if (*++form == 'P') text_bytes(to, line, (size_t)(space - line));
        else text_add(to, "%ld", *form == 'R' ? rank : rank + 1);
    }
}

static void change_line(Sweep *s, const char *text, const char *line, long rank) {
    size_t length = strcspn(line, "\n");
    char place[32];
    print_text(place, sizeof place, "line %ld", rank + 1);
    for (int i = 0; lines[i]; i++) {
        if (!sweep_due(s)) continue;
        Text file = { 0 };
        text_bytes(&file, text, (size_t)(line - text));
        add_line(&file, lines[i], line, length, rank);
        text_bytes(&file, line + length, strlen(line + length));
        read_it(s, place, lines[i], &file, PATTERN);
        text_free(&file);
    }
}

static char *read_file(void) {
    size_t n;
    char *text = scratch_read(SOURCE_DIR "/tests/runtime/tokenizers/small.tiktoken", &n);
    assert_non_null(text);
    return text;
}

static void each_line(void **state) {
    Sweep s;
    long rank = 0;
    (void)state;
    if (!sweep_open(&s, "each_line", 97)) return;
    char *text = read_file();
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        change_line(&s, text, line, rank++);
    free(text);
    sweep_end(&s);
}

/* == The file as a whole ================================================== */

/* Without its end, from every byte on; with other ends of lines, and without a pattern. */
static void whole_files(void **state) {
    Sweep s;
    (void)state;
    if (!sweep_open(&s, "whole_files", 31)) return;
    char *text = read_file();
    for (size_t n = 0, all = strlen(text); n <= all; n++) {
        if (!sweep_due(&s)) continue;
        Text begin = { text, n, 0, false }, end = { text + n, all - n, 0, false };
        read_it(&s, "bytes from the beginning", "some", &begin, PATTERN);
        read_it(&s, "bytes from the end", "some", &end, PATTERN);
        read_it(&s, "without a pattern", "some", &begin, NULL);
    }
    Text other = { 0 };
    for (const char *c = text; *c; c++)
        text_add(&other, *c == '\n' ? "\r%c" : "%c", *c);
    read_it(&s, "ends of lines", "CR LF", &other, PATTERN);
    assert_int_equal(s.bad, 0);
    for (char *c = other.at; *c; c++)
        if (*c == '\n') *c = ' ';
    read_it(&s, "ends of lines", "CR", &other, PATTERN);
    text_free(&other);
    free(text);
    sweep_end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line),
        cmocka_unit_test(whole_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
