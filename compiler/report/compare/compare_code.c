/* SPDX-License-Identifier: MIT
** Which kernels are set side by side; see compare_code.h. */
#include "compare_code.h"

#include <stdlib.h>
#include <string.h>

#include "work.h"

enum { TRIES = 8 }; /* kernels of a role that are looked at for one that differs */
#define NEAR 0.5 /* share of common lines from which on a kernel at the same place is the match */

static const Step *step_of(const Report *r, const ReportKernel *k) {
    return &r->planned.plans.plan[k->plan]->step[k->step];
}

static double cost(const ReportKernel *k) {
    return k->work[k->work[TRAINING].calls ? TRAINING : FORWARD].bytes;
}

/* == The baseline's kernels =============================================== */

typedef struct Base {
    const Report *r;
    CodeLines *listing; /* by kernel, made when it is asked for */
} Base;

static const CodeLines *listing_of(Base *b, int kernel) {
    if (!b->listing[kernel].n) code_listing(b->r, &b->r->kernel[kernel], &b->listing[kernel]);
    return &b->listing[kernel];
}

static bool is_called_at(const Report *r, const ReportKernel *k, const char *site) {
    for (int i = 0; i < PROGRAMS; i++) {
        bool known = i == PROGRAM_LOSS || i == PROGRAM_GENERATE || i == PROGRAM_SCORE
            || i == PROGRAM_RULES;
        const Plan *p = known ? NULL : r->planned.plans.plan[i];
        for (int s = 0; p && s < p->nstep; s++)
            if (r->planned.code.kernel[r->planned.step[i][s].kernel].name == k->name
                && !strcmp(work_site(&p->step[s]), site))
                return true;
    }
    return false;
}

static bool code_is_row(const Report *r, const ReportKernel *k) {
    return step_of(r, k)->kind == STEP_ROW;
}

static bool has_role(const ReportKernel *k, const char *role) {
    char name[ROLE_NAME];
    compare_role_name(k->name, name);
    return !strcmp(name, role);
}

/* kernel -1: none; near: 1 if all lines are common */
typedef struct Match {
    int kernel;
    double near;
} Match;

/* The nearest listing of row kernels, of those in the role that are called at 'site' if it is not
** NULL. */
static Match nearest(Base *b, const CodeLines *own, const char *role, const char *site) {
    Match best = { -1, 0 };
    for (int i = 0; i < b->r->nkernel; i++) {
        const ReportKernel *k = &b->r->kernel[i];
        if (!code_is_row(b->r, k) || (site && !(has_role(k, role) && is_called_at(b->r, k, site))))
            continue;
        const CodeLines *lines = listing_of(b, i);
        int *align = code_align(lines, own);
        double near = align ? 2.0 * code_common(lines, align) / (lines->n + own->n + 1) : 0;
        if (near > best.near) best = (Match){ i, near };
        free(align);
    }
    return best;
}

/* == A variant's kernels ================================================== */

static bool is_equal(const CodeSides *s) {
    return s->side[0].n == s->side[1].n && s->side[0].more == s->side[1].more
        && code_common(&s->side[0], s->align) == s->side[0].n;
}

static void free_sides(CodeSides *s) {
    code_free(&s->side[0]);
    code_free(&s->side[1]);
    free(s->align);
}

static void free_pair(CodePair *p) {
    free_sides(&p->listing);
    free_sides(&p->assembly);
}

/* false: no memory. */
static bool align(CodeSides *s) {
    s->align = code_align(&s->side[0], &s->side[1]);
    return s->align && !s->side[0].failed && !s->side[1].failed;
}

