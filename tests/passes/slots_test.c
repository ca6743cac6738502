/* SPDX-License-Identifier: MIT
** The example that compiler/passes/slots.c begins with: its table is what comes out. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "passes.h"
#include "slots.h"

static const char example[] = "%0 = param \"table\" normal 1 : [9,16]\n"
                              "%1 = tokens : int32[tokens]\n"
                              "%2 = embed %0, %1 : [tokens,16]\n"
                              "%3 = param \"w\" normal 1 : [16,16]\n"
                              "%4 = linear %2, %3 : [tokens,16]\n"
                              "%5 = reshape %4 : [tokens,1,16]\n"
                              "%6 = param \"p\" normal 1 : [1,16]\n"
                              "%7 = mul %2, %6 : [tokens,1,16]\n"
                              "%8 = attention %7, %5, %5 scale=1 : [tokens,1,16]\n"
                              "%9 = mul %2, %6 : [tokens,1,16] copy=1 backward\n"
                              "%10 = seed : [] backward\n"
                              "%11 = select %10, %8, %9 : [tokens,1,16] backward\n"
                              "output \"g\" %11\n";

/* The nodes of the table's rows, in order. */
static const struct {
    char name;
    int id;
} rows[] = { { 'x', 2 }, { 'q', 4 }, { 'n', 7 }, { 'a', 8 }, { 't', 9 }, { 'g', 11 } };
enum { ROWS = sizeof rows / sizeof *rows };

/* A row of the table, as it is written there. */
typedef struct Line {
    char name, until[8], offset[8];
    int time;
} Line;

static int read_table(Line *line) {
    FILE *f = fopen(SOURCE_DIR "/compiler/passes/slots.c", "r");
    char text[256];
    int n = 0;
    assert_non_null(f);
    while (n < ROWS && fgets(text, sizeof text, f)) {
        Line *l = &line[n];
        n += sscanf(text, "** %c = %*21c %d %7s %7s", &l->name, &l->time, l->until, l->offset) == 4;
    }
    fclose(f);
    return n;
}

/* The time of the last node that reads it; -1: none does. */
static int last_read(const Graph *g, const Slots *s, const Node *x) {
    int last = -1;
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->node[i]->nin; k++)
            if (plan_storage(g->node[i]->in[k]) == x && s->time[i] > last) last = s->time[i];
    return last;
}

static void example_is_as_written(void **state) {
    (void)state;
    char error[200];
    Line line[ROWS];
    Graph *g = graph_read(example, error, sizeof error);
    if (!g) fail_msg("%s", error);
    const Slots *s = slots_find(g, false, NULL);
    Plan *p = pass_schedule(g, NULL);
    pass_memory(p, true);
    assert_int_equal(read_table(line), ROWS);
    for (int i = 0; i < ROWS; i++) {
        const Node *n = g->node[rows[i].id];
        const Buffer *b = p->buffer[n->id];
        int last = last_read(g, s, n);
        char until[24] = "end", offset[24] = "-";
        if (last >= 0) snprintf(until, sizeof until, "%d", last);
        if (b) snprintf(offset, sizeof offset, "%lld", (long long)b->offset);
        assert_int_equal(line[i].name, rows[i].name);
        assert_int_equal(line[i].time, s->time[n->id]);
        assert_string_equal(line[i].until, until);
        assert_string_equal(line[i].offset, offset);
        assert_true(!b || b->space == SPACE_TOKEN);
    }
    assert_ptr_equal(p->step[p->step_of[rows[4].id]].node, p->step[p->step_of[rows[5].id]].node);
    graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(example_is_as_written) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
