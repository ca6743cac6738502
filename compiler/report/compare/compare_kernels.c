/* SPDX-License-Identifier: MIT
** Kernels of all variants, matched by role; see comparison.h. */
#include "comparison.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A kernel's name without its number: "rows_mlp_grad" for "rows12_mlp_grad". */
void compare_role_name(const char *kernel, char to[ROLE_NAME]) {
    size_t head = strcspn(kernel, "0123456789"), digits = 0;
    while (isdigit((unsigned char)kernel[head + digits]))
        digits++;
    bool numbered = head && kernel[head - 1] != '_' && kernel[head + digits] == '_';
    print_text(to, ROLE_NAME, "%.*s%s", (int)head, kernel, kernel + head + (numbered ? digits : 0));
}

static Role *role_of(Role *role, int *n, const ReportKernel *k) {
    char name[ROLE_NAME];
    compare_role_name(k->name, name);
    for (int i = 0; i < *n; i++)
        if (!strcmp(role[i].name, name)) return &role[i];
    Role *r = &role[(*n)++];
    print_text(r->name, sizeof r->name, "%s", name);
    r->family = k->family;
    for (int i = 0; i < COMPARE_MOST; i++)
        r->of[i].seconds = r->of[i].spread = r->of[i].slower.mean = NAN;
    return r;
}

static void kernels_add_kernel(const Comparison *c, int variant, int kernel, RoleWork *w) {
    const ReportKernel *k = &c->variant[variant].report->kernel[kernel];
    for (int i = 0; i < WORKS; i++) {
        w->work[i].calls += k->work[i].calls;
        w->work[i].flops += k->work[i].flops;
        w->work[i].bytes += k->work[i].bytes;
        w->work[i].operations += k->work[i].operations;
        w->work[i].functions += k->work[i].functions;
    }
    w->kernels++;
}

/* == Times ================================================================ */

/* Seconds of a round in all kernels of the role; the result: does the role work in training? */
static bool role_rounds(const Comparison *c, const Role *r, int variant, double *seconds) {
    const Variant *v = &c->variant[variant];
    bool works = false;
    for (int i = 0; i < c->rounds; i++)
        seconds[i] = 0;
    for (int k = 0; k < v->report->nkernel; k++) {
        char name[ROLE_NAME];
        compare_role_name(v->report->kernel[k].name, name);
        if (strcmp(name, r->name) || !v->report->kernel[k].work[TRAINING].calls) continue;
        works = true;
        for (int i = 0; i < c->rounds; i++)
            seconds[i] += v->timing.kernel[(size_t)i * (size_t)v->report->nkernel + (size_t)k];
    }
    return works;
}

/* Of the middle eight tenths of the rounds: one in which others worked would tell nothing else. */
static double spread_of(const double *x, int n, double middle) {
    double span = stats_quantile(x, n, 0.9) - stats_quantile(x, n, 0.1);
    return middle > 0 ? span / 2 / middle : NAN;
}

static bool same_work(const RoleWork *a, const RoleWork *b) {
    if (a->kernels != b->kernels) return false;
    for (int i = 0; i < WORKS; i++)
        if (a->work[i].calls != b->work[i].calls || a->work[i].flops != b->work[i].flops
            || a->work[i].bytes != b->work[i].bytes)
            return false;
    return true;
}

/* By the same code: only noise could differ. */
static bool same_code(const Comparison *c, const Role *r, int variant) {
    const char *own = c->variant[variant].blas, *base = c->variant->blas;
    return same_work(&r->of[variant], &r->of[0]) && !strcmp(own ? own : "", base ? base : "");
}

static void time_role(const Comparison *c, Role *r, double *base, double *own) {
    bool both = role_rounds(c, r, 0, base);
    for (int i = 0; i < c->n; i++) {
        RoleWork *w = &r->of[i];
        if (!role_rounds(c, r, i, own)) continue;
        w->seconds = stats_median(own, c->rounds);
        w->spread = spread_of(own, c->rounds, w->seconds);
        if (i && both && !same_code(c, r, i)) w->slower = stats_ratio(own, base, c->rounds);
    }
}

