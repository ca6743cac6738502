/* SPDX-License-Identifier: MIT
** Variants side by side: the first is the baseline, and all others are shown as differences from
** it.  'strata compare' fills a Comparison; this folder turns it into a table, JSON and an HTML
** page.
**
** One table of numbers (compare_numbers.c) feeds all three.  An unknown number is NAN and is left
** out everywhere.  Kernels are matched by role, their name without its number, because the numbers
** shift with every kernel that is added.
*/
#ifndef STRATA_COMPARISON_H
#define STRATA_COMPARISON_H

#include "mixing.h"
#include "report.h"

enum { COMPARE_MOST = 16, COMPARE_SEEDS = 64, COMPARE_RATES = 16 };

/* A mean with its 95 % interval; known: two values or more were there. */
typedef struct Estimate {
    double mean, deviation, low, high;
    bool known;
    double chance; /* that a mean as far from 0 comes by chance: two-sided; 1: not known */
} Estimate;

/* Rounds of 'bench --train', taken in turns with the other variants. */
typedef struct Timing {
    double *seconds;        /* [rounds]: of a training step */
    double *kernel;         /* [rounds][kernels of the report]: seconds a step */
    double tokens, memory;  /* a step's; the process's peak in bytes */
    double peak, bandwidth; /* of the machine, FLOP/s and bytes/s: medians */
    Estimate slower;        /* time against the baseline's, paired: ratio - 1 */
} Timing;

/* A training run: step i is [i - 1]. */
typedef struct TrainRun {
    /* [steps]: cross entropy; time since the start, evaluations and pauses left out */
    double *loss, *seconds;
    int *step;     /* [evaluations] */
    double *value; /* [evaluations]: validation loss */
    int evaluations, room;
    double first; /* validation loss before the first step, of weights that were given */
    bool has_first;
    /* [steps]: share of the tokens that its routes take, their mean; NULL: it has none */
    double *routed;
    double *route; /* [routes]: of each, over the last tenth of the run */
    int routes;
} TrainRun;

typedef struct Variant {
    char label[192];  /* what tells it apart from the others (compare_name.c) */
    const char *blas; /* who multiplies, as build --blas takes it; NULL: nobody asked */
    Report *report;
    double code_bytes, compile_seconds;
    double planning_seconds; /* of processor time, before it was compiled */
    Timing timing;
    TrainRun *run; /* [seeds] */
    double lr;     /* that it was trained with: the best of the rates; NAN: its spec's */
    double swept[COMPARE_RATES]; /* [rates]: loss at the end from the first seed; INFINITY: none */
    double best;                 /* the lowest of these */
    Mixing *trained; /* depth mixing after the first seed's run; NULL: not asked for, or: */
    Error untrained; /* why there is none */
    char *assembly;  /* of the program, LLVM's text; NULL: not asked for */
} Variant;

/* A file that was trained or evaluated on. */
typedef struct TextFile {
    char name[256], sha256[65]; /* "": could not be read again */
    int64_t bytes;
    bool validation;
} TextFile;

/* What a page needs to be read or made again years later; zeros and "": not known. */
typedef struct Circumstances {
    char date[32], processor[128];
    int processors;     /* that may be used */
    double load, after; /* of the minute before it began, and of the last one */
    TextFile *file;
    int files, more; /* more: that are not listed */
} Circumstances;

typedef struct Comparison {
    Variant variant[COMPARE_MOST];
    int n;
    char shared[96];  /* of the models' names, what labels leave out; "": nothing */
    int columns;      /* of the terminal that the table is for; 0: it is for none */
    int rounds;       /* 0: not measured */
    int threads;      /* 0: as many as the process may use */
    const char *text; /* what was trained on; NULL: not trained */
    const char *init; /* weights that all begin with; NULL: each with its own */
    int steps, seeds;
    bool mixing; /* of trained weights is measured too */
    const uint64_t *seed;
    double val_share;           /* of the text, its end: what is evaluated on; 0: other files are */
    double rate[COMPARE_RATES]; /* learning rates that each variant chooses from */
    int rates;                  /* 0: each has its spec's */
    const char *command;        /* that made this, as a shell takes it */
    Circumstances made;
} Comparison;

void compare_free(Comparison *c);
void run_free(TrainRun *r);
/* compare_name.c: labels, once all reports are there. */
void compare_name(Comparison *c);

/* == compare_numbers.c ==================================================== */

typedef enum Unit { UNIT_COUNT, UNIT_BYTES, UNIT_SECONDS, UNIT_LOSS, UNIT_RATE } Unit;

