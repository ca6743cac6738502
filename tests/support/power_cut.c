/* SPDX-License-Identifier: MIT
** See power_cut.h; anything unexpected aborts. */
#include "power_cut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "preload/record.h"

enum { NAMES = 16 };

typedef struct Moment {
    Record r;
    const char *bytes;
    char *own; /* to be freed */
} Moment;

struct PowerRecord {
    char *text;
    Moment *moment;
    int n, first;
};

/* A file as a cut leaves it. */
typedef struct Contents {
    char *bytes;
    size_t size;
} Contents;

/* Names of a folder, and which file each is; file 0: free. */
typedef struct Names {
    struct {
        char name[64];
        uint64_t file;
    } of[NAMES];
} Names;

static void must(bool good, const char *what) {
    if (good) return;
    perror(what);
    abort();
}

/* == Records ============================================================== */

static void add(PowerRecord *p, Record r, const char *bytes, char *own) {
    p->moment = realloc(p->moment, (size_t)(p->n + 1) * sizeof *p->moment);
    must(p->moment, "memory");
    p->moment[p->n++] = (Moment){ r, bytes, own };
}

/* A number of a file that is gone may be another's: files are numbered by the moment that names
** them first. */
static void number(PowerRecord *p, Record *r) {
    uint64_t inode = r->file;
    for (int i = p->n - 1; inode && i >= 0 && r->kind != RECORD_FILE; i--)
        if (p->moment[i].r.kind == RECORD_FILE && p->moment[i].r.at == inode) {
            r->file = p->moment[i].r.file;
            return;
        }
    if (r->kind == RECORD_FILE) r->at = inode, r->file = (uint64_t)p->n + 1;
}

/* What was there has its bytes, flushed. */
static void add_before(PowerRecord *p, Record r, const Folder *before) {
    size_t n;
    char *bytes = folder_read(before, r.from, &n);
    must(bytes, r.from);
    add(p, r, NULL, NULL);
    add(p, (Record){ RECORD_WRITE, .file = r.file, .size = n }, bytes, bytes);
    add(p, (Record){ RECORD_SYNC, .file = r.file }, NULL, NULL);
}

PowerRecord *power_record_open(const Folder *before, const char *path) {
    PowerRecord *p = calloc(1, sizeof *p);
    FILE *f = fopen(path, "rb");
    struct stat s;
    must(p && f && !fstat(fileno(f), &s), path);
    p->text = malloc((size_t)s.st_size + 1);
    must(p->text && fread(p->text, 1, (size_t)s.st_size, f) == (size_t)s.st_size, path);
    fclose(f);
    for (size_t at = 0; at < (size_t)s.st_size;) {
        Record r;
        memcpy(&r, p->text + at, sizeof r);
        at += sizeof r;
        number(p, &r);
        if (!p->first && r.kind == RECORD_FILE) add_before(p, r, before);
        else add(p, r, p->text + at, NULL);
        if (!p->first && r.kind == RECORD_SYNC_FOLDER) p->first = p->n;
        if (r.kind == RECORD_WRITE) at += r.size;
    }
    return p;
}

void power_record_close(PowerRecord *p) {
    for (int i = 0; i < p->n; i++)
        free(p->moment[i].own);
    free(p->moment);
    free(p->text);
    free(p);
}

void power_forget_flushes(PowerRecord *p) {
    for (int i = p->first; i < p->n; i++)
        if (p->moment[i].r.kind == RECORD_SYNC) p->moment[i].r.file = 0;
}

int power_first(const PowerRecord *p) { return p->first; }
int power_last(const PowerRecord *p) { return p->n; }

int power_saves(const PowerRecord *p, int moment) {
    int n = 0;
    for (int i = p->first; i < moment; i++)
        n += p->moment[i].r.kind == RECORD_SYNC_FOLDER;
    return n;
}

/* == Names ================================================================ */

static int find(const Names *n, const char *name) {
    for (int i = 0; i < NAMES; i++)
        if (n->of[i].file && !strcmp(n->of[i].name, name)) return i;
    return -1;
}

