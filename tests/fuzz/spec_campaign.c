/* SPDX-License-Identifier: MIT
** Random specs, each in a process of its own, through all that spec_trial.h asks.
**   spec_campaign lists [COUNT [SEED]]     depth mixers that read long lists
**   spec_campaign specs [COUNT [SEED]]     every constructor, mixer and route
**   spec_campaign bf16 [COUNT [SEED]]      both in turn, with --precision bf16
**   spec_campaign hostile [COUNT [SEED]]   both, and specs of the tree with lines of one another,
**                                          planned, and every third compiled; they are not run
**   spec_campaign print KIND SEED          the spec itself
**   spec_campaign file SPEC [SEED]         the same questions about a file's, without limits
** A spec that fails is named by its kind and seed, with what differs.  The last line has the
** counts, so far if SIGTERM or SIGINT ends it; the exit status is 1 if a spec failed, or if few had
** an answer.  FUZZ_SHORTEST and FUZZ_LONGEST: pieces of a list (2, 300).
*/
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "compiled_spec.h"
#include "planned.h"
#include "fuzz.h"
#include "fuzz_lists.h"
#include "fuzz_spec.h"
#include "spec_trial.h"

const bool fuzz_forks = true;

enum { ENDS = TRIAL_REFUSED + 2 }; /* and those by a signal */

static int pieces(const char *name, int usual) {
    const char *text = getenv(name);
    int n = text ? atoi(text) : usual;
    return n > 2 ? n : 2;
}

/* A spec of the tree, of which some lines and words are another's. */
static char *mutated(uint64_t seed) {
    static FuzzInput f;
    size_t seeds = 0;
    while (fuzz_seed(seeds, f.bytes))
        seeds++;
    f.seed = seed, f.drawn = 0;
    f.n = fuzz_seed(fuzz_below(&f, seeds), f.bytes);
    fuzz_repair(&f);
    char *text = calloc(1, f.n + 1);
    if (!text) abort();
    memcpy(text, f.bytes, f.n);
    return text;
}

static char *spec_of(const char *kind, uint64_t seed) {
    if (!strcmp(kind, "hostile") && seed % 4 < 2) return mutated(seed);
    bool lists = !strcmp(kind, "lists") || (strcmp(kind, "specs") && seed % 2);
    return lists ? fuzz_lists(seed, pieces("FUZZ_SHORTEST", 2), pieces("FUZZ_LONGEST", 300))
                 : fuzz_spec(seed);
}

/* A spec that is refused has been read as it should. */
static int build(const SpecTrial *t) {
    static const SpecLimits limits = { .layers = 60, .instructions = 5000000 };
    Error e = { 0 };
    Planned planned;
    CompiledModel code;
    Model *m = spec_load(t->path, &limits, &e);
    if (!m) return e.status < 1 || e.status > 4 ? TRIAL_DIFFERS : TRIAL_SHAKY;
    ModelInfo info = spec_info(m);
    CodegenOptions o = { .cpu = "native", .prefix = "m", .emit = EMIT_OBJ };
    o.passes.bf16 = t->seed % 2;
    o.passes.check = t->seed % 5 == 0;
    int status = planned_make(m->graph, &info, &o, &planned, &e);
    if (!status) planned_free(&planned);
    if (!status && t->seed % 3 == 0) {
        status = planned_compile(m->graph, &info, &o, &code, &e);
        if (!status) codegen_free(&code);
    }
    if (status) fprintf(stderr, "%s\n", e.text);
    spec_free(m);
    return !status || status == 3 ? TRIAL_AGREES : TRIAL_DIFFERS;
}

/* By processor time, which is the same however busy the machine is; hours are a hang.  A build that
** asks for more memory than it may is told so, and not the machine. */
static void limit(void) {
    const struct rlimit seconds = { 200, 210 };
    setrlimit(RLIMIT_CPU, &seconds);
    alarm(7200);
#ifndef __SANITIZE_ADDRESS__
    const struct rlimit room = { (rlim_t)6 << 30, (rlim_t)6 << 30 };
    setrlimit(RLIMIT_AS, &room);
#endif
}

