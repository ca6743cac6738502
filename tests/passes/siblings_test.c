/* SPDX-License-Identifier: MIT
** Which row nodes run in one kernel: siblings.h. */
#include "test.h"

#include <string.h>

#include "passes.h"
#include "plan.h"
#include "slots.h"

/* Two reads of one value, a product each, and what becomes of the two. */
#define TWO_READS                              \
    "%0 = param \"table\" normal 1 : [9,64]\n" \
    "%1 = tokens : int32[tokens]\n"            \
    "%2 = embed %0, %1 : [tokens,64]\n"        \
    "%3 = param \"w\" normal 1 : [64,64]\n"    \
    "%4 = param \"p\" normal 1 : [64]\n"       \
    "%5 = mul %2, %4 : [tokens,64]\n"          \
    "%6 = linear %5, %3 : [tokens,64]\n"

static Graph *read_graph(const char *text) {
    char error[200];
    Graph *g = graph_read(text, error, sizeof error);
    if (!g) fail_msg("%s", error);
    return g;
}

/* The second read could be there before the first product: it is in the first one's slot. */
static void reads_of_one_value(void **state) {
    (void)state;
    Graph *g = read_graph(TWO_READS "%7 = param \"q\" normal 1 : [64]\n"
                                    "%8 = mul %2, %7 : [tokens,64]\n"
                                    "%9 = linear %8, %3 : [tokens,64]\n"
                                    "%10 = add %6, %9 : [tokens,64]\n"
                                    "output \"y\" %10\n");
    const Slots *s = slots_find(g, false, NULL);
    assert_int_equal(s->time[8], s->time[5]);
    assert_true(s->time[9] > s->time[6]);
    assert_true(s->time[8] < s->time[6]);
    graph_free(g);
}

/* It needs the first product's result: it stays behind that. */
static void a_read_of_the_product(void **state) {
    (void)state;
    Graph *g = read_graph(TWO_READS "%7 = mul %2, %6 : [tokens,64]\n"
                                    "%8 = linear %7, %3 : [tokens,64]\n"
                                    "output \"y\" %8\n");
    const Slots *s = slots_find(g, false, NULL);
    assert_true(s->time[7] > s->time[6]);
    graph_free(g);
}

/* Attention needs all tokens: what is wanted behind it is not computed in front of it. */
static void a_read_behind_attention(void **state) {
    (void)state;
    Graph *g = read_graph(TWO_READS "%7 = reshape %6 : [tokens,1,64]\n"
                                    "%8 = attention %7, %7, %7 scale=1 : [tokens,1,64]\n"
                                    "%9 = param \"q\" normal 1 : [1,64]\n"
                                    "%10 = mul %2, %9 : [tokens,1,64]\n"
                                    "%11 = reshape %10 : [tokens,64]\n"
                                    "%12 = reshape %8 : [tokens,64]\n"
                                    "%13 = linear %11, %3, %12 : [tokens,64]\n"
                                    "output \"y\" %13\n");
    const Slots *s = slots_find(g, false, NULL);
    assert_true(s->time[10] > s->time[8]);
    graph_free(g);
}

/* One number that two kernels read does not bring them together where that keeps a row alive. */
static void a_number_in_common(void **state) {
    (void)state;
    Graph *g = read_graph(TWO_READS "%7 = sum %2 axis=0 : [tokens]\n"
                                    "%8 = reshape %7 : [tokens,1]\n"
                                    "%9 = mul %8, %5 : [tokens,64]\n"
                                    "%10 = linear %9, %3 : [tokens,64]\n"
                                    "%11 = param \"q\" normal 1 : [64]\n"
                                    "%12 = mul %8, %11 : [tokens,64]\n"
                                    "%13 = linear %12, %3 : [tokens,64]\n"
                                    "%14 = add %10, %13 : [tokens,64]\n"
                                    "output \"y\" %14\n");
    const Slots *s = slots_find(g, false, NULL);
    assert_true(s->time[12] > s->time[9]);
    graph_free(g);
}

static int row_steps(const Plan *p) {
    int count = 0;
    for (int i = 0; i < p->nstep; i++)
        count += p->step[i].kind == STEP_ROW;
    return count;
}

/* The gradients of both reads go over the value once, and its gradient is added up there. */
static void gradients_of_two_reads(void **state) {
    (void)state;
    Graph *g = read_graph(TWO_READS "%7 = param \"q\" normal 1 : [64]\n"
                                    "%8 = mul %2, %7 : [tokens,64]\n"
                                    "%9 = linear %8, %3 : [tokens,64]\n"
                                    "%10 = mul %6, %9 : [tokens,64]\n"
                                    "%11 = sum %10 axis=0 : [tokens]\n"
                                    "%12 = token_sum %11 : []\n"
                                    "output \"loss\" %12\n");
    pass_gradient_rules(g, op_info);
    Plan *p = pass_schedule(g, NULL);
    /* both reads; the loss and the products' cotangents; all that becomes of those */
    assert_int_equal(row_steps(p), 3);
    graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_of_one_value),      cmocka_unit_test(a_read_of_the_product),
        cmocka_unit_test(a_read_behind_attention), cmocka_unit_test(a_number_in_common),
        cmocka_unit_test(gradients_of_two_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
