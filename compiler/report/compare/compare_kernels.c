/* SPDX-License-Identifier: MIT
** Kernels of all variants, matched by role; see comparison.h. */
#include "comparison.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "rows12_mlp_grad" is "rows_mlp_grad"; names without such a number stay. */
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
        r->of[i].seconds = NAN;
    return r;
}

/* The kernel's median over rounds. */
static double kernel_seconds(const Comparison *c, const Variant *v, int kernel) {
    double *x = malloc((size_t)c->rounds * sizeof *x), middle = NAN;
    for (int i = 0; x && i < c->rounds; i++)
        x[i] = v->timing.kernel[(size_t)i * (size_t)v->report->nkernel + (size_t)kernel];
    if (x) middle = stats_median(x, c->rounds);
    free(x);
    return middle;
}

static void add_kernel(const Comparison *c, int variant, int kernel, RoleWork *w) {
    const Variant *v = &c->variant[variant];
    const ReportKernel *k = &v->report->kernel[kernel];
    for (int i = 0; i < WORKS; i++) {
        w->work[i].calls += k->work[i].calls;
        w->work[i].flops += k->work[i].flops;
        w->work[i].bytes += k->work[i].bytes;
    }
    if (c->rounds && k->work[TRAINING].calls)
        w->seconds = (w->seconds == w->seconds ? w->seconds : 0) + kernel_seconds(c, v, kernel);
    w->kernels++;
}

Role *compare_roles(const Comparison *c, int *n) {
    size_t most = 1;
    for (int i = 0; i < c->n; i++)
        most += (size_t)c->variant[i].report->nkernel;
    Role *role = calloc(most, sizeof *role);
    *n = 0;
    for (int i = 0; role && i < c->n; i++)
        for (int k = 0; k < c->variant[i].report->nkernel; k++)
            add_kernel(c, i, k, &role_of(role, n, &c->variant[i].report->kernel[k])->of[i]);
    return role;
}

static bool same_work(const RoleWork *a, const RoleWork *b) {
    if (a->kernels != b->kernels) return false;
    for (int i = 0; i < WORKS; i++)
        if (a->work[i].calls != b->work[i].calls || a->work[i].flops != b->work[i].flops
            || a->work[i].bytes != b->work[i].bytes)
            return false;
    return true;
}

bool role_differs(const Comparison *c, const Role *r) {
    for (int i = 1; i < c->n; i++)
        if (!same_work(&r->of[i], &r->of[0])) return true;
    return false;
}