/* What a difference has to exceed to be told: nothing, the noise of times, that of seeds; or it is
** no difference that anybody asks for. */
typedef enum Sampled { SAMPLED_NOT, SAMPLED_TIME, SAMPLED_LOSS, SAMPLED_SPREAD } Sampled;

typedef struct Metric {
    const char *key, *name;
    Unit unit;
    Sampled sampled;
    double (*value)(const Comparison *c, const Variant *v);
    bool measured; /* in runs; else counted or predicted before any */
} Metric;

extern const Metric compare_metrics[];
extern const int compare_nmetric;

/* As people read it; "-" where it is not known. */
char *compare_number(char to[32], Unit unit, double value);
/* "+12.3 %", "=", or "" where there is nothing to compare. */
char *compare_difference(char to[32], double value, double base);
/* A metric's value where it is worth telling, else NAN: times to a loss where no loss differs are
** not. */
double compare_told(const Comparison *c, const Metric *m, const Variant *v);
/* As people read it: "never", and of how many seeds where it is not all of them, for the time to a
** loss. */
char *compare_told_number(char to[32], const Comparison *c, const Metric *m, const Variant *v);
/* Its difference to the baseline's; "~" where none was detected. */
char *compare_told_difference(char to[32], const Comparison *c, const Metric *m, const Variant *v);
/* What to know of the numbers if a variant has routes; "" if none has. */
const char *compare_routes_note(const Comparison *c);
/* What a variant comes to against the baseline: 'first' is the answer, a sentence with its name;
** 'rest' what else there is to know. */
void compare_answer(const Comparison *c, const Variant *v, Text *first, Text *rest);
/* Both of each variant but the first, a line each. */
void compare_verdict(const Comparison *c, Text *t);

/* == compare_kernels.c: kernels by role =================================== */

typedef struct RoleWork {
    int kernels; /* 0: the variant has none */
    Work work[WORKS];
    double seconds;  /* a training step, median of rounds; NAN: not measured */
    double spread;   /* half of what the middle eight tenths of the rounds span, of that */
    Estimate slower; /* than the baseline's, paired by rounds: ratio - 1; where both have it */
} RoleWork;

enum { ROLE_NAME = 96 };

/* Roles that differ; the last of these, which take less than a hundredth of the time together in
** each variant, unless all that differ do; and those that do the same work in all variants. */
typedef enum RoleGroup { ROLE_LARGE, ROLE_SMALL, ROLE_SAME } RoleGroup;

typedef struct Role {
    char name[ROLE_NAME];
    const char *family;
    RoleWork of[COMPARE_MOST];
    /* of compare_roles_sort: */
    double seconds; /* of the variant that spends the most in it */
    RoleGroup group;
} Role;

void compare_role_name(const char *kernel, char to[ROLE_NAME]);
/* In the order of their first use; to be freed; NULL: no memory. */
Role *compare_roles(const Comparison *c, int *n);
/* Those that take the most time, in any variant, come first; and groups them. */
void compare_roles_sort(const Comparison *c, Role *role, int n);
/* "+12.3 %", "~" where no difference was detected, "" where there is nothing to compare. */
char *role_slower(char to[32], const RoleWork *w);
/* Is there a variant that does other work in it than the baseline? */
bool role_differs(const Comparison *c, const Role *r);

/* == compare_stats.c ====================================================== */

double stats_median(const double *x, int n); /* NAN: none */
/* What a share of the values is at most, 0 to 1; NAN: none. */
double stats_quantile(const double *x, int n, double share);
Estimate stats_mean(const double *x, int n); /* Student's t */
/* x[i] against base[i], times: the mean of log ratios, given back as ratio - 1. From seven on, a
** fifth at each end does not count: what else the machine did then. */
Estimate stats_ratio(const double *x, const double *base, int n);
/* How many values would show a difference as large as this one, in four of five times, if they
** deviate as these do; 0: not known, or more than a million. */
int stats_needed(const Estimate *e);
/* The least difference that n values of this deviation would show in four of five times; NAN: not
** known. */
double stats_shown(const Estimate *e, int n);
/* Does the interval hold 0? */
bool stats_covers_zero(const Estimate *e);
/* Two-sided, of Student's t. */
double stats_chance(double t, int degrees);
/* Holm's correction for several comparisons (Scandinavian Journal of Statistics 6, 1979): chances
** that are at most 0.05 afterwards are all right in 19 of 20 such families. */
void stats_holm(const double *chance, int n, double *corrected);

/* == compare_times.c: how long steps of runs took ========================= */

