/* SPDX-License-Identifier: MIT
** Executes the tables of a compiled model (program.h): phases, actions, tasks.
**
** In a token phase, a task takes some tokens, at most a chunk, through every action.  In a global
** phase, the tasks of all actions are numbered one after another and run in parallel; then the
** calling thread runs the uniform actions.
*/
#include "driver.h"
#include "actions.h"
#include "guard.h"

/* For products of few rows: the number of columns of a task is a multiple of the first; a worker
** has about the second number of tasks. */
enum { FEW_COLUMNS = 16, FEW_TASKS = 4 };

/* Multiples of rows that tiles of float32 and of bfloat16 take. */
enum { SHARE_UNIT = 16, SHARE_UNIT_BF16 = 32 };

/* How the rows of a token phase are divided: among so many workers, in multiples of 'unit'. */
typedef struct Sharing {
    int64_t rows, workers, unit;
} Sharing;

/* 'product', 'block': the first of products of few rows that run side by side, and columns of a
** task.  'packing': the token phase whose weights are packed, NULL: none is. */
typedef struct Job {
    Frame *f;
    const Stage *phase, *packing;
    const Action *product;
    int64_t block;
    Sharing sharing; /* of a token phase */
} Job;

/* The rows that a token phase works on. */
static int64_t first_row(const Frame *f, const Stage *phase) { return phase->list ? 0 : f->from; }
static int64_t rows_left(const Frame *f, const Stage *phase) {
    return frame_rows(f, phase->list) - first_row(f, phase);
}

/* Rows [first, first + count). */
typedef struct Share {
    int64_t first, count;
} Share;

/* OpenBLAS's bits may depend on how many rows a product has: its shares are the same for any number
** of threads. */
static bool calls_blas(const Frame *f, const Stage *phase) {
    for (int32_t i = 0; k_constants.blas && i < phase->count; i++) {
        const Action *s = &k_actions[phase->first + i];
        if ((s->what == DO_LINEAR || s->what == DO_LINEAR_BACK) && frame_blas(f, s->product.blas))
            return true;
    }
    return false;
}

/* Few rows: each worker has one share, which need not be whole granules if no sums over tokens are
** formed. */
static Sharing sharing_of(const Frame *f, const Stage *phase) {
    Sharing x = { rows_left(f, phase), f->ctx->setup.workers, k_constants.granule };
    if (calls_blas(f, phase)) x.workers = 1;
    if (!phase->sums) x.unit = k_constants.bf16 ? SHARE_UNIT_BF16 : SHARE_UNIT;
    return x;
}

/* The share that begins at row 'first'.  Many rows are shared in chunks that become smaller towards
** the end, so that no worker waits long for the last one. */
static Share share_at(const Sharing *x, int64_t first) {
    int64_t left = x->rows - first, chunk = k_constants.chunk,
            among = x->rows <= x->workers * chunk ? x->rows : left;
    if (x->workers > 1) chunk = min64(chunk, round_up(blocks(among, x->workers), x->unit));
    return (Share){ first, min64(chunk, left) };
}

static Share share_after(const Sharing *x, Share s) { return share_at(x, s.first + s.count); }

/* So many shares at the beginning are certainly chunks. */
static int64_t whole_shares(const Sharing *x) {
    return max64(x->rows / k_constants.chunk - x->workers, 0);
}

static Share driver_share_of(const Sharing *x, int64_t task) {
    int64_t whole = min64(task, whole_shares(x));
    Share s = share_at(x, whole * k_constants.chunk);
    for (; whole < task; whole++)
        s = share_after(x, s);
    return s;
}

static int64_t shares(const Sharing *x) {
    int64_t n = whole_shares(x);
    for (Share s = driver_share_of(x, n); s.count > 0; s = share_after(x, s))
        n++;
    return n;
}

static void share_task(void *arg, int64_t task, int32_t worker) {
    const Job *j = arg;
    unsigned mode = enter_mode();
    Share s = driver_share_of(&j->sharing, task);
    TaskWork w = { j->f, worker, first_row(j->f, j->phase) + s.first, s.count, 0, -1, worker };
    for (int32_t i = 0; i < j->phase->count; i++)
        k_token_action(&w, &k_actions[j->phase->first + i]);
    leave_mode(mode);
}

