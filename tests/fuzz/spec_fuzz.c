/* SPDX-License-Identifier: MIT
** Specs: Lua in its sandbox, up to the graph.  Seeds are the specs of the tree, good and bad; lines
** and words go from one to another.  An error is a line about the spec, with nothing in it that a
** terminal would obey; a graph that is accepted is a graph.
*/
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"
#include "spec.h"

const int fuzz_bytes = 2;
const char *const fuzz_words[] = { "reshape(",
                                   "stack {",
                                   "concat({",
                                   "slice(",
                                   "sum(",
                                   "softmax(",
                                   "linear(",
                                   "transpose(",
                                   "mixer {",
                                   "model {",
                                   "layer {",
                                   "times(",
                                   "attention { heads = 2 }",
                                   "m:param(site, 'p', { 4 }, 1)",
                                   "m.dim",
                                   "function(m, e)",
                                   "return ",
                                   "local ",
                                   "for i = 1, 9 do ",
                                   " end ",
                                   "1 << 62",
                                   "-1",
                                   "0",
                                   "1e308",
                                   "0/0",
                                   "2^31",
                                   "{}",
                                   "nil",
                                   "true",
                                   "'\\27[2J'",
                                   "string.rep('x', 1e5)",
                                   "require ",
                                   "pcall(",
                                   "error(",
                                   "rows(",
                                   "gather(",
                                   "scatter(",
                                   "top(",
                                   "haares { blocks = 2 }",
                                   "attnres { full = true }",
                                   "hyper { streams = 2 }",
                                   "dtr {}",
                                   "mod { capacity = 0.5 }",
                                   "..",
                                   ":shape()",
                                   "[1]",
                                   "=",
                                   ",",
                                   ")",
                                   "}",
                                   NULL };

enum { SEEDS = 400 };

typedef struct Sources {
    char *text[SEEDS];
    size_t n[SEEDS], count;
} Sources;

static void add_file(Sources *s, const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = malloc(FUZZ_ROOM);
    if (!f || !text) abort();
    size_t n = fread(text, 1, FUZZ_ROOM, f);
    fclose(f);
    if (!n || s->count == SEEDS) {
        free(text);
        return;
    }
    s->text[s->count] = text;
    s->n[s->count++] = n;
}

static int lua_first(const struct dirent *e) {
    size_t n = strlen(e->d_name);
    return n > 4 && !strcmp(e->d_name + n - 4, ".lua");
}

static void add_folder(Sources *s, const char *folder) {
    struct dirent **entry;
    char path[4096];
    snprintf(path, sizeof path, SOURCE_DIR "/%s", folder);
    int n = scandir(path, &entry, lua_first, alphasort);
    for (int k = 0; k < n; k++) {
        snprintf(path, sizeof path, SOURCE_DIR "/%s/%s", folder, entry[k]->d_name);
        add_file(s, path);
        free(entry[k]);
    }
    if (n >= 0) free(entry);
}

/* In order of their names: a seed is the same everywhere. */
static const Sources *sources(void) {
    static const char *const folder[] = {
        "specs",        "tests/golden",        "tests/specs", "tests/errors", "specs/papers/haares",
        "specs/papers", "specs/library/mixers"
    };
    static Sources s;
    if (!s.count)
        for (size_t i = 0; i < sizeof folder / sizeof *folder; i++)
            add_folder(&s, folder[i]);
    return &s;
}

size_t fuzz_seed(size_t k, unsigned char *to) {
    const Sources *s = sources();
    if (k >= s->count) return 0;
    memcpy(to, s->text[k], s->n[k]);
    return s->n[k];
}

/* == Lines and words ====================================================== */

/* A line of 'text', with its end. */
static const char *some_line(FuzzInput *f, const char *text, size_t n, size_t *length) {
    size_t at = fuzz_below(f, n), end = at;
    while (at && text[at - 1] != '\n')
        at--;
    while (end < n && text[end] != '\n')
        end++;
    *length = end - at + (end < n);
    return text + at;
}

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Another word, of another spec or of the list, in the place of one. */
static void replace_word(FuzzInput *f) {
    size_t at = fuzz_below(f, f->n), end, words = 0;
    while (at < f->n && !is_word((char)f->bytes[at]))
        at++;
    for (end = at; end < f->n && is_word((char)f->bytes[end]); end++)
        ;
    fuzz_erase(f, at, end - at);
    while (fuzz_words[words])
        words++;
    const char *word = fuzz_words[fuzz_below(f, words)];
    fuzz_insert(f, at, word, strlen(word));
}

static void change_lines(FuzzInput *f) {
    const Sources *s = sources();
    size_t other = fuzz_below(f, s->count), n, m;
    const char *line = some_line(f, (const char *)f->bytes, f->n, &n);
    size_t at = (size_t)(line - (const char *)f->bytes);
    const char *from = some_line(f, s->text[other], s->n[other], &m);
    char copy[400];
    switch (fuzz_below(f, 4)) {
    case 0: fuzz_erase(f, at, n); break;
    case 1: fuzz_erase(f, at, n); /* fallthrough */
    case 2: fuzz_insert(f, at, from, m); break;
    default:
        n = n < sizeof copy ? n : sizeof copy;
        memcpy(copy, line, n);
        fuzz_insert(f, at, copy, n);
    }
}

/* Specs are seldom what bytes make of them. */
void fuzz_repair(FuzzInput *f) {
    for (size_t k = fuzz_below(f, 4); k && f->n; k--) {
        if (fuzz_below(f, 2)) change_lines(f);
        else replace_word(f);
    }
}

/* == Reading ============================================================== */

static void check_text(const char *text, bool lines) {
    for (const char *c = text; *c; c++)
        if (((unsigned char)*c < ' ' && !(lines && *c == '\n')) || *c == 127)
            fuzz_broken("a message has control characters");
}

/* 1 if it is accepted. */
static int read_one(Front *reader, const char *path) {
    Error e = { 0 };
    Model *m = spec_read(reader, path, &e);
    if (!m) {
        if (e.status != 1 && e.status != 3 && e.status != 4) fuzz_broken("a status is wrong");
        if (!strchr(e.text, ':')) fuzz_broken("an error says nothing");
        check_text(e.text, true);
        return 0;
    }
    graph_verify(m->graph);
    check_text(m->name, false);
    for (int i = 0; i < m->nread; i++)
        check_text(m->read[i].site, false);
    spec_free(m);
    return 1;
}

static bool forked;

/* A process that ends need not copy pages to free what is in them. */
void __real_lua_close(void *L);
void __wrap_lua_close(void *L);
void __wrap_lua_close(void *L) {
    if (!forked) __real_lua_close(L);
}

/* The library takes ten times as long to read as a spec: a process that has read it forks. */
static int read_apart(const SpecLimits *limits, const char *path) {
    static Front *ready;
    int status;
    if (!ready) ready = spec_open(limits, false);
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) fuzz_broken("there is no process for a spec");
    forked = !child;
    if (forked) _exit(read_one(ready, path));
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        fuzz_broken("reading ends by a signal");
    return WEXITSTATUS(status);
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    static const SpecLimits limits = {
        .memory = 16 << 20, .instructions = 600000, .layers = 200, .graph = 64 << 20, .seconds = 5
    };
    const char *path = fuzz_file(bytes, n);
    return fuzz_forks ? read_apart(&limits, path) : read_one(spec_open(&limits, false), path);
}