static int run_build(void *trial) {
    limit();
    return build(trial);
}

static int run_trial(void *trial) {
    limit();
    return spec_trial(trial);
}

/* Whoever asks about one spec can wait for it. */
static int run_asked(void *trial) {
    alarm(0);
    return spec_trial(trial);
}

static int try_one(const char *kind, uint64_t seed, const char *path) {
    char *text = spec_of(kind, seed);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) {
        perror(path);
        exit(2);
    }
    free(text);
    SpecTrial t = { path, seed, !strcmp(kind, "bf16") };
    return apart(strcmp(kind, "hostile") ? run_trial : run_build, &t);
}

static volatile sig_atomic_t stopped; /* by a signal: the spec in work is the last */

static void stop(int number) {
    (void)number;
    stopped = 1;
}

static bool failed(int status) { return status != TRIAL_AGREES && status != TRIAL_SHAKY; }

static int campaign(const char *kind, uint64_t count, uint64_t seed, const char *path) {
    uint64_t ends[ENDS] = { 0 };
    uint64_t i = 0;
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    for (; i < count && !stopped; i++) {
        int status = try_one(kind, seed + i, path);
        ends[status < ENDS - 1 ? status : ENDS - 1]++;
        if (!failed(status)) continue;
        if (status >= 128)
            printf("%s %llu: signal %d\n", kind, (long long unsigned)(seed + i), status - 128);
        else printf("%s %llu: status %d\n", kind, (long long unsigned)(seed + i), status);
        fflush(stdout);
    }
    printf("%s: %llu specs from seed %llu: %llu agree, %llu shaky, %llu differ, %llu refused, "
           "%llu ended otherwise\n",
           kind, (long long unsigned)i, (long long unsigned)seed,
           (long long unsigned)ends[TRIAL_AGREES], (long long unsigned)ends[TRIAL_SHAKY],
           (long long unsigned)ends[TRIAL_DIFFERS], (long long unsigned)ends[TRIAL_REFUSED],
           (long long unsigned)ends[ENDS - 1]);
    uint64_t good = ends[TRIAL_AGREES] + ends[TRIAL_SHAKY];
    /* of bfloat16 an answer is often nearly the interpreter's; of the hostile these are refused */
    bool enough = !strcmp(kind, "bf16") || !strcmp(kind, "hostile")
        || ends[TRIAL_SHAKY] <= 1 + i / 8;
    return good < i || !enough;
}

static int ask_file(int count, char **argument) {
    SpecTrial t = { .path = argument[2], .seed = count > 3 ? strtoull(argument[3], NULL, 10) : 1 };
    int status = apart(run_asked, &t);
    printf("%s: status %d\n", t.path, status);
    return failed(status);
}

int main(int count, char **argument) {
    static const char *const kinds[] = { "lists", "specs", "bf16", "hostile" };
    bool print = count == 4 && !strcmp(argument[1], "print");
    const char *kind = count > 1 ? argument[1 + print] : "";
    bool known = false;
    if (count > 2 && !strcmp(kind, "file")) return ask_file(count, argument);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        known |= !strcmp(kind, kinds[i]);
    if (!known)
        return fprintf(stderr, "expected lists, specs, bf16 or hostile, found '%s'\n", kind), 2;
    if (print) {
        char *text = spec_of(kind, strtoull(argument[3], NULL, 10));
        fputs(text, stdout);
        free(text);
        return 0;
    }
    char folder[] = "/tmp/strata-campaign-XXXXXX", path[64];
    if (!mkdtemp(folder)) return perror(folder), 2;
    snprintf(path, sizeof path, "%s/spec.lua", folder);
    int status = campaign(kind, count > 2 ? strtoull(argument[2], NULL, 10) : 10,
                          count > 3 ? strtoull(argument[3], NULL, 10) : 1, path);
    unlink(path);
    rmdir(folder);
    return status;
}
