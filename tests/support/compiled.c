/*
** Compiling, loading and comparing; see compiled.h.  Tolerances of float32: a
** logit may be off by 3e-5 of the largest; a gradient by 5e-4 of its own largest
** entry or of a thousandth of the case's largest, whichever is more.
*/
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bf16.h"
#include "compiled.h"
#include "gradient.h"
#include "levels.h"
#include "plan.h"
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

static void write_object(const char *path, const CompiledModel *code) {
    FILE *f = fopen(path, "wb");
    must(f && fwrite(code->data, 1, code->size, f) == code->size && !fclose(f), path,
         "cannot be written");
}

static void *load(const CompiledModel *code) {
    char folder[256], object[300], library[300], command[1024];
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/strata-test-XXXXXX", base && *base ? base : "/tmp");
    must(mkdtemp(folder) != NULL, folder, "cannot be made");
    snprintf(object, sizeof object, "%s/m.o", folder);
    snprintf(library, sizeof library, "%s/m.so", folder);
    write_object(object, code);
    snprintf(command, sizeof command, "cc -shared -nostdlib -o '%s' '%s'", library, object);
    int status = system(command);
    void *handle = status ? NULL : dlopen(library, RTLD_NOW | RTLD_LOCAL);
    must(handle != NULL, "the object does not load", status ? "cc failed" : dlerror());
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
    options.level = level_of(o);
    must(!codegen_compile(g, info, &options, &code, &error), "codegen_compile", error.text);
    c->size = code.size;
    c->library = load(&code);
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

void instance_arena(Instance *r, int64_t tokens) {
    guarded_close(&r->arena);
    guarded_open(&r->arena, r->c->api.arena_bytes(tokens, r->workers));
}

void instance_close(Instance *r) {
    guarded_close(&r->ctx), guarded_close(&r->weights), guarded_close(&r->train),
        guarded_close(&r->arena);
    if (r->pool) strata_pool_free(r->pool);
}

static const strata_tensor *find_tensor(const Compiled *c, const char *name) {
    const strata_tensor *t = strata_tensors(c->model);
    for (int i = 0; i < c->model->tensors; i++)
        if (!strcmp(strata_string(c->model, t[i].name), name)) return &t[i];
    must(false, name, "is not in the object's tensor table");
    return NULL;
}

float *instance_weight(Instance *r, const char *name, int64_t *count) {
    const strata_tensor *t = find_tensor(r->c, name);
    if (count) *count = t->count;
    must(!t->bf16, name, "is bfloat16");
    return (float *)r->weights.at + t->weight;
}

float *instance_gradient(const Instance *r, const char *name) {
    return (float *)r->train.at + find_tensor(r->c, name)->gradient;
}

void instance_put(Instance *r, const strata_tensor *t, int64_t k, float value) {
    float *to = (float *)r->weights.at + t->weight;
    if (t->bf16) ((uint16_t *)(void *)to)[k] = bf16_of(value);
    else to[k] = value;
}

void instance_weights(Instance *r, const Case *values) {
    guarded_writable(&r->weights, true);
    for (int i = 0; i < values->g->nparam; i++) {
        const Node *n = values->g->param[i].node;
        const strata_tensor *t = find_tensor(r->c, n->attr.name);
        must(t->count == shape_count(&n->shape), n->attr.name, "has another size");
        for (int64_t k = 0; k < t->count; k++)
            instance_put(r, t, k, (float)values->value[i][k]);
    }
    guarded_writable(&r->weights, false);
}

/* == Expected values ====================================================== */

Case *compiled_case(Graph *g, uint64_t seed, int64_t batch, int64_t time, int vocab) {
    Case *c = case_new(g, seed, batch, time, vocab, -1, 1);
    for (int i = 0; i < g->nparam; i++) {
        const Shape *s = &g->param[i].node->shape;
        double scale = s->rank < 2 ? 1 : sqrt(3.0 / (double)s->dim[s->rank - 1]);
        for (int64_t k = 0; k < shape_count(s); k++)
            c->value[i][k] = (float)(scale * c->value[i][k]);
    }
    return c;
}

static Graph *with_gradients(const Graph *g, const OpInfo *rules) {
    static const char *const outputs[] = { "logits", "nll", "cross_entropy", "loss", NULL };
    Graph *own = graph_extract(g, outputs);
    pass_gradient_rules(own, rules);
    return own;
}

static void evaluate(Expected *e, const Case *c, Graph *g) {
    EvalInput in = case_input(c);
    *e = (Expected){ g, eval_new(g, &in), { 3e-5, 5e-4 } };
}

void expected_open(Expected *e, const Case *c, const OpInfo *rules) {
    evaluate(e, c, with_gradients(c->g, rules));
}

void expected_open_bf16(Expected *e, const Case *c) {
    evaluate(e, c, pass_precision(with_gradients(c->g, op_info)));
}

void expected_close(Expected *e) {
    eval_free(e->ev);
    graph_free(e->g);
}

static const double *expected(const Expected *e, const char *output) {
    const Node *n = graph_find(e->g, output);
    return n ? eval_value(e->ev, n) : NULL;
}

/* == Comparing ============================================================ */

static double largest(const double *x, int64_t count) {
    double most = 0;
    for (int64_t i = 0; x && i < count; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

/* 'want' NULL: zeros */
static bool close_to(const char *what, const float *got, const double *want, int64_t count,
                     double allowed, char *why, size_t size) {
    for (int64_t i = 0; i < count; i++) {
        double w = want ? want[i] : 0;
        if (fabs(got[i] - w) <= allowed) continue;
        snprintf(why, size, "%s: element %lld of %lld is %.9g, expected %.9g, within %.1e", what,
                 (long long)i, (long long)count, got[i], w, allowed);
        return false;
    }
    return true;
}

static bool logits_agree(Instance *r, const Case *c, const Expected *e, char *why, size_t size) {
    const strata_api *a = &r->c->api;
    int64_t count = c->batch * c->time * r->c->model->vocab;
    const double *want = expected(e, "logits");
    Guarded out;
    guarded_open(&out, (size_t)count * sizeof(float));
    int status = a->logits(r->ctx.at, r->weights.at, r->arena.at, c->tokens, c->batch, c->time,
                           out.at);
    if (status) snprintf(why, size, "logits: %s", a->message(r->ctx.at));
    bool good = !status
        && close_to("logits", out.at, want, count, e->allowed.value * largest(want, count), why,
                    size);
    guarded_close(&out);
    return good;
}

static bool loss_agrees(const char *what, const strata_loss *got, const Expected *e, char *why,
                        size_t size) {
    double loss = *expected(e, "loss"), nll = *expected(e, "cross_entropy"),
           allowed = e->allowed.value;
    if (fabs(got->loss - loss) <= allowed * fmax(1, fabs(loss))
        && fabs(got->cross_entropy - nll) <= allowed * fmax(1, fabs(nll)))
        return true;
    snprintf(why, size, "%s: loss %.9g and cross entropy %.9g, expected %.9g and %.9g", what,
             got->loss, got->cross_entropy, loss, nll);
    return false;
}

static bool losses_agree(Instance *r, const Case *c, const Expected *e, char *why, size_t size) {
    const strata_api *a = &r->c->api;
    int64_t count = c->batch * c->time;
    const double *want = expected(e, "nll");
    strata_loss loss = { .struct_size = sizeof loss };
    Guarded nll;
    guarded_open(&nll, (size_t)count * sizeof(float));
    int status = a->loss(r->ctx.at, r->weights.at, r->arena.at, c->tokens, c->targets, c->batch,
                         c->time, nll.at, &loss);
    if (status) snprintf(why, size, "loss: %s", a->message(r->ctx.at));
    bool good = !status
        && close_to("nll", nll.at, want, count, e->allowed.value * fmax(1, largest(want, count)),
                    why, size)
        && loss_agrees("loss", &loss, e, why, size);
    guarded_close(&nll);
    return good;
}

static const double *expected_gradient(const Expected *e, const Node *param) {
    char output[600];
    snprintf(output, sizeof output, "grad.%s", param->attr.name);
    return expected(e, output);
}

static bool gradients_agree(Instance *r, const Case *c, const Expected *e, char *why, size_t size) {
    const strata_api *a = &r->c->api;
    strata_loss loss = { .struct_size = sizeof loss };
    int status = a->forward_backward(r->ctx.at, r->weights.at, r->train.at, r->arena.at, c->tokens,
                                     c->targets, c->batch, c->time, 1, 0, NULL, NULL, &loss);
    if (status) return snprintf(why, size, "forward_backward: %s", a->message(r->ctx.at)), false;
    if (!loss_agrees("forward_backward", &loss, e, why, size)) return false;
    double most = 0;
    for (int i = 0; i < c->g->nparam; i++) {
        const Node *p = c->g->param[i].node;
        most = fmax(most, largest(expected_gradient(e, p), shape_count(&p->shape)));
    }
    for (int i = 0; i < c->g->nparam; i++) {
        const Node *p = c->g->param[i].node;
        const double *want = expected_gradient(e, p);
        char what[600];
        int64_t count = shape_count(&p->shape);
        snprintf(what, sizeof what, "gradient of %s", p->attr.name);
        double allowed = e->allowed.gradient * fmax(largest(want, count), 1e-3 * most);
        if (!close_to(what, instance_gradient(r, p->attr.name), want, count, allowed, why, size))
            return false;
    }
    return true;
}

bool compiled_agrees(Instance *r, const Case *c, const Expected *e, char *why, size_t size) {
    return logits_agree(r, c, e, why, size) && losses_agree(r, c, e, why, size)
        && gradients_agree(r, c, e, why, size);
}

/* == Graphs =============================================================== */

static double moved(const Expected *a, const Expected *b, const char *output, int64_t count) {
    const double *x = expected(a, output), *y = expected(b, output);
    double most = 0;
    for (int64_t i = 0; x && i < count; i++)
        if (!(fabs(x[i] - y[i]) <= most)) most = isnan(x[i]) ? INFINITY : fabs(x[i] - y[i]);
    return most;
}

static bool gradients_moved(const Case *c, const Expected *a, const Expected *b) {
    double most = 0;
    for (int i = 0; i < c->g->nparam; i++) {
        const Node *p = c->g->param[i].node;
        most = fmax(most, largest(expected_gradient(a, p), shape_count(&p->shape)));
    }
    for (int i = 0; i < c->g->nparam; i++) {
        const Node *p = c->g->param[i].node;
        char output[600];
        int64_t count = shape_count(&p->shape);
        snprintf(output, sizeof output, "grad.%s", p->attr.name);
        double own = largest(expected_gradient(a, p), count);
        if (moved(a, b, output, count) > 2.5e-4 * fmax(own, 1e-3 * most)) return true;
    }
    return false;
}

bool case_is_shaky(Case *c, const Expected *e) {
    int64_t tokens = c->batch * c->time, logits = tokens * graph_find(c->g, "logits")->shape.dim[0];
    bool shaky = false;
    for (int round = 0; round < 3 && !shaky; round++) {
        Case *near = case_new(c->g, 1, c->batch, c->time, 1, 0, 0);
        memcpy(near->tokens, c->tokens, (size_t)tokens * sizeof *c->tokens);
        memcpy(near->targets, c->targets, (size_t)tokens * sizeof *c->targets);
        for (int i = 0; i < c->g->nparam; i++)
            for (int64_t k = 0; k < shape_count(&c->g->param[i].node->shape); k++)
                near->value[i][k] = c->value[i][k] * (1 + draw_uniform(&c->random, -1e-6, 1e-6));
        Expected other;
        expected_open(&other, near, op_info);
        shaky = moved(e, &other, "logits", logits) > 1.5e-5 * largest(expected(e, "logits"), logits)
            || moved(e, &other, "loss", 1) > 1.5e-5 * fmax(1, fabs(*expected(e, "loss")))
            || gradients_moved(c, e, &other);
        expected_close(&other);
        case_free(near);
    }
    return shaky;
}

static Answer extent_answer(const Compiled *m, Graph *g, uint64_t seed, Extent x, char *why,
                            size_t size) {
    char inner[512];
    Case *c = compiled_case(g, seed, x.batch, x.time, m->model->vocab);
    Expected e;
    Instance r;
    expected_open(&e, c, op_info);
    instance_open(&r, m, x.batch * x.time, 1);
    instance_weights(&r, c);
    bool good = compiled_agrees(&r, c, &e, inner, sizeof inner);
    if (!good)
        snprintf(why, size, "batch %lld, time %lld: %s", (long long)x.batch, (long long)x.time,
                 inner);
    Answer answer = good ? AGREES : case_is_shaky(c, &e) ? SHAKY : DIFFERS;
    instance_close(&r);
    expected_close(&e);
    case_free(c);
    return answer;
}

Answer graph_answer(Graph *g, uint64_t seed, const CodegenOptions *o, const Extent *extent,
                    char *why, size_t size) {
    int64_t context = 1;
    for (const Extent *x = extent; x->batch; x++)
        context = x->time > context ? x->time : context;
    ModelInfo info = compiled_info(g, context);
    Compiled c;
    Answer answer = AGREES;
    compiled_open(&c, g, &info, o);
    for (const Extent *x = extent; answer == AGREES && x->batch; x++)
        answer = extent_answer(&c, g, seed, *x, why, size);
    compiled_close(&c);
    graph_free(g);
    return answer;
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
