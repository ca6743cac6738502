/* SPDX-License-Identifier: MIT
** Child processes with limits; see allowance.h.
*/
#include "allowance.h"

#include "command.h"
#include "files.h"
#include "process.h"
#include "remove.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The address sanitizer reserves more address space than any limit leaves. */
#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_LIMITED false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEMORY_LIMITED false
#endif
#endif
#ifndef MEMORY_LIMITED
#define MEMORY_LIMITED true
#endif

static double own_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

SpecLimits allowance_limits(const Allowance *a) {
    return (SpecLimits){ .graph = (size_t)a->memory / SPEC_GRAPH_SHARE,
                         .seconds = (double)a->seconds,
                         .chosen = a->chosen,
                         .console = a->console };
}

StepNote *allowance_step(const Allowance *a) { return &a->notes->step; }

/* == Limits of this process =============================================== */

/* The soft limit alone: what we start may have the rest back. */
static void set_limit(int which, const struct rlimit *before, double most) {
    struct rlimit l = *before;
    if (l.rlim_cur == RLIM_INFINITY || (double)l.rlim_cur > most) l.rlim_cur = (rlim_t)most;
    setrlimit(which, &l);
}

/* The system counts whole seconds; reading a spec looks at the clock itself and knows the line,
** so that it comes first. */
void allowance_lower(const Allowance *a) {
    set_limit(RLIMIT_CPU, &a->cpu_before, a->start + (double)a->seconds + 1);
    if (MEMORY_LIMITED) set_limit(RLIMIT_AS, &a->memory_before, (double)a->memory);
}

void allowance_lift(const Allowance *a) {
    setrlimit(RLIMIT_CPU, &a->cpu_before);
    setrlimit(RLIMIT_AS, &a->memory_before);
}

void allowance_spec(Allowance *a, const char *spec) {
    step_note(allowance_step(a), 0, "reading it");
    allowance_go_on(a, spec, 0);
}

double allowance_used(const Allowance *a) { return own_seconds() - a->start; }

void allowance_go_on(Allowance *a, const char *spec, double used) {
    print_text(a->notes->spec, sizeof a->notes->spec, "%s", spec);
    a->start = own_seconds() - used;
    allowance_lower(a);
}

/* == Folders ============================================================== */

void allowance_keep(Allowance *a, const char *folder) {
    for (int i = 0; i < FOLDERS_AT_ONCE && strlen(folder) < PATH_MAX; i++)
        if (!*a->notes->folder[i]) {
            print_text(a->notes->folder[i], sizeof a->notes->folder[i], "%s", folder);
            return;
        }
}

void allowance_drop(Allowance *a, const char *folder) {
    remove_folder(folder);
    allowance_forget(a, folder);
}

void allowance_forget(Allowance *a, const char *folder) {
    for (int i = 0; i < FOLDERS_AT_ONCE; i++)
        if (!strcmp(a->notes->folder[i], folder)) *a->notes->folder[i] = 0;
}

/* == What ended a process ================================================= */

/* A process that ended. */
typedef struct Ended {
    int how;        /* its wait status */
    int words;      /* what it wrote to standard error */
    double seconds; /* of processor time */
} Ended;

/* "pass memory of training, 15102 operations" */
static const char *step_text(const Allowance *a, char to[160]) {
    const StepNote *s = a->notes ? &a->notes->step : NULL;
    int n = print_text(to, 160, "%.63s", s && *s->what ? s->what : "starting");
    if (s && s->operations)
        print_text(to + n, 160 - (size_t)n, ", %lld operations", (long long)s->operations);
    return to;
}

/* What needed too much: the spec, or the compiler before it knew of one. */
static const char *asker(const Allowance *a) {
    return a->notes && *a->notes->spec ? a->notes->spec : "strata";
}

