/* SPDX-License-Identifier: MIT
** Peak of multiply-adds and bandwidth of memory, measured in short rounds of which
** the best counts: a round that was interrupted says nothing about the machine, only
** about what others leave of it (machine_products).
*/
#include "machine.h"
#include "peak_chains.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { TASKS_A_WORKER = 4 };

static double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double machine_now(void) { return seconds_of(CLOCK_MONOTONIC); }
double machine_thread_now(void) { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

typedef float Vec4 __attribute__((vector_size(16)));

#define V Vec4
#define SET(x) ((Vec4){ (x), (x), (x), (x) })
#define FMA(a, b, c) ((a) * (b) + (c))
static float chains_plain(int64_t rounds) { BODY }
#undef V
#undef SET
#undef FMA

typedef struct Peak {
    float (*run)(int64_t rounds);
    int64_t rounds;
    volatile float sink; /* keeps the work from being optimised away; its value is of no use */
} Peak;

/* Products that one step of a chain adds. */
static double choose_chains(Peak *p, Multiplier m) {
    PeakLoop loop = peak_loop(m);
    p->run = loop.run ? loop.run : chains_plain;
    if (loop.rounds) p->rounds = loop.rounds;
    return loop.run ? loop.products : 4;
}

/* Small weights are multiplied as fast as bfloat16s or faster. */
Multiplier machine_multiplier(const strata_model *m) {
    bool narrow = m->small || !strcmp(strata_string(m, m->precision), "bf16");
    bool own = strcmp(strata_string(m, m->blas), "openblas") != 0; /* it has no tiles for float32 */
    return peak_multiplier(strata_string(m, m->cpu), narrow, own);
}

static void peak_task(void *arg, int64_t task, int32_t worker) {
    Peak *p = arg;
    (void)worker;
    float sum = p->run(p->rounds);
    if (task == 0) p->sink = sum;
}

typedef struct Multiplied {
    double best, mean; /* FLOP/s: of a round, of all */
} Multiplied;

static Multiplied multiply_for(double seconds, strata_pool *pool, Multiplier m) {
    Peak p = { .rounds = 100000 };
    double each = choose_chains(&p, m);
    int64_t tasks = (int64_t)strata_pool_workers(pool) * TASKS_A_WORKER;
    double work = 2.0 * CHAINS * each * (double)p.rounds * (double)tasks, done = 0, best = 0;
    double start = machine_now(), now = start;
    do {
        double before = now;
        strata_par_for(pool, tasks, peak_task, &p);
        now = machine_now();
        done += work;
        best = fmax(best, work / (now - before));
    } while (now < start + seconds);
    return (Multiplied){ best, done / (now - start) };
}

/* The threads need a while to be spread over the processors. */
double machine_peak(strata_pool *pool, Multiplier m) { return multiply_for(0.2, pool, m).best; }

double machine_products(strata_pool *pool, Multiplier m) {
    return multiply_for(0.01, pool, m).mean;
}

typedef uint64_t Wide __attribute__((vector_size(32)));

typedef struct Reading {
    Wide *at;
    int64_t count, pieces; /* vectors in all */
    volatile uint64_t sink;
} Reading;

static void write_task(void *arg, int64_t task, int32_t worker) {
    Reading *r = arg;
    (void)worker;
    int64_t part = r->count / r->pieces;
    memset(r->at + task * part, 1, (size_t)part * sizeof *r->at);
}

static void read_task(void *arg, int64_t task, int32_t worker) {
    Reading *r = arg;
    (void)worker;
    int64_t part = r->count / r->pieces;
    const Wide *p = r->at + task * part;
    Wide a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
    for (int64_t i = 0; i + 4 <= part; i += 4) {
        a ^= p[i];
        b ^= p[i + 1];
        c ^= p[i + 2];
        d ^= p[i + 3];
    }
    a ^= b ^ c ^ d;
    if (task == 0) r->sink = a[0];
}

/* Several times what the last cache holds, within reason: of twice as much it still keeps a part,
** as last caches do not simply drop what was used longest ago. */
static size_t stream_bytes(void) {
    size_t least = (size_t)128 << 20, most = (size_t)512 << 20, bytes = least;
#ifdef _SC_LEVEL3_CACHE_SIZE
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (cache > 0 && (size_t)cache * 8 > bytes) bytes = (size_t)cache * 8;
#endif
    bytes = bytes < most ? bytes : most;
    double room = machine_memory_free() / 4;
    return room > 0 && room < (double)bytes ? (size_t)room : bytes;
}

static Reading reading(const MachineStream *s, const strata_pool *pool) {
    return (Reading){ .at = s->at,
                      .count = (int64_t)(s->bytes / sizeof(Wide)),
                      .pieces = (int64_t)strata_pool_workers(pool) * 16 };
}

void machine_stream_open(MachineStream *s, strata_pool *pool) {
    size_t bytes = stream_bytes();
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return;
    madvise(at, bytes, MADV_HUGEPAGE);
    *s = (MachineStream){ at, bytes };
    Reading r = reading(s, pool);
    strata_par_for(pool, r.pieces, write_task, &r);
}

double machine_stream_read(const MachineStream *s, strata_pool *pool) {
    if (!s->at) return 0;
    Reading r = reading(s, pool);
    double start = machine_now();
    strata_par_for(pool, r.pieces, read_task, &r);
    return (double)(r.count / r.pieces * r.pieces) * sizeof(Wide) / (machine_now() - start);
}

void machine_stream_close(MachineStream *s) {
    if (s->at) munmap(s->at, s->bytes);
    *s = (MachineStream){ 0 };
}

/* Bytes that a line of a file under /proc tells in kB; 0: none does. */
static double proc_bytes(const char *path, const char *format) {
    FILE *f = fopen(path, "re");
    char line[128];
    unsigned long long kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, format, &kib) == 1) break;
    if (f) fclose(f);
    return (double)kib * 1024;
}

/* Not getrusage's, which begins with what the process was before exec. */
double machine_memory_peak(void) { return proc_bytes("/proc/self/status", "VmHWM: %llu"); }

double machine_memory_free(void) { return proc_bytes("/proc/meminfo", "MemAvailable: %llu"); }