static void columns_task(void *arg, int64_t task, int32_t worker) {
    const Job *j = arg;
    const Action *s = j->product;
    for (; task >= blocks(s->product.columns, j->block); s++)
        task -= blocks(s->product.columns, j->block);
    unsigned mode = enter_mode();
    TaskWork w = { j->f,
                   0,
                   first_row(j->f, j->phase),
                   rows_left(j->f, j->phase),
                   task * j->block,
                   min64((task + 1) * j->block, s->product.columns),
                   worker };
    frame_profile(j->f, s, 1, worker);
    k_run_product(&w, s);
    frame_profile(j->f, s, 0, worker);
    leave_mode(mode);
}

static bool same_ref(const Action *a, const Action *b, int i) {
    const Ref *x = &k_refs[a->ref + i], *y = &k_refs[b->ref + i];
    return x->area == y->area && x->offset == y->offset;
}

/* Products from s on, before 'end', that read the same rows and write different ones, so that none
** waits for another. */
static int32_t side_by_side(const Action *s, const Action *end) {
    int32_t n = 1;
    for (; s + n < end && s[n].what == DO_LINEAR && same_ref(s, s + n, REF(LINEAR, x)); n++)
        for (int32_t i = 0; i < n; i++)
            if (same_ref(s + i, s + n, REF(LINEAR, y))) return n;
    return n;
}

static void run_columns(Frame *f, const Stage *phase, const Action *s, int32_t products) {
    int64_t columns = 0, tasks = 0, workers = f->ctx->setup.workers;
    for (int32_t i = 0; i < products; i++)
        columns += s[i].product.columns;
    int64_t share = blocks(columns, workers > 1 ? FEW_TASKS * workers : 1);
    Job j = { f, phase, 0, s, blocks(share, FEW_COLUMNS) * FEW_COLUMNS, { 0 } };
    for (int32_t i = 0; i < products; i++)
        tasks += blocks(s[i].product.columns, j.block);
    k_par_for(f->ctx, tasks, columns_task, &j);
    for (int32_t i = 0; k_constants.check && i < products; i++)
        k_check_step(f, s + i, 0), k_check_free(f, s + i, 0);
}

static void parts_task(void *arg, int64_t task, int32_t worker) {
    const Job *j = arg;
    const Action *s = j->product;
    unsigned mode = enter_mode();
    TaskWork w = { j->f,
                   0,
                   first_row(j->f, j->phase),
                   rows_left(j->f, j->phase),
                   task * j->block,
                   min64((task + 1) * j->block, s->each.parts),
                   worker };
    frame_profile(j->f, s, 1, worker);
    k_run_each(&w, s);
    frame_profile(j->f, s, 0, worker);
    leave_mode(mode);
}

/* Products of parts of few rows. */
static void run_parts(Frame *f, const Stage *phase, const Action *s) {
    int64_t workers = f->ctx->setup.workers, parts = s->each.parts;
    Job j = { f, phase, 0, s, blocks(parts, workers > 1 ? FEW_TASKS * workers : 1), { 0 } };
    k_par_for(f->ctx, blocks(parts, j.block), parts_task, &j);
    if (k_constants.check) k_check_step(f, s, 0), k_check_free(f, s, 0);
}

/* Few rows: runs one action after another, with products split by columns over all workers. */
static void run_few(Frame *f, const Stage *phase) {
    for (int32_t i = 0; i < phase->count; i++) {
        const Action *s = &k_actions[phase->first + i];
        if (s->what == DO_LINEAR) {
            int32_t products = side_by_side(s, &k_actions[phase->first + phase->count]);
            run_columns(f, phase, s, products);
            i += products - 1;
        } else if (s->what == DO_LINEAR_EACH) {
            run_parts(f, phase, s);
        } else {
            unsigned mode = enter_mode();
            TaskWork w = { f, 0, first_row(f, phase), rows_left(f, phase), 0, -1, 0 };
            k_token_action(&w, s);
            leave_mode(mode);
        }
    }
}

/* == Packing ============================================================== */

/* Tasks that pack the weights of a token phase's products. */
static int64_t packing_tasks(const Frame *f, const Stage *phase) {
    int64_t tasks = 0;
    for (int32_t i = 0; i < phase->count; i++)
        tasks += k_pack_tasks(f, &k_actions[phase->first + i]);
    return tasks;
}