static int over_seconds(const Allowance *a, Error *e) {
    char at[160];
    bool own = a->cpu_before.rlim_cur == RLIM_INFINITY
        || a->cpu_before.rlim_cur > (rlim_t)a->seconds;
    return error_set(e, STATUS_LIMIT,
                     "%s: expected at most %lld s of processor time (%s), found more needed by %s",
                     asker(a), own ? (long long)a->seconds : (long long)a->cpu_before.rlim_cur,
                     own ? "--max-seconds" : "ulimit -t", step_text(a, at));
}

/* Of --max-memory and what the shell allows, the smallest, in bytes. */
static int64_t least_memory(const Allowance *a, const char **name) {
    int64_t least = MEMORY_LIMITED ? a->memory : INT64_MAX;
    *name = "--max-memory";
    if (a->memory_before.rlim_cur != RLIM_INFINITY && (int64_t)a->memory_before.rlim_cur <= least)
        least = (int64_t)a->memory_before.rlim_cur, *name = "ulimit -v";
    if (a->data_before.rlim_cur != RLIM_INFINITY && (int64_t)a->data_before.rlim_cur < least)
        least = (int64_t)a->data_before.rlim_cur, *name = "ulimit -d";
    return least;
}

static int over_memory(const Allowance *a, Error *e) {
    char at[160];
    const char *name;
    long long bytes = least_memory(a, &name);
    return error_set(e, STATUS_LIMIT,
                     "%s: expected at most %lld MB of memory (%s), found more needed by %s",
                     asker(a), bytes >> 20, name, step_text(a, at));
}

/* Signals that a process gets for what it does itself. */
static bool allowance_is_own(int number) {
    static const int own[] = { SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] == number) return true;
    return false;
}

/* Where address space is short, a process ends at its beginning already, by touch_stack. */
static bool lacked_stack(const Allowance *a, int number) {
    return number == SIGSEGV && MEMORY_LIMITED && a->memory_before.rlim_cur != RLIM_INFINITY
        && !*a->notes->step.what;
}

static int stopped(const Allowance *a, int number, Error *e) {
    if (!*a->notes->stopped) return process_stopped(number, e);
    return error_set(e, 128 + number, "strata: stopped by signal %d; %s", number,
                     a->notes->stopped);
}

static int killed(const Allowance *a, const Ended *x, int number, const char *line, Error *e) {
    char at[160];
    rlim_t hard = a->cpu_before.rlim_max;
    bool time = number == SIGXCPU
        || (number == SIGKILL && hard != RLIM_INFINITY && x->seconds + 0.1 >= (double)hard);
    if (time) return over_seconds(a, e);
    if (process_lacked_memory(line) || lacked_stack(a, number)) return over_memory(a, e);
    if (number == SIGKILL)
        return error_set(e, STATUS_LIMIT,
                         "%s: expected to compile it, found the compiler killed by the system, "
                         "which does so where memory runs out, or by somebody: %s",
                         asker(a), step_text(a, at));
    if (!allowance_is_own(number)) return stopped(a, number, e);
    error_set(e, STATUS_INTERNAL, "%s: internal error: signal %d: %s", asker(a), number,
              step_text(a, at));
    process_said(x->words, e);
    return e->status;
}

/* A line of a file is named: "spec.lua:7: expected ...". */
static bool names_line(const char *line) {
    const char *expected = strstr(line, ": expected ");
    return expected && expected > line && isdigit((unsigned char)expected[-1]);
}

/* It told no error: it ended as fatal.h has it, or LLVM or the system ended it. */
static int died(const Allowance *a, const Ended *x, Error *e) {
    char said[2048], at[160];
    const char *line = process_error(x->words, said, sizeof said);
    if (!WIFEXITED(x->how)) return killed(a, x, WTERMSIG(x->how), line, e);
    int status = WEXITSTATUS(x->how);
    if (process_lacked_memory(line)) return over_memory(a, e);
    if (*line && status == STATUS_LIMIT && !names_line(line))
        return error_set(e, status, "%s: %s: %s", asker(a), line, step_text(a, at));
    if (*line && (status == STATUS_INTERNAL || status == STATUS_LIMIT))
        return error_set(e, status, "%s", line);
    error_set(e, STATUS_INTERNAL, "%s: internal error: exit status %d: %s", asker(a), status,
              step_text(a, at));
    process_said(x->words, e);
    return e->status;
}

