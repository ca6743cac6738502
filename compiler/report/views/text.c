/* SPDX-License-Identifier: MIT
** A Report for people: the summary, and the costs by family. */
#include "views.h"

#include <inttypes.h>
#include <string.h>

#include "console.h"

/* "1 234 567" */
static const char *grouped(char to[32], int64_t n) {
    char plain[32];
    int length = print_text(plain, sizeof plain, "%" PRId64, n), k = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0 && plain[i - 1] != '-') to[k++] = ' ';
        to[k++] = plain[i];
    }
    to[k] = 0;
    return to;
}

/* What is multiplied, where it is not float32. */
static void operands(const Report *r, Text *t) {
    int32_t small = r->planned.code.model.small;
    text_add(t, "%s%s", r->bf16 ? ", bf16" : "",
             small == STRATA_Q4 ? ", weights q4"
                 : small        ? ", weights q8"
                                : "");
}

static void shape(const Report *r, Text *t) {
    const Model *m = r->model;
    char a[32];
    text_add(t,
             "model        %s, from %s: %" PRId64 " layers, %" PRId64 " sublayers, width %" PRId64
             ", residual %s\n",
             m->name, m->file, m->layers, m->sublayers, m->dim, m->mixer);
    text_add(t, "             vocabulary %" PRId64 ", context %" PRId64 ", batch %" PRId64,
             m->vocab, m->context, m->train.batch);
    operands(r, t);
    text_add(t, "\n");
    if (m->noption) {
        text_add(t, "options\n");
        spec_options_text(m, t);
    }
    text_add(t, "parameters   %s in %lld tensors\n", grouped(a, m->parameters),
             (long long)graph_tensors(m->graph));
    if (r->frozen)
        text_add(t, "             %s of them trained, %" PRId64 " tensors frozen\n",
                 grouped(a, r->trained), r->frozen);
}

static void work_line(Text *t, const char *name, const Work *w) {
    char a[32], b[32];
    text_add(t, "  %-11s%14s %12s  %6d calls\n", name, human_flops(a, w->flops),
             human_bytes(b, w->bytes), w->calls);
}

/* What functions, divisions and the rest of row kernels take, and the time of it all. */
static void time(const Report *r, Text *t) {
    int kind = r->training ? TRAINING : FORWARD;
    const Rates *rates = &r->rates;
    char a[32];
    double tokens = report_tokens(r->model);
    text_add(t, "  %-11s%14s of products would take as long as the arithmetic of row kernels\n",
             "row kernels", human_flops(a, 2 * r->work[kind].operations));
    if (r->seconds[kind] == 0) return;
    text_add(t, "predicted    %s ms a %s of %.0f tokens, %.0f tokens/s, on %d thread%s",
             FIGURES(1e3 * r->seconds[kind], 4), r->training ? "step" : "pass", tokens,
             tokens / r->seconds[kind], rates->threads, rates->threads == 1 ? "" : "s");
    text_add(t,
             rates->measured ? ", by this machine's rates\n"
                             : ", by rates of its kind: strata doctor --measure finds its own\n");
}

static void text_work(const Report *r, Text *t) {
    text_add(t, "work         per token, at %" PRId64 " tokens of context; a multiply-add is 2\n",
             r->model->context);
    work_line(t, "forward", &r->work[FORWARD]);
    if (r->training) work_line(t, "training", &r->work[TRAINING]);
    time(r, t);
}

static void memory_line(Text *t, const char *name, int64_t bytes, const char *what) {
    char a[32];
    if (bytes) text_add(t, "  %-11s%12s  %s\n", name, human_bytes(a, (double)bytes), what);
}

static void memory(const Report *r, Text *t) {
    const ReportMemory *m = &r->memory;
    text_add(t, "memory\n");
    memory_line(t, "weights", m->weights, "");
    memory_line(t, "gradients", m->gradients, "");
    memory_line(t, "optimizer", m->optimizer,
                r->planned.code.model.muon_tensors ? "moments, and what Muon works in"
                                                   : "two moments");
    memory_line(t, "packed", m->packed, "weights again, as products take them");
    memory_line(t, "per token", m->per_token,
                r->training ? "activations of a training step" : "activations");
    memory_line(t, "per thread", m->per_worker, "values that stay in cache");
    memory_line(t, "constant", m->constant + m->control, "sums and tables");
    static const char *const state[] = { "keys and values of a token that was generated",
                                         "keys and values of a token that was generated, bf16",
                                         "keys and values of a token that was generated, q8" };
    memory_line(t, "state", m->state_per_token, state[r->planned.code.model.cache]);
    memory_line(t, "carried", m->state_carried,
                "what a sequence that is generated has of its past");
}