static bool make_pair(const Comparison *c, Base *b, int variant, const ReportKernel *k,
                      CodePair *out) {
    const Variant *v = &c->variant[variant];
    char role[ROLE_NAME];
    *out = (CodePair){ .variant = variant, .kernel = { NULL, k } };
    compare_role_name(k->name, role);
    code_listing(v->report, k, &out->listing.side[1]);
    Match match = nearest(b, &out->listing.side[1], role, work_site(step_of(v->report, k)));
    if (match.near < NEAR) {
        Match other = nearest(b, &out->listing.side[1], role, NULL);
        if (other.near > match.near) match = other;
    }
    if (match.kernel >= 0) {
        out->kernel[0] = &b->r->kernel[match.kernel];
        code_listing(b->r, out->kernel[0], &out->listing.side[0]);
    }
    return align(&out->listing);
}

static bool add_assembly(const Comparison *c, CodePair *p) {
    for (int i = 0; i < 2; i++) {
        const char *text = c->variant[i ? p->variant : 0].assembly;
        if (text && p->kernel[i]) code_assembly(text, p->kernel[i]->name, &p->assembly.side[i]);
    }
    return align(&p->assembly);
}

static int by_cost(const void *a, const void *b) {
    const ReportKernel *x = *(const ReportKernel *const *)a, *y = *(const ReportKernel *const *)b;
    return cost(x) > cost(y) ? -1 : cost(x) < cost(y) ? 1 : x < y ? -1 : 1;
}

/* Roles that were looked at: a role is done once one of its kernels is shown. */
typedef struct Seen {
    char role[ROLE_NAME];
    int tries;
} Seen;

static Seen *seen_of(Seen *seen, int *n, const char *kernel) {
    char role[ROLE_NAME];
    compare_role_name(kernel, role);
    for (int i = 0; i < *n; i++)
        if (!strcmp(seen[i].role, role)) return &seen[i];
    print_text(seen[*n].role, ROLE_NAME, "%s", role);
    return &seen[(*n)++];
}

/* Adds to 'pair', which has room for CODE_KERNELS more; false: no memory. */
static bool code_add_variant(const Comparison *c, Base *b, int variant, CodePair *pair, int *n) {
    const Report *r = c->variant[variant].report;
    const ReportKernel **k = calloc((size_t)r->nkernel + 1, sizeof *k);
    Seen *seen = calloc((size_t)r->nkernel + 1, sizeof *seen);
    bool ok = k && seen;
    int rows = 0, roles = 0, found = 0;
    for (int i = 0; ok && i < r->nkernel; i++)
        if (code_is_row(r, &r->kernel[i])) k[rows++] = &r->kernel[i];
    if (ok) qsort(k, (size_t)rows, sizeof *k, by_cost);
    for (int i = 0; ok && i < rows && found < CODE_KERNELS; i++) {
        Seen *s = seen_of(seen, &roles, k[i]->name);
        if (s->tries++ >= TRIES) continue;
        CodePair *p = &pair[*n];
        ok = make_pair(c, b, variant, k[i], p);
        if (!ok || is_equal(&p->listing)) {
            free_pair(p);
            continue;
        }
        ok = add_assembly(c, p);
        s->tries = TRIES;
        found++;
        ++*n;
    }
    free(k);
    free(seen);
    return ok;
}

/* == All of them ========================================================== */

CodePair *compare_code(const Comparison *c, int *n) {
    Base b = { .r = c->variant->report };
    CodePair *pair = calloc((size_t)c->n * CODE_KERNELS, sizeof *pair);
    b.listing = calloc((size_t)b.r->nkernel + 1, sizeof *b.listing);
    bool ok = pair && b.listing;
    *n = 0;
    for (int i = 1; ok && i < c->n; i++)
        ok = code_add_variant(c, &b, i, pair, n);
    for (int i = 0; b.listing && i < b.r->nkernel; i++)
        code_free(&b.listing[i]);
    free(b.listing);
    if (ok) return pair;
    compare_code_free(pair, *n);
    *n = -1;
    return NULL;
}

void compare_code_free(CodePair *pair, int n) {
    for (int i = 0; pair && i < n; i++)
        free_pair(&pair[i]);
    free(pair);
}
