/* SPDX-License-Identifier: MIT
** A comparison's variants and how their numbers are written; see comparison.h. */
#include "escape.h"
#include "comparison.h"

#include "console.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

char *compare_number(char to[32], Unit unit, double value) {
    if (!isfinite(value)) print_text(to, 32, "-");
    else if (unit == UNIT_BYTES) human_bytes(to, value);
    else if (unit == UNIT_LOSS) print_text(to, 32, "%.4f", value);
    else if (unit == UNIT_RATE) print_text(to, 32, "%.6g", value);
    else if (unit == UNIT_SECONDS && value < 1e-3) print_text(to, 32, "%.3g us", 1e6 * value);
    else if (unit == UNIT_SECONDS)
        print_text(to, 32, value < 1 ? "%.3g ms" : "%.3g s", value < 1 ? 1e3 * value : value);
    else if (fabs(value) < 10000 && value == floor(value)) print_text(to, 32, "%.0f", value);
    else if (fabs(value) < 100) print_text(to, 32, "%.2f", value);
    else human_count(to, value);
    return to;
}

char *compare_difference(char to[32], double value, double base) {
    double percent = 100 * (value / base - 1);
    *to = 0;
    if (!isfinite(value) || !isfinite(base)) return to;
    if (value == base) print_text(to, 32, "=");
    else if (base != 0)
        print_text(to, 32,
                   fabs(percent) < 0.0005      ? "%+.0f %%"
                       : fabs(percent) < 0.095 ? "%+.1g %%"
                       : fabs(percent) < 999   ? "%+.1f %%"
                                               : "%+.0f %%",
                   percent);
    return to;
}

/* Another spec whose model has the same name. */
static bool has_twin(const Comparison *c, int i) {
    const Model *m = c->variant[i].report->model;
    for (int k = 0; k < c->n; k++) {
        const Model *other = c->variant[k].report->model;
        bool same = c->variant[k].blas && !strcmp(other->file, m->file);
        if (k != i && !strcmp(other->name, m->name) && !same) return true;
    }
    return false;
}

/* Whether a word of the name is this value: "haares" of "haares_small".  A number may be of
** anything. */
static bool says(const char *name, const char *value) {
    size_t n = strlen(value);
    char *end;
    strtod(value, &end);
    for (const char *at = name; *end && (at = strstr(at, value)); at++)
        if ((at == name || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n]))
            return true;
    return false;
}

/* "mixer=haares, width=64" without what the model's name says already. */
static void unsaid(const Variant *v, char to[sizeof v->chosen]) {
    char word[sizeof v->chosen];
    size_t n = 0;
    *to = 0;
    for (const char *at = v->chosen; *at; at += strspn(at, ", ")) {
        size_t length = strcspn(at, ",");
        print_text(word, sizeof word, "%.*s", (int)length, at);
        const char *mark = strchr(word, '=');
        if (!mark || !says(v->report->model->name, mark + 1))
            n += (size_t)print_text(to + n, sizeof word - n, "%s%s", n ? ", " : "", word);
        at += length;
    }
}

/* Another variant whose model has the same name, of whatever file. */
static bool has_namesake(const Comparison *c, int i) {
    for (int k = 0; k < c->n; k++)
        if (k != i && !strcmp(c->variant[k].report->model->name, c->variant[i].report->model->name))
            return true;
    return false;
}

void compare_name(Comparison *c) {
    for (int i = 0; i < c->n; i++) {
        Variant *v = &c->variant[i];
        const Model *m = v->report->model;
        char left[sizeof v->chosen], text[96];
        const char *apart = v->chosen;
        if (!has_namesake(c, i)) unsaid(v, left), apart = left;
        if (!*v->chosen && has_twin(c, i)) apart = m->file;
        text_escape(text, sizeof text, apart, strlen(apart));
        const char *between = v->blas ? ", " : "", *blas = v->blas ? v->blas : "";
        if (*apart)
            print_text(v->label, sizeof v->label, "%s (%s)%s%s", m->name, text, between, blas);
        else print_text(v->label, sizeof v->label, "%s%s%s", m->name, between, blas);
    }
}

void run_free(TrainRun *r) {
    free(r->loss);
    free(r->routed);
    free(r->route);
    free(r->seconds);
    free(r->step);
    free(r->value);
    *r = (TrainRun){ 0 };
}

void compare_free(Comparison *c) {
    free(c->made.file);
    for (int i = 0; i < c->n; i++) {
        Variant *v = &c->variant[i];
        report_free(v->report);
        free(v->timing.seconds);
        free(v->timing.kernel);
        for (int s = 0; v->run && s < c->seeds; s++)
            run_free(&v->run[s]);
        free(v->run);
        mixing_free(v->trained);
        free(v->assembly);
    }
}

const char *compare_routes_note(const Comparison *c) {
    int routes = 0;
    for (int i = 0; i < c->n; i++)
        routes += graph_lists(c->variant[i].report->model->graph);
    return routes ? "FLOPs, bytes moved and memory of a spec with routes are as if each took every "
                    "token; strata inspect --cost counts shares."
                  : "";
}
