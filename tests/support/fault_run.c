/* SPDX-License-Identifier: MIT
** See fault_run.h; anything unexpected aborts. */
#include "fault_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(bool good, const char *what) {
    if (good) return;
    perror(what);
    abort();
}

/* == One run ============================================================== */

static void copy(const Folder *from, const char *name, const Folder *to) {
    size_t length;
    char *bytes = folder_read(from, name, &length), path[300];
    must(bytes, name);
    folder_write(to, name, bytes, length);
    free(bytes);
    snprintf(path, sizeof path, "%s/%s", to->path, name);
    must(!chmod(path, 0755), path);
}

static void set(const char *setting) {
    char name[64];
    const char *end = setting ? strchr(setting, '=') : NULL;
    if (!end) return;
    snprintf(name, sizeof name, "%.*s", (int)(end - setting), setting);
    setenv(name, end + 1, 1);
}

static _Noreturn void become(const FaultOutcome *o, const FaultCommand *c, int counts, uint64_t at,
                             const char *more) {
    char count[64], number[32], text[256], *word[32];
    snprintf(count, sizeof count, "/proc/self/fd/%d", counts);
    snprintf(number, sizeof number, "%llu", (unsigned long long)at);
    if (chdir(o->work.path) || dup2(o->out, 1) < 0 || dup2(o->err, 2) < 0) _exit(126);
    setenv("TMPDIR", o->temp.path, 1);
    setenv("XDG_CACHE_HOME", o->cache.path, 1);
    setenv("FAULT_OF", c->program, 1);
    setenv("FAULT_COUNT", count, 1);
    setenv("FAULT_AT", number, 1);
    for (int i = 0; i < FAULT_SETTINGS; i++)
        set(c->setting[i]);
    set(more);
    if (c->library) setenv("LD_PRELOAD", c->library, 1);
    int n = 0;
    snprintf(text, sizeof text, "%s", c->words);
    for (char *rest = text; n < 31 && (word[n] = strsep(&rest, " "));)
        n++;
    word[n] = NULL;
    execv(word[0], word);
    _exit(126);
}

void fault_start(FaultOutcome *o, const FaultCommand *c, uint64_t at, const char *more) {
    folder_open(&o->work);
    folder_open(&o->temp);
    folder_open(&o->cache);
    for (int i = 0; i < FAULT_FILES && c->file[i]; i++)
        copy(c->from, c->file[i], &o->work);
    o->out = memfd_create("out", 0);
    o->err = memfd_create("err", 0);
    int counts = memfd_create("count", 0);
    must(!ftruncate(counts, sizeof *o->count), "count");
    o->count = mmap(NULL, sizeof *o->count, PROT_READ, MAP_SHARED, counts, 0);
    must(o->count != MAP_FAILED, "count");
    fflush(NULL);
    o->process = fork();
    must(o->process >= 0, "fork");
    if (!o->process) become(o, c, counts, at, more);
    close(counts);
}

void fault_finish(FaultOutcome *o) {
    o->status = program_wait(o->process);
    ssize_t n = pread(o->err, o->said, sizeof o->said - 1, 0);
    o->said[n > 0 ? n : 0] = 0;
}

void fault_forget(FaultOutcome *o) {
    close(o->out);
    close(o->err);
    munmap(o->count, sizeof *o->count);
    folder_close(&o->work);
    folder_close(&o->temp);
    if (folder_entries(&o->cache)) folder_shell(&o->cache, "rm -rf strata");
    folder_close(&o->cache);
}

void fault_run_whole(FaultOutcome *o, const FaultCommand *c) {
    fault_start(o, c, 0, NULL);
    fault_finish(o);
    if (!o->status) return;
    fprintf(stderr, "%s: status %d: %s\n", c->words, o->status, o->said);
    abort();
}

void fault_inputs(Folder *f, const char *spec) {
    static const char mixer[] =
        "return mixer {\n"
        "  open = function(m, e) return { h = e } end,\n"
        "  read = function(m, state, site) return state.h end,\n"
        "  write = function(m, state, site, out) return { h = state.h + out } end,\n"
        "  close = function(m, state, site) return state.h end,\n"
        "}\n";
    static const char header[] =
        "{\"tokens\":{\"dtype\":\"I32\",\"shape\":[1,4],\"data_offsets\":[0,16]}}";
    char tokens[8 + sizeof header - 1 + 16] = { sizeof header - 1 };
    memcpy(tokens + 8, header, sizeof header - 1);
    folder_open(f);
    folder_write(f, "m.lua", spec, strlen(spec));
    folder_write(f, "mine.lua", mixer, sizeof mixer - 1);
    folder_write(f, "text", mixer, sizeof mixer - 1);
    folder_write(f, "tokens", tokens, sizeof tokens);
    folder_shell(f, "strata build m.lua");
}

bool fault_says_one_line(const char *said) {
    const char *end = strchr(said, '\n');
    if (!end || strncmp(said, "error: ", 7)) return false;
    const char *more = end + 1, *last = strchr(more, '\n');
    return !*more || (*more == ' ' && last && !last[1]);
}

/* == Folders ============================================================== */

int folder_entries(const Folder *f) {
    int n = 0;
    DIR *d = opendir(f->path);
    must(d, f->path);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

bool folders_share(const Folder *a, const Folder *b, const char *name) {
    size_t n = 0, m = 0;
    char *x = folder_read(a, name, &n), *y = folder_read(b, name, &m);
    bool same = x && y && n == m && !memcmp(x, y, n);
    free(x);
    free(y);
    return same;
}

bool folders_same(const Folder *a, const Folder *b) {
    DIR *d = opendir(a->path);
    must(d, a->path);
    bool same = folder_entries(a) == folder_entries(b);
    for (struct dirent *e; (e = readdir(d));)
        if (*e->d_name != '.') same = same && folders_share(a, b, e->d_name);
    closedir(d);
    return same;
}
