/* SPDX-License-Identifier: MIT
** The calls of all parts, in order.  A sequence of calls that repeats, each time with the
** parameters of the next layer and the results of the previous calls, is printed once, as a loop.
*/
#include "torch_print.h"

#include <stdlib.h>
#include <string.h>

#include "fatal.h"
#include "site.h"

enum { PERIOD = 16, COLUMNS = 96 };

typedef struct CallLoop {
    int first, period, times;
} CallLoop;

/* == Repetition =========================================================== */

/* Which result of which call a value is; false: of none. */
static bool calls_made_by(const TorchPrinter *p, const Node *n, int *call, int *out) {
    *call = p->part[n->id];
    if (*call < 0) return false;
    for (*out = 0; *out < p->call[*call].outs; ++*out)
        if (p->call[*call].out[*out] == n) return true;
    return false;
}

/* Argument b of call 'later', in repetition 'time', is to it what a is to the same call of the
** first: from before the loop, of the same repetition, or of the one before. */
static bool follows(const TorchPrinter *p, CallLoop l, int q, int time, const Node *a,
                    const Node *b) {
    int of_a, out_a, of_b, out_b;
    bool made_a = calls_made_by(p, a, &of_a, &out_a) && of_a >= l.first;
    bool made_b = calls_made_by(p, b, &of_b, &out_b) && of_b >= l.first;
    if (!made_b) return a == b;
    int back = l.first + time * l.period; /* where this repetition begins */
    if (of_b >= back) return made_a && of_a - l.first == of_b - back && out_a == out_b;
    int place = of_b - (back - l.period);
    if (made_a || place < q) return false; /* already replaced, or not carried from the start */
    return place < l.period;
}

/* What is carried into a repetition is one and the same at the first. */
static bool carried_alike(const TorchPrinter *p, CallLoop l, int time) {
    for (int q = 0; q < l.period; q++)
        for (int r = 0; r < l.period; r++) {
            const TorchCall *x = &p->call[l.first + q], *y = &p->call[l.first + r];
            const TorchCall *later = &p->call[l.first + time * l.period + q];
            const TorchCall *other = &p->call[l.first + time * l.period + r];
            for (int i = 0; i < x->arguments; i++)
                for (int j = 0; j < y->arguments; j++)
                    for (int k = 0; k < x->argument[i].nodes; k++)
                        for (int m = 0; m < y->argument[j].nodes; m++)
                            if (later->argument[i].node[k] == other->argument[j].node[m]
                                && x->argument[i].node[k] != y->argument[j].node[m])
                                return false;
        }
    return true;
}

static bool sites_follow(const TorchCall *a, const TorchCall *b, int time) {
    int layer = site_layer(a->site);
    if (layer < 0) return !strcmp(a->site, b->site);
    return site_layer(b->site) == layer + time
        && !strcmp(site_inside(a->site), site_inside(b->site));
}

static bool repeats(const TorchPrinter *p, CallLoop l, int time) {
    for (int q = 0; q < l.period; q++) {
        const TorchCall *a = &p->call[l.first + q], *b = &p->call[l.first + time * l.period + q];
        if (a->function != b->function || a->arguments != b->arguments || a->outs != b->outs
            || site_layer(a->site) != site_layer(p->call[l.first].site)
            || !sites_follow(a, b, time))
            return false;
        for (int i = 0; i < a->arguments; i++) {
            const TorchArgument *x = &a->argument[i], *y = &b->argument[i];
            if (x->list != y->list || x->nodes != y->nodes) return false;
            for (int k = 0; k < x->nodes; k++)
                if (!follows(p, l, q, time, x->node[k], y->node[k])) return false;
        }
    }
    return carried_alike(p, l, time);
}

/* Is a result of the loop, but for the last time's, taken behind it? */
static bool calls_is_kept(const TorchPrinter *p, CallLoop l) {
    int end = l.first + l.times * l.period, call, out;
    for (int c = end; c < p->calls; c++)
        for (int i = 0; i < p->call[c].arguments; i++)
            for (int k = 0; k < p->call[c].argument[i].nodes; k++)
                if (calls_made_by(p, p->call[c].argument[i].node[k], &call, &out) && call >= l.first
                    && call < end - l.period)
                    return true;
    return false;
}

/* The loop at 'first' that covers most; times 1: none. */
static CallLoop find_loop(const TorchPrinter *p, int first) {
    CallLoop best = { first, 1, 1 };
    for (int period = 1; period <= PERIOD && first + 2 * period <= p->calls; period++) {
        CallLoop l = { first, period, 1 };
        while (first + (l.times + 1) * period <= p->calls && repeats(p, l, l.times))
            l.times++;
        while (l.times > 1 && calls_is_kept(p, l))
            l.times--;
        if (l.times > 1 && l.times * period > best.times * best.period) best = l;
    }
    return best;
}