/* A step that took more than four times the median of a whole run counts as the median.  false: no
** memory */
bool run_leave_out_pauses(TrainRun *r, int steps);
/* Do routes of runs take shares of the tokens? */
bool compare_any_routes(const Comparison *c);
/* Are times of training those of steps that were measured in turns?  Runs of other days or of a
** busy machine say little of which variant is faster.  Not where routes change what a step does. */
bool compare_times_measured(const Comparison *c);
/* Of training until the end of a step, as measured if they are, else as in the run's log. */
double compare_seconds(const Comparison *c, const Variant *v, const TrainRun *r, int step);

/* == compare_training.c: what runs came to ================================ */

/* Over seeds. */
typedef struct TrainingResult {
    /* mean and deviation of the validation loss after the last step, of all of that text: before
    ** it a part is evaluated only */
    Estimate end;
    Estimate first;      /* validation loss before the first step; NAN: not known */
    Estimate difference; /* against the baseline's of the same seed */
    int needed;          /* seeds that would show it, of stats_needed */
    double shown;        /* the least difference that these seeds can show */
    /* until its loss on that part is the baseline's lowest or lower, of seeds that got there */
    Estimate seconds;
    int matched; /* how many did */
    /* share of the tokens that its routes take at the end, their mean; NAN: none */
    Estimate routed;
} TrainingResult;

TrainingResult compare_trained(const Comparison *c, const Variant *v);
/* Is a difference of its loss detected? Of the baseline: is one of any variant's? */
bool compare_loss_differs(const Comparison *c, const Variant *v);
/* How the loss compares, in a clause. */
void compare_trained_words(const Comparison *c, const Variant *v, Text *t);
/* A sentence each: where no difference is detected, what these seeds could detect, and how many
** would detect it; where routes were trained, what they took. */
void compare_seeds_words(const Comparison *c, const Variant *v, Text *t);
void compare_routed_words(const Comparison *c, const Variant *v, Text *t);

/* FLOPs per token of a training step, with the final shares of the routes; NAN: no memory. */
double compare_executed(const Comparison *c, const Variant *v);
/* How many steps are the last tenth of a run. */
int compare_last(const Comparison *c);

/* Training loss, or the share that routes take, in 'bins' equal parts of a run, over seeds: mean,
** least and most; seconds: at the end of the part, a mean. Arrays of 'bins'; 0 of them: it has no
** routes. */
typedef enum Series { SERIES_LOSS, SERIES_ROUTED } Series;
typedef struct Band {
    double *mean, *low, *high, *seconds;
    int bins;
} Band;
/* false: no memory */
bool band_of(const Comparison *c, const Variant *v, Series which, int bins, Band *b);
void band_free(Band *b);

/* == compare_rank.c: all variants in a sentence ============================= */

/* What of runs is compared with the baseline. */
typedef enum Family { FAMILY_LOSS, FAMILY_TIME } Family;
/* The variant's difference from the baseline, alone; chance is 1 where it is not known. */
Estimate compare_difference_of(const Comparison *c, const Variant *v, Family f);
/* Its chance after Holm's correction for all variants; NAN: it is the baseline, or not known. */
double compare_corrected(const Comparison *c, const Variant *v, Family f);
/* Is it a difference after that correction? */
bool compare_detected(const Comparison *c, const Variant *v, Family f);
/* Sentences: by loss, by time per step, where nothing was run by bytes moved: which is the lowest,
** then which, and which of them differ from the baseline. */
void compare_ranking(const Comparison *c, Text *t);
/* That several intervals are several, or "". */
void compare_intervals_note(const Comparison *c, Text *t);
/* Best rates at an end of a sweep, of all variants at once; "" if there are none. */
void compare_swept_note(const Comparison *c, Text *t);
/* Which route took hardly a token in the last tenth of the runs, their mean, from 'i' on: its
** index, v->run->routes: none; where it is. */
int compare_idle_route(const Comparison *c, const Variant *v, int i, double *share);
const char *compare_route_site(const Variant *v, int i);
void compare_idle_note(const Comparison *c, Text *t);

/* == compare_made.c: circumstances ======================================== */

/* Before anything is measured: what it finds, its own work has no part in. 'val' without words: the
** end of 'data'. */
void compare_look_around(Comparison *c, const DataWords *data, const DataWords *val);
/* When all was done. */
void compare_look_back(Comparison *c);
/* "load 12 on 2 processors, ...", or "" if times are as good as they can be. */
void compare_load_warning(const Comparison *c, char to[160]);

/* == Outputs ============================================================== */

void compare_text(const Comparison *c, Text *t);
void compare_json(const Comparison *c, Text *t);
void compare_html(const Comparison *c, Text *t);

#endif
