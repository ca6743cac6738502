/* SPDX-License-Identifier: MIT
** See compiled.h. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bf16.h"
#include "compiled.h"
#include "planned.h"
#include "kernel_object.h"
#include "levels.h"
#include "small_round.h"
#include "strata.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MAKE_MEM_UNDEFINED(at, size) (void)0
#define RUNNING_ON_VALGRIND 0
#endif

/* Not an assertion of cmocka's: that would jump out of a process of 'apart'. */
static void must(bool good, const char *what, const char *why) {
    if (good) return;
    fprintf(stderr, "%s: %s\n", what, why);
    abort();
}

/* == Libraries ============================================================ */

static void write_object(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    must(f && fwrite(data, 1, size, f) == size && !fclose(f), path, "cannot be written");
}

const char *compiled_openblas(void) {
    if (!*TEST_OPENBLAS) fprintf(stderr, "no OpenBLAS that several threads may call: skipped\n");
    return *TEST_OPENBLAS ? TEST_OPENBLAS : NULL;
}

/* The model's object and, if it was made without, its row kernels and the kernel library's. */
static void *load(const CompiledModel *code, bool blas) {
    char folder[256], object[300], kernels[300] = "", rows[300], library[300], command[2000];
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/strata-test-XXXXXX", base && *base ? base : "/tmp");
    must(mkdtemp(folder) != NULL, folder, "cannot be made");
    snprintf(object, sizeof object, "%s/m.o", folder);
    snprintf(library, sizeof library, "%s/m.so", folder);
    snprintf(rows, sizeof rows, "%s/rows.a", folder);
    write_object(object, code->data, code->size);
    if (code->library >= 0) {
        size_t size;
        const void *data = kernel_object(code->library, &size);
        snprintf(kernels, sizeof kernels, "%s/kernels.o", folder);
        write_object(kernels, data, size);
    }
    if (code->kernels) write_object(rows, code->kernels, code->kernels_size);
    int n = snprintf(command, sizeof command, "cc -shared -nostdlib -o '%s' '%s'", library, object);
    if (*kernels) n += snprintf(command + n, sizeof command - (size_t)n, " '%s'", kernels);
    if (code->kernels)
        n += snprintf(command + n, sizeof command - (size_t)n,
                      " -Wl,--whole-archive '%s' -Wl,--no-whole-archive", rows);
    if (blas) snprintf(command + n, sizeof command - (size_t)n, " '%s'", TEST_OPENBLAS);
    int status = system(command);
    void *handle = status ? NULL : dlopen(library, RTLD_NOW | RTLD_LOCAL);
    must(handle != NULL, "the object does not load", status ? "cc failed" : dlerror());
    if (*kernels) unlink(kernels);
    if (code->kernels) unlink(rows);
    unlink(object), unlink(library), rmdir(folder);
    return handle;
}

static void find(void *library, const char *name, void *function) {
    char full[64];
    snprintf(full, sizeof full, "model_%s", name);
    void *at = dlsym(library, full);
    must(at != NULL, full, "is not in the object");
    memcpy(function, &at, sizeof at);
}

static strata_api find_api(void *library) {
    strata_api a = { .struct_size = sizeof a };
#define FIND_ALWAYS(name, member) find(library, #name, &a.member);
#define FIND_TRAINING(name, member) find(library, #name, &a.member);
#define FIND_PROGRAM(name, member)
#define API(slot, name, member, type, parameters, need) FIND_##need(name, member)
#include "abi.def"
    return a;
}

int compiled_every(void) {
    const char *every = getenv("STRATA_TEST_EVERY");
    int n = every ? atoi(every) : 1;
    return n > 1 ? n : 1;
}

/* STRATA_TEST_LEVEL=0: all models without LLVM's optimisations, for slow checkers. */
static int level_of(const CodegenOptions *o) {
    const char *level = getenv("STRATA_TEST_LEVEL");
    return level && *level ? atoi(level) : o->level;
}

