/* SPDX-License-Identifier: MIT
** See kernel_objects.h.  Kernels that the store lacks are written to modules, one kernel each.
** Two threads compile the modules: the calling thread, whenever enough of them wait, and another
** one.  An object does not know the number of its kernel in the model: its symbol is a placeholder
** as long as the longest kernel name, which is overwritten with the name when all objects are
** there.
*/
#include "kernel_objects.h"

#include "fatal.h"
#include "lines.h"
#include "module.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WAITING = 4 }; /* modules: they take more memory than objects */

/* Longer than what kernels_name_of() in row_kernels.c makes. */
static const char symbol[] = "strata.kernel.0123456789abcdef0123456789abcdef0123456789abcdef"
                             "0123456789abcdef0123456789abcdef";

typedef struct KernelObject {
    const char *name;
    char key[65];
    char *data;
    size_t size;
} KernelObject;

typedef struct KernelModule {
    Module module;
    KernelObject *object;
} KernelModule;

struct KernelObjects {
    const Level *level;
    const CodegenOptions *o;
    List object; /* KernelObject * */
    pthread_t thread;
    bool apart; /* there is one */
    pthread_mutex_t lock;
    pthread_cond_t change;
    KernelModule *waiting[WAITING];
    int nwaiting;
    bool ended;
    Error error;
};

/* == Symbols ============================================================== */

/* Where an object has its symbol's name; NULL: it is none of ours. */
static char *find_symbol(const char *data, size_t size) {
    char *at = memmem(data, size, symbol, sizeof symbol);
    size_t rest = at ? size - (size_t)(at + 1 - data) : 0;
    return at && !memmem(at + 1, rest, symbol, sizeof symbol - 1) ? at : NULL;
}

static void name_symbol(char *data, size_t size, const char *name) {
    char *at = find_symbol(data, size);
    size_t n = strlen(name);
    if (!at || n >= sizeof symbol) bug(NULL, "the object of %s has no room for its name", name);
    memset(at, 0, sizeof symbol);
    memcpy(at, name, n);
}

/* == Making objects ======================================================= */

/* Assembly has its kernel's name from the beginning, and no store. */
static bool objects_is_text(const KernelObjects *k) { return k->o->emit == EMIT_ROWS; }

/* The key does not tell kernels with --check apart: they are not stored. */
static const KernelStore *store_of(const KernelObjects *k) {
    return objects_is_text(k) || k->o->passes.check ? NULL : k->o->store;
}

static void objects_finish(KernelObjects *k, KernelModule *w) {
    const KernelStore *store = store_of(k);
    KernelObject *to = w->object;
    Module *m = &w->module;
    module_finish(m);
    if (!m->error.status && store) store->keep(store->user, to->key, m->data, m->size);
    to->data = m->data, to->size = m->size;
    pthread_mutex_lock(&k->lock);
    if (m->error.status && !k->error.status) k->error = m->error;
    pthread_mutex_unlock(&k->lock);
    free(w);
}

/* The next one, for which the other thread waits; NULL: there is none. */
static KernelModule *objects_take(KernelObjects *k, bool wait) {
    pthread_mutex_lock(&k->lock);
    while (wait && !k->nwaiting && !k->ended)
        pthread_cond_wait(&k->change, &k->lock);
    KernelModule *w = k->nwaiting ? k->waiting[--k->nwaiting] : NULL;
    pthread_mutex_unlock(&k->lock);
    return w;
}

/* For a thread. */
static void *finish_all(void *objects) {
    for (KernelModule *w; (w = objects_take(objects, true));)
        objects_finish(objects, w);
    return NULL;
}

static bool objects_put(KernelObjects *k, KernelModule *w) {
    if (!k->apart) k->apart = !pthread_create(&k->thread, NULL, finish_all, k);
    pthread_mutex_lock(&k->lock);
    bool room = k->apart && k->nwaiting < WAITING;
    if (room) k->waiting[k->nwaiting++] = w;
    pthread_cond_signal(&k->change);
    pthread_mutex_unlock(&k->lock);
    return room;
}