/* == Opening ============================================================== */

int allowance_open(Allowance *a, const Options *o, Error *e) {
    *a = (Allowance){ .memory = option_of(o, STRATA_OPTION_MAX_MEMORY)->count,
                      .seconds = option_of(o, STRATA_OPTION_MAX_SECONDS)->count,
                      .chosen = { .word = option_of(o, STRATA_OPTION_DEFINE)->list,
                                  .n = option_of(o, STRATA_OPTION_DEFINE)->length },
                      .console = stderr,
                      .start = own_seconds() };
    getrlimit(RLIMIT_AS, &a->memory_before);
    getrlimit(RLIMIT_DATA, &a->data_before);
    getrlimit(RLIMIT_CPU, &a->cpu_before);
    a->notes = mmap(NULL, sizeof *a->notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                    0);
    if (a->notes != MAP_FAILED) return STATUS_OK;
    a->notes = NULL;
    return over_memory(a, e);
}

void allowance_close(Allowance *a) {
    if (a->notes) munmap(a->notes, sizeof *a->notes);
}

/* == Running ============================================================== */

/* Address space that runs out must not be the stack's, whose end no line would tell. */
static void touch_stack(void) {
    volatile char room[2 << 20];
    struct rlimit l;
    if (getrlimit(RLIMIT_STACK, &l) || l.rlim_cur < 4 * sizeof room) return;
    for (size_t i = 0; i < sizeof room; i += 4096)
        room[i] = 0;
}

/* A process that starts; what 'used' its parent's seconds counts as its own. */
static void allowance_begin(Allowance *a, const sigset_t *mask, int words, double used) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int console = a->inner ? -1 : dup(STDERR_FILENO);
    FILE *f = console >= 0 ? fdopen(console, "w") : NULL;
    if (f) a->console = f;
    output_guard(a->console);
    process_release(mask);
    a->inner = true;
    if (words >= 0) dup2(words, STDERR_FILENO);
    touch_stack();
    a->start = own_seconds() - used;
    allowance_lower(a);
}

/* Removes what a process left that could not do so itself. */
static void clean(Allowance *a) {
    for (int i = 0; i < FOLDERS_AT_ONCE; i++)
        if (*a->notes->folder[i]) allowance_drop(a, a->notes->folder[i]);
}

static int ended(Allowance *a, const Ended *x, const Error *told, Error *e) {
    bool same = WIFEXITED(x->how) && WEXITSTATUS(x->how) == told->status;
    if (!same) return died(a, x, e);
    if (told->status == STATUS_LIMIT && process_lacked_memory(told->text)) return over_memory(a, e);
    if (told->status) *e = *told;
    return told->status;
}

int allowance_run(Allowance *a, AllowedWork *work, void *argument, const sigset_t *mask, Error *e) {
    Error *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                       0);
    if (told == MAP_FAILED) return over_memory(a, e);
    Ended x = { .words = process_listen(), .seconds = -process_children_seconds() };
    double used = allowance_used(a);
    int status, stop = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        allowance_begin(a, mask, x.words, used);
        exit(work(argument, told));
    }
    const ProcessTick tick = { doing_tick, a };
    if (child > 0) x.how = process_wait(child, a->inner ? NULL : &tick, &stop);
    if (!a->inner) doing_end(a);
    x.seconds += process_children_seconds();
    if (child < 0) status = process_unstarted(errno, e);
    else if (stop) status = stopped(a, stop, e);
    else status = ended(a, &x, told, e);
    if (!a->inner) clean(a);
    if (x.words >= 0) close(x.words);
    munmap(told, sizeof *told);
    return status;
}