static void pack_task(void *arg, int64_t task, int32_t worker) {
    const Job *j = arg;
    for (int32_t i = 0; i < j->packing->count; i++) {
        const Action *s = &k_actions[j->packing->first + i];
        int64_t n = k_pack_tasks(j->f, s);
        if (task < n) {
            frame_profile(j->f, s, 1, worker);
            k_pack_task(j->f, s, task, worker);
            frame_profile(j->f, s, 0, worker);
            return;
        }
        task -= n;
    }
}

static void pack_weights(Frame *f, const Stage *phase) {
    Job j = { .f = f, .packing = phase };
    int64_t tasks = packing_tasks(f, phase);
    if (tasks) k_par_for(f->ctx, tasks, pack_task, &j);
}

/* The next phase, if its weights may be packed beside this phase's tasks.  They must be parameters,
** for products of all tokens: computed weights, and the number of rows of a list, may not be known
** yet. */
static const Stage *packed_beside(const Frame *f, const Stage *phase) {
    const Stage *next = phase + 1;
    if (!f->packed || f->few) return 0;
    if (next - &k_stages[f->program->phase] >= f->whole_phases || next->global || next->list)
        return 0;
    for (int32_t i = 0; i < next->count; i++) {
        const Action *s = &k_actions[next->first + i];
        if (s->list || (k_pack_tasks(f, s) && k_refs[s->ref + REF(LINEAR, w)].area != AREA_WEIGHT))
            return 0;
    }
    return next;
}

/* == Global phases ======================================================== */

static void tile_task(void *arg, int64_t task, int32_t worker) {
    const Job *j = arg;
    int attention_step = 0;
    unsigned mode = enter_mode();
    for (int32_t i = 0; i < j->phase->count; i++) {
        const Action *s = &k_actions[j->phase->first + i];
        int64_t n = k_global_tasks(&(GlobalWork){ j->f, 0, 0, attention_step }, s);
        if (task < n) {
            k_global_action(&(GlobalWork){ j->f, task, worker, attention_step }, s);
            leave_mode(mode);
            return;
        }
        task -= n;
        attention_step += s->what == DO_ATTENTION;
    }
    leave_mode(mode);
    pack_task(arg, task, worker);
}

/* Weights of the next phase are packed last, by workers that have nothing else to do. */
static void run_global(Frame *f, const Stage *phase) {
    Job j = { .f = f, .phase = phase, .packing = packed_beside(f, phase) };
    int64_t tasks = 0;
    int attention_step = 0;
    for (int32_t i = 0; i < phase->count; i++) {
        const Action *s = &k_actions[phase->first + i];
        if (!k_global_begin(f, s, attention_step)) return;
        tasks += k_global_tasks(&(GlobalWork){ f, 0, 0, attention_step }, s);
        attention_step += s->what == DO_ATTENTION;
    }
    if (j.packing) tasks += packing_tasks(f, j.packing);
    k_par_for(f->ctx, tasks, tile_task, &j);
    f->packed_for = j.packing;
    bool carries = f->states && k_constants.carried_floats;
    attention_step = 0;
    for (int32_t i = 0; i < phase->count; i++) {
        const Action *s = &k_actions[phase->first + i];
        if (carries) k_global_end(f, s);
        if (f->states) k_attention_end(f, s, attention_step);
        attention_step += s->what == DO_ATTENTION;
        if (s->what != DO_UNIFORM) continue;
        unsigned mode = enter_mode();
        TaskWork w = { f, 0, 0, 0, 0, -1, 0 };
        frame_profile(f, s, 1, 0);
        k_run_row(&w, s);
        frame_profile(f, s, 0, 0);
        leave_mode(mode);
    }
}

void k_run_phase(Frame *f, const Stage *phase) {
    if (phase->global) run_global(f, phase);
    else if (!rows_left(f, phase)) return; /* a list of no rows */
    else if (f->few) run_few(f, phase);
    else {
        Job j = { .f = f, .phase = phase, .sharing = sharing_of(f, phase) };
        if (f->packed_for != phase) pack_weights(f, phase);
        f->packed_for = 0;
        k_par_for(f->ctx, shares(&j.sharing), share_task, &j);
    }
}