static void set(Names *n, const char *name, uint64_t file) {
    int i = find(n, name);
    for (int k = 0; i < 0 && k < NAMES; k++)
        if (!n->of[k].file) i = k;
    must(i >= 0, "names");
    snprintf(n->of[i].name, sizeof n->of[i].name, "%s", name);
    n->of[i].file = file;
}

/* What cannot be done because something before it was lost is not done. */
static void apply(Names *n, const Record *r) {
    int a = find(n, r->from), b = find(n, r->to);
    uint64_t file = a < 0 ? 0 : n->of[a].file;
    if (r->kind == RECORD_FILE) set(n, r->from, r->file);
    if (a < 0) return;
    if (r->kind == RECORD_REMOVE) n->of[a].file = 0;
    if (r->kind == RECORD_EXCHANGE && b >= 0) {
        n->of[a].file = n->of[b].file;
        n->of[b].file = file;
    }
    if (r->kind == RECORD_RENAME) {
        n->of[a].file = 0;
        set(n, r->to, file);
    }
}

static bool is_of_names(RecordKind kind) {
    return kind == RECORD_FILE || kind == RECORD_RENAME || kind == RECORD_EXCHANGE
        || kind == RECORD_REMOVE;
}

/* == Cuts ================================================================= */

static void grow(Contents *c, size_t size) {
    if (size <= c->size) return;
    c->bytes = realloc(c->bytes, size);
    must(c->bytes, "memory");
    memset(c->bytes + c->size, 0, size - c->size);
    c->size = size;
}

static void write_part(Contents *c, const Moment *m, bool kept, bool torn) {
    size_t size = torn ? (size_t)m->r.size / 2 : (size_t)m->r.size;
    grow(c, (size_t)(m->r.at + m->r.size));
    if (kept) memcpy(c->bytes + m->r.at, m->bytes, size);
}

static bool stays(int keep, Random *r) { return keep == 2 ? draw_below(r, 2) : keep; }

/* The last moment before 'moment' at which what was done to the file (0: to names) was flushed. */
static int flushed(const PowerRecord *p, int moment, uint64_t file) {
    while (moment--) {
        const Record *r = &p->moment[moment].r;
        if (file ? r->kind == RECORD_SYNC && r->file == file : r->kind == RECORD_SYNC_FOLDER)
            return moment;
    }
    return -1;
}

static Contents contents(const PowerRecord *p, int moment, uint64_t file, int keep, Random *r) {
    Contents c = { 0 };
    int safe = flushed(p, moment, file);
    for (int i = 0; i < moment; i++) {
        const Moment *m = &p->moment[i];
        if (m->r.file != file) continue;
        bool kept = i < safe || stays(keep, r), longer = kept || !r || draw_below(r, 2);
        if (m->r.kind == RECORD_WRITE && longer)
            write_part(&c, m, kept, i > safe && keep == 2 && !draw_below(r, 4));
        if (m->r.kind == RECORD_LENGTH && kept) {
            grow(&c, (size_t)m->r.size);
            c.size = (size_t)m->r.size;
        }
    }
    return c;
}

static uint64_t hash(uint64_t h, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return h;
}

uint64_t power_cut(const PowerRecord *p, int moment, int keep, Random *r, const Folder *to) {
    Names names = { 0 };
    uint64_t all = 0;
    int safe = flushed(p, moment, 0);
    for (int i = 0; i < moment; i++)
        if (is_of_names(p->moment[i].r.kind) && (i < safe || stays(keep, r)))
            apply(&names, &p->moment[i].r);
    for (int i = 0; i < NAMES; i++) {
        if (!names.of[i].file) continue;
        Contents c = contents(p, moment, names.of[i].file, keep, r);
        folder_write(to, names.of[i].name, c.bytes ? c.bytes : "", c.size);
        uint64_t one = hash(hash(1, names.of[i].name, strlen(names.of[i].name)), c.bytes, c.size);
        all += one; /* whatever their order */
        free(c.bytes);
    }
    return all;
}