void compiled_open(Compiled *c, const Graph *g, const ModelInfo *info, const CodegenOptions *o) {
    Error error = { 0 };
    CodegenOptions options = *o;
    CompiledModel code;
    options.prefix = "model";
    options.emit = EMIT_OBJ;
    options.link = true;
    options.level = level_of(o);
    must(!planned_compile(g, info, &options, &code, &error), "planned_compile", error.text);
    c->size = code.size;
    c->library = load(&code, o->products != PRODUCTS_GENERATED);
    codegen_free(&code);
    c->api = find_api(c->library);
    c->model = c->api.model();
    must(c->model->magic == STRATA_MAGIC, "descriptor", "has another magic number");
}

void compiled_close(Compiled *c) { dlclose(c->library); }

ModelInfo compiled_info(const Graph *g, int64_t context) {
    const Node *logits = graph_find(g, "logits");
    return (ModelInfo){ .name = "model",
                        .file = "model.lua",
                        .mixer = "standard",
                        .vocab = logits->shape.dim[0],
                        .context = context,
                        .dim = 1,
                        .layers = 1,
                        .sublayers = 1,
                        .train.batch = 1,
                        .hash = 1 };
}

const char *const *compiled_cpus(void) {
    static const char *names[LEVELS + 1];
    int n = 0;
    __builtin_cpu_init();
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) \
    if (!*(more) && __builtin_cpu_supports(cpu)) names[n++] = name;
#include "levels.def"
    return names;
}

/* == Regions ============================================================== */

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

