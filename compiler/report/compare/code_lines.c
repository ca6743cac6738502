/* SPDX-License-Identifier: MIT
** Lines of code and their shapes; see code_lines.h. */
#include "code_lines.h"
#include "array.h"
#include "views.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE_TEXT = 512 }; /* characters of a shape; longer lines are cut for it */

/* == Lines ================================================================ */

static uint64_t hash(const char *s) { /* FNV-1a */
    uint64_t h = 14695981039346656037u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h;
}

static size_t code_lines_keep(CodeLines *c, const char *s, size_t n) {
    size_t at = c->all.length;
    text_bytes(&c->all, s, n);
    text_bytes(&c->all, "", 1);
    return at;
}

static void code_lines_add(CodeLines *c, const char *text, size_t n, const char *place,
                           const char *shape) {
    if (c->n == CODE_LINES) {
        c->more++;
        return;
    }
    if (!ARRAY_ROOM(c->line, c->n, c->room, 64)) {
        c->failed = true;
        return;
    }
    size_t at = code_lines_keep(c, text, n);
    c->line[c->n++] = (CodeLine){ at, code_lines_keep(c, place, strlen(place)), hash(shape) };
    if (c->all.failed) c->failed = true;
}

const char *code_text(const CodeLines *c, int i) { return c->all.at + c->line[i].text; }

const char *code_place(const CodeLines *c, int i) { return c->all.at + c->line[i].place; }

void code_free(CodeLines *c) {
    text_free(&c->all);
    free(c->line);
    *c = (CodeLines){ 0 };
}

/* == The listing ========================================================== */

/* "v12 = mul a3, v4" is "v = mul a, v", "linear of layers.3.mlp" is "linear of layers.mlp"; blanks
** are one. */
static void listing_shape(const char *s, size_t n, char to[SHAPE_TEXT]) {
    static const char layers[] = "layers.";
    size_t k = 0;
    char before = ' ';
    for (size_t i = 0; i < n && k + 1 < SHAPE_TEXT; before = s[i++]) {
        bool value = (s[i] == 'a' || s[i] == 'v') && before == ' ' && i + 1 < n
            && isdigit((unsigned char)s[i + 1]);
        if (s[i] == ' ' && before == ' ') continue;
        to[k++] = s[i];
        size_t skip = value ? 1
            : k >= sizeof layers - 1
                && !memcmp(to + k - (sizeof layers - 1), layers, sizeof layers - 1)
            ? 1
            : 0;
        while (skip && i + 1 < n && isdigit((unsigned char)s[i + 1]))
            i++;
    }
    to[k] = 0;
}

/* Columns closer together than in the listing: what is wide there is half a page here. */
static size_t code_lines_narrow(const char *s, size_t n, char to[SHAPE_TEXT]) {
    static const size_t column[] = { 30, 46 };
    size_t k = 0, next = 0;
    for (size_t i = 0; i < n && k + 64 < SHAPE_TEXT;) {
        size_t blanks = strspn(s + i, " ");
        if (blanks < 2) {
            to[k++] = s[i++];
            continue;
        }
        size_t least = k + 2;
        do
            to[k++] = ' ';
        while (k < least || (next < 2 && k < column[next]));
        next++;
        i += blanks;
    }
    return k;
}

static size_t trimmed(const char *s, size_t n) {
    while (n && s[n - 1] == ' ')
        n--;
    return n;
}

void code_listing(const Report *r, const ReportKernel *k, CodeLines *out) {
    Text lines = { 0 }, places = { 0 };
    char shape[SHAPE_TEXT], line[SHAPE_TEXT];
    report_kernel_lines(r, k, &lines, &places);
    if (lines.failed || places.failed) out->failed = true;
    char *text = lines.at, *place = places.at;
    while (!out->failed && text && place && *text) {
        size_t n = strcspn(text, "\n"), indent = strspn(text, " "), m = strcspn(place, "\n");
        listing_shape(text, n, shape);
        place[m] = 0;
        code_lines_add(out, line,
                       code_lines_narrow(text + indent,
                                         trimmed(text + indent, n > indent ? n - indent : 0), line),
                       place, shape);
        text += n + 1;
        place += m + 1;
    }
    text_free(&lines);
    text_free(&places);
}

/* == Assembly ============================================================= */

/* "%ymm3" is "%ymm", "%r12d" and "%eax" are "%r": the operation says how wide. */
static size_t register_shape(const char *s, char *to) {
    size_t n = 1;
    while (isalnum((unsigned char)s[n]))
        n++;
    bool vector = s[2] == 'm' && s[3] == 'm', mask = s[1] == 'k', rip = !strncmp(s + 1, "rip", 3);
    strcpy(to,
           vector     ? s[1] == 'z'  ? "%zmm"
                       : s[1] == 'y' ? "%ymm"
                                     : "%xmm"
               : mask ? "%k"
               : rip  ? "%rip"
                      : "%r");
    return n;
}