static KernelModule *write_module(KernelObjects *k, const Rows *r, const char *name, bool plain) {
    KernelModule *w = checked_new(1, sizeof *w);
    Loc loc = loc_innermost(r->step->n ? r->step->node[0]->loc : (Loc){ 0 });
    Module *m = &w->module;
    if (!module_open(m, PART_KERNEL, k->level, k->o, loc.file ? loc.file : "spec", &k->error))
        bug(NULL, "there is no target for a kernel: %s", k->error.text);
    m->e.plain = plain;
    rows_emit(&m->e, r, objects_is_text(k) ? name : symbol);
    module_share(m->e.fn);
    lines_close(m->e.lines);
    return w;
}

/* == All of them ========================================================== */

KernelObjects *kernel_objects_open(const Level *l, const CodegenOptions *o) {
    KernelObjects *k = checked_new(1, sizeof *k);
    k->level = l, k->o = o;
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->change, NULL);
    return k;
}

static bool is_stored(const KernelObjects *k, KernelObject *to) {
    const KernelStore *store = store_of(k);
    void *data;
    if (!store || !store->find(store->user, to->key, &data, &to->size)) return false;
    if (find_symbol(data, to->size)) return to->data = data, true;
    free(data);
    return false;
}

void kernel_objects_add(KernelObjects *k, const Rows *r, const RowKernel *kernel) {
    KernelObject *to = checked_new(1, sizeof *to);
    *(KernelObject **)list_add(&k->object, sizeof to) = to;
    to->name = kernel->name;
    kernel_key(k->level, k->o->level, r, &kernel->identity, kernel->plain, to->key);
    if (is_stored(k, to)) return;
    KernelModule *w = write_module(k, r, to->name, kernel->plain);
    w->object = to;
    if (!objects_put(k, w)) objects_finish(k, w);
}

/* An archive without a table of symbols: all of it is linked. */
static void write_archive(const KernelObjects *k, CompiledModel *out) {
    static const char magic[] = "!<arch>\n";
    enum { HEAD = 60 };
    out->kernels_size = sizeof magic - 1;
    for (int i = 0; i < k->object.n; i++)
        out->kernels_size += HEAD + (LIST(k->object, KernelObject *, i)->size + 1) / 2 * 2;
    char *at = out->kernels = checked_new(out->kernels_size + 1, 1);
    at += sprintf(at, "%s", magic);
    for (int i = 0; i < k->object.n; i++) {
        KernelObject *o = LIST(k->object, KernelObject *, i);
        name_symbol(o->data, o->size, o->name);
        at += sprintf(at, "%08d.o/     %-12d%-6d%-6d%-8d%-10zu`\n", i, 0, 0, 0, 644, o->size);
        memcpy(at, o->data, o->size);
        at += o->size;
        if (o->size % 2) *at++ = '\n';
    }
}

/* In the place of the model's own object. */
static void objects_write_text(const KernelObjects *k, CompiledModel *out) {
    size_t all = 0;
    for (int i = 0; i < k->object.n; i++)
        all += LIST(k->object, KernelObject *, i)->size;
    free(out->data);
    char *at = out->data = checked_new(all + 1, 1);
    out->size = all;
    for (int i = 0; i < k->object.n; i++) {
        const KernelObject *o = LIST(k->object, KernelObject *, i);
        memcpy(at, o->data, o->size);
        at += o->size;
    }
}

int kernel_objects_close(KernelObjects *k, CompiledModel *out, Error *e) {
    pthread_mutex_lock(&k->lock);
    k->ended = true;
    pthread_cond_signal(&k->change);
    pthread_mutex_unlock(&k->lock);
    for (KernelModule *w; (w = objects_take(k, false));)
        objects_finish(k, w);
    if (k->apart) pthread_join(k->thread, NULL);
    int status = k->error.status;
    if (status) *e = k->error;
    else if (objects_is_text(k)) objects_write_text(k, out);
    else if (k->object.n) write_archive(k, out);
    for (int i = 0; i < k->object.n; i++) {
        free(LIST(k->object, KernelObject *, i)->data);
        free(LIST(k->object, KernelObject *, i));
    }
    free(k->object.data);
    pthread_cond_destroy(&k->change);
    pthread_mutex_destroy(&k->lock);
    free(k);
    return status;
}
