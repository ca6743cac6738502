/* SPDX-License-Identifier: MIT
** Every row of ops.def, the moment it exists: export writes an expression of PyTorch for it, or
** refuses it by its name.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "op_example.h"
#include "torch_file.h"

/* false: there is no such example. */
static bool is_written_or_refused(Op op, int variant) {
    Graph *g = graph_new();
    Node *y = op_example(g, op, variant);
    Text t = { 0 };
    Error e = { 0 };
    if (y) {
        graph_output(g, "logits", y->shape.type == F32 ? op_tanh(op_mul(y, y)) : y);
        int status = torch_file(g, &t, &e);
        const char *null = t.at ? strstr(t.at, "(null)") : NULL;
        if (status ? !strstr(e.text, "found '") : !t.at || null)
            fail_msg("%s, example %d: status %d, %.200s", op_info[op].name, variant, status,
                     status     ? e.text
                         : null ? null - 100
                                : "nothing is written");
    }
    text_free(&t);
    graph_free(g);
    return y != NULL;
}

static void every_operation_has_words_in_pytorch(void **state) {
    int examples = 0;
    (void)state;
    for (int op = 0; op < NOP; op++)
        for (int variant = 0; is_written_or_refused((Op)op, variant); variant++)
            examples++;
    assert_true(examples > NOP);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_operation_has_words_in_pytorch) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