/* ".LBB61_7" is ".LBB", ".LCPI3_0" is ".LCPI". */
static size_t label_shape(const char *s, char *to) {
    size_t letters = 2, n;
    while (isalpha((unsigned char)s[letters]))
        letters++;
    for (n = letters; isdigit((unsigned char)s[n]) || s[n] == '_'; n++) {
    }
    memcpy(to, s, letters < 15 ? letters : 15);
    to[letters < 15 ? letters : 15] = 0;
    return n;
}

/* An offset before a register, "32(" or "-8(", is nothing. */
static size_t offset_length(const char *s) {
    size_t n = *s == '-';
    if (!isdigit((unsigned char)s[n])) return 0;
    while (isalnum((unsigned char)s[n]))
        n++;
    return s[n] == '(' ? n : 0;
}

static void instruction_shape(const char *s, char to[SHAPE_TEXT]) {
    size_t k = 0;
    char before = ' ';
    while (*s && k + 16 < SHAPE_TEXT) {
        char part[16] = { *s };
        bool begins = before == ' ' || before == ',';
        size_t n = *s == '%'             ? register_shape(s, part)
            : s[0] == '.' && s[1] == 'L' ? label_shape(s, part)
                                         : 1,
               offset = begins ? offset_length(s) : 0;
        if (offset) n = offset, *part = 0;
        before = *s;
        s += n;
        strcpy(to + k, part);
        k += strlen(part);
    }
    to[k] = 0;
}

/* Of a module, whose files have numbers of their own: from its first line, '\t.file\t"NAME"'. */
static const char *module_of(const char *text, const char *at) {
    static const char first[] = "\t.file\t\"";
    for (const char *next = text; (next = strstr(next, first)) && next < at; next++)
        text = next;
    return text;
}

/* "library/mlp.lua" of '.file 6 "library" "mlp.lua"'; false: the file has no such number. */
static bool file_name(const char *text, int number, char to[256]) {
    char head[40], folder[160] = "", name[96] = "";
    print_text(head, sizeof head, "\t.file\t%d \"", number);
    const char *at = strstr(text, head);
    if (!at || sscanf(at + strlen(head) - 1, "\"%159[^\"\n]\" \"%95[^\"\n]\"", folder, name) < 1)
        return false;
    print_text(to, 256, *name ? "%s/%s" : "%s", folder, name);
    return true;
}

typedef struct SourcePlace {
    int file, line;
    char name[256], text[288];
} SourcePlace;

/* ".loc 6 19 0 ...": line 0 says that what follows is nobody's. */
static void code_lines_take_place(const char *text, const char *loc, SourcePlace *p) {
    int file, line;
    if (sscanf(loc, "\t.loc\t%d %d", &file, &line) != 2) return;
    if (file != p->file && !file_name(text, file, p->name)) return;
    p->file = file;
    p->line = line;
    if (line) print_text(p->text, sizeof p->text, "%s:%d", p->name, line);
    else *p->text = 0;
}

/* One line of the text: an instruction, a label that is jumped to, or neither. */
static void take_line(const char *line, size_t n, const SourcePlace *p, CodeLines *out) {
    char copy[SHAPE_TEXT], shape[SHAPE_TEXT];
    bool label = !strncmp(line, ".LBB", 4);
    if (!label && (*line != '\t' || line[1] == '.' || line[1] == '#' || n < 2)) return;
    size_t skip = !label, k = 0;
    for (size_t i = skip; i < n && k + 1 < sizeof copy && line[i] != '#'; i++)
        copy[k++] = line[i] == '\t' ? ' ' : line[i];
    k = trimmed(copy, k);
    copy[k] = 0;
    instruction_shape(copy, shape);
    code_lines_add(out, copy, k, label ? "" : p->text, shape);
}

void code_assembly(const char *text, const char *function, CodeLines *out) {
    char head[160];
    SourcePlace p = { .file = -1 };
    print_text(head, sizeof head, "\n%s:", function);
    const char *at = strstr(text, head);
    if (at) text = module_of(text, at);
    for (at = at ? strchr(at + 1, '\n') : NULL; at && strncmp(at + 1, ".Lfunc_end", 10);
         at = strchr(at + 1, '\n')) {
        size_t n = strcspn(at + 1, "\n");
        if (!strncmp(at + 1, "\t.loc\t", 6)) code_lines_take_place(text, at + 1, &p);
        else take_line(at + 1, n, &p, out);
    }
}