/* == Text ================================================================= */

static const char *calls_name_of(const TorchPrinter *p, const Node *n) {
    return p->name[n->id] ? p->name[n->id] : "?";
}

/* Adds a word behind a comma, on a line of its own where it would be too long. */
static void calls_add_word(Text *t, size_t *line, const char *indent, const char *before,
                           const char *word) {
    if (t->length - *line + strlen(before) + strlen(word) > COLUMNS) {
        text_add(t, "%s\n", *before ? "," : "");
        *line = t->length;
        text_add(t, "%s    %s", indent, word);
    } else {
        text_add(t, "%s%s", before, word);
    }
}

static void add_argument(const TorchPrinter *p, Text *t, size_t *line, const char *indent,
                         const TorchArgument *a, const char *before) {
    if (!a->list) {
        Text value = { 0 };
        if (a->node[0]->op == OP_param) torch_param(&value, "self", a->node[0], 0);
        else text_add(&value, "%s", calls_name_of(p, a->node[0]));
        calls_add_word(t, line, indent, before, value.at ? value.at : "");
        text_free(&value);
        return;
    }
    text_add(t, "%s(", before);
    for (int k = 0; k < a->nodes; k++)
        calls_add_word(t, line, indent, k ? ", " : "", calls_name_of(p, a->node[k]));
    text_add(t, a->nodes == 1 ? ",)" : ")");
}

static void owner_path(Text *t, const char *site) {
    size_t n = torch_owner(site);
    Attr attr = { .name = checked_text(site) };
    ((char *)attr.name)[n] = 0;
    Node owner = { .op = OP_param, .attr = &attr };
    torch_param(t, "self", &owner, 0);
    free((char *)attr.name);
}

static void add_call(const TorchPrinter *p, const TorchCall *c, const char *indent, bool looped,
                     Text *t) {
    size_t line = t->length;
    text_add(t, "%s", indent);
    for (int i = 0; i < c->outs; i++)
        text_add(t, "%s%s", i ? ", " : "", calls_name_of(p, c->out[i]));
    text_add(t, " = %s(", p->called[c->function]);
    const char *before = "";
    if (c->params) {
        if (looped) text_add(t, "layer");
        else owner_path(t, c->site);
        before = ", ";
    }
    for (int i = 0; i < c->arguments; i++, before = ", ")
        add_argument(p, t, &line, indent, &c->argument[i], before);
    text_add(t, ")\n");
}

static void rename_value(TorchPrinter *p, const Node *n, const Node *as) {
    if (n == as) return;
    free(p->name[n->id]);
    p->name[n->id] = checked_text(p->name[as->id]);
}

/* Results of every time have the names of the first; what is carried begins as what that was
** given. */
static void begin_loop(TorchPrinter *p, CallLoop l, Text *t) {
    for (int q = 0; q < l.period; q++) {
        const TorchCall *a = &p->call[l.first + q], *b = &p->call[l.first + l.period + q];
        for (int i = 0; i < a->arguments; i++)
            for (int k = 0; k < a->argument[i].nodes; k++) {
                const Node *x = a->argument[i].node[k], *y = b->argument[i].node[k];
                int call, out;
                if (x == y || !calls_made_by(p, y, &call, &out) || call >= l.first + l.period)
                    continue;
                const Node *to = p->call[call].out[out];
                Text line = { 0 };
                text_add(&line, "        %s = %s\n", calls_name_of(p, to), calls_name_of(p, x));
                if (!t->at || !strstr(t->at, line.at)) text_add(t, "%s", line.at);
                text_free(&line);
            }
    }
    for (int c = l.first + l.period; c < l.first + l.times * l.period; c++)
        for (int i = 0; i < p->call[c].outs; i++)
            rename_value(p, p->call[c].out[i], p->call[c - l.period].out[i]);
}

static void add_loop(TorchPrinter *p, CallLoop l, Text *t) {
    int layer = site_layer(p->call[l.first].site);
    begin_loop(p, l, t);
    if (layer < 0) text_add(t, "        for _ in range(%d):\n", l.times);
    else text_add(t, "        for layer in self.layers[%d:%d]:\n", layer, layer + l.times);
    for (int c = l.first + l.period; c < l.first + 2 * l.period;
         c++) /* whose arguments are the loop's */
        add_call(p, &p->call[c], "            ", layer >= 0, t);
}

void torch_calls(TorchPrinter *p, Text *t) {
    for (int i = 0; i < p->calls;) {
        CallLoop l = find_loop(p, i);
        if (l.times > 1) add_loop(p, l, t);
        else add_call(p, &p->call[i], "        ", false, t);
        i += l.times > 1 ? l.times * l.period : 1;
    }
}