/* false: no memory */
static bool time_roles(const Comparison *c, Role *role, int n) {
    double *x = calloc(2 * (size_t)c->rounds + 1, sizeof *x);
    for (int i = 0; x && i < n; i++)
        time_role(c, &role[i], x, x + c->rounds);
    free(x);
    return x != NULL;
}

char *role_slower(char to[32], const RoleWork *w) {
    *to = 0;
    if (!isfinite(w->slower.mean) || !isfinite(w->seconds)) return to;
    if (stats_covers_zero(&w->slower)) print_text(to, 32, "~");
    else compare_difference(to, 1 + w->slower.mean, 1);
    return to;
}

/* == Roles ================================================================ */

Role *compare_roles(const Comparison *c, int *n) {
    size_t most = 1;
    for (int i = 0; i < c->n; i++)
        most += (size_t)c->variant[i].report->nkernel;
    Role *role = calloc(most, sizeof *role);
    *n = 0;
    for (int i = 0; role && i < c->n; i++)
        for (int k = 0; k < c->variant[i].report->nkernel; k++)
            kernels_add_kernel(c, i, k, &role_of(role, n, &c->variant[i].report->kernel[k])->of[i]);
    if (role && c->rounds && !time_roles(c, role, *n)) free(role), role = NULL;
    return role;
}

/* Measured, else as the rates predict; 0: it has none, or was not measured. */
static double variant_seconds(const Comparison *c, const Role *r, int variant) {
    const RoleWork *w = &r->of[variant];
    const Report *report = c->variant[variant].report;
    if (isfinite(w->seconds)) return w->seconds;
    if (c->rounds || !w->kernels) return 0;
    return rates_seconds(&report->rates, r->family, report_all_work(report, &w->work[TRAINING]));
}

/* Of the variant that spends the most in it. */
static double role_seconds(const Comparison *c, const Role *r) {
    double most = 0;
    for (int i = 0; i < c->n; i++)
        most = fmax(most, variant_seconds(c, r, i));
    return most;
}

static int by_seconds(const void *a, const void *b) {
    const Role *x = a, *y = b;
    return x->seconds < y->seconds ? 1 : x->seconds > y->seconds ? -1 : strcmp(x->name, y->name);
}

bool role_differs(const Comparison *c, const Role *r) {
    for (int i = 1; i < c->n; i++)
        if (!same_work(&r->of[i], &r->of[0])) return true;
    return false;
}

/* Roles are small from here on that differ and take less than a hundredth of a variant's time. */
static int small_from(const Comparison *c, const Role *role, int n, int variant) {
    double all = 0, rest = 0;
    int i = n;
    for (int k = 0; k < n; k++)
        all += variant_seconds(c, &role[k], variant);
    for (; i > 0; i--) {
        if (role_differs(c, &role[i - 1])) rest += variant_seconds(c, &role[i - 1], variant);
        if (!(rest < 0.01 * all)) break;
    }
    return i;
}

static void group(const Comparison *c, Role *role, int n) {
    int from = 0, large = 0;
    for (int i = 0; i < c->n; i++) {
        int own = small_from(c, role, n, i);
        if (own > from) from = own;
    }
    for (int i = 0; i < n; i++) {
        role[i].group = !role_differs(c, &role[i]) ? ROLE_SAME : i < from ? ROLE_LARGE : ROLE_SMALL;
        large += role[i].group == ROLE_LARGE;
    }
    for (int i = 0; !large && i < n; i++)
        if (role[i].group == ROLE_SMALL) role[i].group = ROLE_LARGE;
}

void compare_roles_sort(const Comparison *c, Role *role, int n) {
    for (int i = 0; i < n; i++)
        role[i].seconds = role_seconds(c, &role[i]);
    qsort(role, (size_t)n, sizeof *role, by_seconds);
    group(c, role, n);
}