void guarded_open(Guarded *r, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = round_up(size, STRATA_ALIGN),
           pages = round_up(room, page);
    r->size = size;
    r->mapped = pages + 2 * page;
    r->map = mmap(NULL, r->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(r->map != MAP_FAILED, "mmap", "no memory");
    char *first = (char *)r->map + page;
    must(!pages || !mprotect(first, pages, PROT_READ | PROT_WRITE), "mprotect", "no memory");
    r->at = first + pages - room;
    memset(first, 0xff, pages); /* NaN as float, -1 as id */
    VALGRIND_MAKE_MEM_UNDEFINED(first, pages);
}

void guarded_close(Guarded *r) {
    if (r->map) munmap(r->map, r->mapped);
    *r = (Guarded){ 0 };
}

void guarded_writable(const Guarded *r, bool yes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int rights = yes ? PROT_READ | PROT_WRITE : PROT_READ;
    must(!mprotect((char *)r->map + page, r->mapped - 2 * page, rights), "mprotect", "refused");
}

/* == Instances ============================================================ */

void instance_open(Instance *r, const Compiled *c, int64_t tokens, int workers) {
    *r = (Instance){ .c = c, .workers = workers };
    if (workers > 1) {
        r->pool = strata_pool_new(workers);
        must(r->pool != NULL, "strata_pool_new", "no threads");
    }
    guarded_open(&r->ctx, (size_t)c->model->ctx_bytes);
    guarded_open(&r->weights, (size_t)c->model->weights_bytes);
    guarded_open(&r->train, (size_t)c->model->train_bytes);
    instance_arena(r, tokens);
    instance_set_up(r, (strata_setup){ 0 });
}

void instance_set_up(Instance *r, strata_setup s) {
    s.struct_size = sizeof s;
    s.workers = r->workers;
    if (r->pool) s.par_for = strata_par_for, s.pool = r->pool;
    must(!r->c->api.init(r->ctx.at, r->ctx.size, &s), "init", r->c->api.message(r->ctx.at));
}

Guarded instance_state(const Instance *r, int64_t context) {
    Guarded g;
    guarded_open(&g, r->c->api.state_bytes(context));
    memset(g.at, 0, g.size);
    must(!r->c->api.state_init(r->ctx.at, g.at, context), "state_init",
         r->c->api.message(r->ctx.at));
    return g;
}

void instance_arena(Instance *r, int64_t tokens) {
    guarded_close(&r->arena);
    guarded_open(&r->arena, r->c->api.arena_bytes(tokens, r->workers));
}

void instance_close(Instance *r) {
    guarded_close(&r->ctx), guarded_close(&r->weights), guarded_close(&r->train),
        guarded_close(&r->arena);
    if (r->pool) strata_pool_free(r->pool);
}

/* Of a name with a '*' the first, behind which the others lie. */
static const strata_tensor *find_tensor(const Compiled *c, const char *name) {
    const strata_tensor *t = strata_tensors(c->model);
    const char *star = strchr(name, '*');
    char first[256];
    if (star) {
        snprintf(first, sizeof first, "%.*s0%s", (int)(star - name), name, star + 1);
        name = first;
    }
    for (int i = 0; i < c->model->tensors; i++)
        if (!strcmp(strata_string(c->model, t[i].name), name)) return &t[i];
    must(false, name, "is not in the object's tensor table");
    return NULL;
}

float *instance_weight(Instance *r, const char *name, int64_t *count) {
    const strata_tensor *t = find_tensor(r->c, name);
    if (count) *count = t->count;
    must(!t->type, name, "is not float32");
    return (float *)r->weights.at + t->weight;
}

strata_adamw instance_adamw(double grad_scale, int64_t step) {
    return (strata_adamw){ .struct_size = sizeof(strata_adamw),
                           .lr = 1e-2,
                           .beta1 = 0.9,
                           .beta2 = 0.95,
                           .eps = 1e-8,
                           .weight_decay = 0.1,
                           .grad_scale = grad_scale,
                           .step = step };
}

float *instance_gradient(const Instance *r, const char *name) {
    return (float *)r->train.at + find_tensor(r->c, name)->gradient;
}

/* Numbers come in order: the last one of a row rounds it. */
static void put_small(const strata_tensor *t, uint8_t *to, int64_t k, float value) {
    static float row[4096];
    int bits = t->type == STRATA_Q8 ? 8 : 4;
    int64_t steps = t->shape[t->rank - 1], columns = t->shape[t->rank - 2], number = k / steps,
            column = number % columns;
    must(steps <= 4096, "put_small", "rows are longer than its room");
    row[k % steps] = value;
    if (k % steps < steps - 1) return;
    uint8_t *panel = to + number / columns * small_bytes(columns, steps, bits)
        + column / PANEL_COLUMNS * small_panel(steps, bits);
    if (column % PANEL_COLUMNS == 0) memset(panel, 0, (size_t)small_panel(steps, bits));
    must(small_put_column(panel, steps, column % PANEL_COLUMNS, bits, row), "put_small",
         "has a scale that is no float16");
}

void instance_put(Instance *r, const strata_tensor *t, int64_t k, float value) {
    float *to = (float *)r->weights.at + t->weight;
    if (t->type == STRATA_Q8 || t->type == STRATA_Q4) put_small(t, (uint8_t *)to, k, value);
    else if (t->type) ((uint16_t *)(void *)to)[k] = bf16_of(value);
    else to[k] = value;
}

void instance_weights(Instance *r, const Case *values) {
    guarded_writable(&r->weights, true);
    for (int i = 0; i < values->g->nparam; i++) {
        const Node *n = values->g->param[i].node;
        const strata_tensor *t = find_tensor(r->c, n->attr->name);
        int64_t count = shape_count(&n->shape);
        must(t->count * param_tensors(n) == count, n->attr->name, "has another size");
        for (int64_t k = 0; k < count; k++)
            instance_put(r, t, k, (float)values->value[i][k]);
    }
    guarded_writable(&r->weights, false);
}

/* == Processes ============================================================ */

int apart(int (*fn)(void *arg), void *arg) {
    int how = 0;
    fflush(NULL);
    pid_t child = fork();
    must(child >= 0, "fork", "refused");
    if (child == 0) {
        static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
            signal(signals[i], SIG_DFL);
        alarm(RUNNING_ON_VALGRIND ? 6000 : 300);
        int status = fn(arg);
        exit(status); /* by exit(), where sanitizers look for leaks */
    }
    must(waitpid(child, &how, 0) == child, "waitpid", "refused");
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}