static void reads(const Report *r, Text *t) {
    const Model *m = r->model;
    text_add(t, "reads        %d before sublayers, %s sources on average, %" PRId64 " at most",
             m->nread - 1, FIGURES(r->sources_average, 4), r->sources_most);
    text_add(t, "; the final one %" PRId64 "\n", m->read[m->nread - 1].sources);
    text_add(t, "  sources   ");
    for (int i = 0; i < m->nread;) {
        int k = i;
        while (k < m->nread && m->read[k].sources == m->read[i].sources)
            k++;
        text_add(t, k - i > 1 ? " %" PRId64 "x%d" : " %" PRId64, m->read[i].sources, k - i);
        i = k;
    }
    text_add(t, "\n");
}

/* Who multiplies, where it is not generated kernels alone. */
static void products(const Report *r, Text *t) {
    int openblas = 0, all = 0;
    for (int i = 0; i < r->nkernel; i++) {
        openblas += r->kernel[i].openblas;
        all += !strcmp(r->kernel[i].family, "product");
    }
    if (openblas)
        text_add(t, "  %-11s%d of %d kernels of products, but for few rows\n", "OpenBLAS", openblas,
                 all);
}

static void text_kernels(const Report *r, Text *t) {
    int kind = r->training ? TRAINING : FORWARD;
    text_add(t, "kernels      %d, called %d times %s\n", r->nkernel, r->work[kind].calls,
             r->training ? "a training step" : "a pass");
    for (int i = 0; i < r->nfamily; i++) {
        const ReportFamily *f = &r->family[i];
        char a[32], b[32];
        text_add(t, "  %-11s%14s %12s  %6d calls of %d\n", f->name,
                 human_flops(a, f->work[kind].flops), human_bytes(b, f->work[kind].bytes),
                 f->work[kind].calls, f->kernels);
    }
    products(r, t);
}

void report_text(const Report *r, Text *t) {
    shape(r, t);
    text_work(r, t);
    memory(r, t);
    reads(r, t);
    text_kernels(r, t);
    for (int i = 0; i < r->model->nnote; i++)
        text_add(t, "note: %s\n", r->model->note[i]);
}

/* == Costs ================================================================ */

static double share(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

static void cost_line(const Report *r, Text *t, const char *name, const Work work[WORKS]) {
    text_add(t, "%-12s", name);
    for (int k = 0; k < (r->training ? WORKS : TRAINING); k++) {
        char a[32], b[32];
        text_add(t, "%6d %9s %5.1f %% %11s %5.1f %%", work[k].calls, human_count(a, work[k].flops),
                 share(work[k].flops, r->work[k].flops), human_bytes(b, work[k].bytes),
                 share(work[k].bytes, r->work[k].bytes));
        if (!k) text_add(t, "  ");
    }
    text_add(t, "\n");
}

void report_cost_text(const Report *r, Text *t) {
    text_add(t, "Per token, at %" PRId64 " tokens of context, batch %" PRId64 ", on %s",
             r->model->context, r->model->train.batch, r->planned.code.cpu);
    operands(r, t);
    text_add(t, "\n\n");
    text_add(t, "%-12s%6s %9s %7s %11s %7s", "forward", "calls", "FLOPs", "", "bytes", "");
    text_add(t, r->training ? "  %6s %9s %7s %11s %7s  (training)\n" : "\n", "calls", "FLOPs", "",
             "bytes", "");
    for (int i = 0; i < r->nfamily; i++)
        cost_line(r, t, r->family[i].name, r->family[i].work);
    cost_line(r, t, "all", r->work);
    text_add(t,
             "\nDepth reads, forward, in rows of width %" PRId64 " read or written per sublayer\n",
             r->model->dim);
    text_add(t,
             "  %5.2f  as executed: previous output, mixing and next norm in one count; 4 in a "
             "plain residual stream\n",
             r->traffic.all);
    text_add(t,
             "  %5.2f  residual and read alone, as arXiv 2603.15031 counts them; 3 in a plain "
             "residual stream\n",
             r->traffic.mixing);
    report_routed_text(r, t);
}
