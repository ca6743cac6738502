/* SPDX-License-Identifier: MIT
** Kernels line by line: shapes leave out what only renumbers, alignments are the longest
** there are, kernels that differ are found and set beside those that do the same job, and
** the page with the assembly of eight variants is well-formed and small.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare_code.h"
#include "page_check.h"
#include "scratch_spec.h"
#include "model_info.h"
#include "planned.h"

/* == Shapes =============================================================== */

static const char text[] =
    "\t.text\n\t.file\t\"llvm-link\"\nother:\n\tnop\n.Lfunc_end0:\nf:\n.Lfunc_begin1:\n"
    "\t.file\t3 \"library/norms\" \"rmsnorm.lua\"\n\t.file\t4 \"spec.lua\"\n\t.loc\t3 7 "
    "0\n\t.cfi_startproc\n"
    "\tvmulps\t32(%r12,%r14,4), %ymm1, %ymm2          # 32-byte Folded\n\t.loc\t4 9 0 is_stmt "
    "1\n.LBB61_1:\n"
    "\tjmp\t.LBB61_7\n\t.loc\t4 0 0\n\tcallq\tk_exp\n.Lfunc_end1:\ng:\n\tret\n.Lfunc_end2:\n";

static void assembly_is_read(void **state) {
    (void)state;
    static const char *const lines[] = { "vmulps 32(%r12,%r14,4), %ymm1, %ymm2",
                                         ".LBB61_1:", "jmp .LBB61_7", "callq k_exp" };
    static const char *const places[] = { "library/norms/rmsnorm.lua:7", "", "spec.lua:9", "" };
    CodeLines c = { 0 }, none = { 0 };
    code_assembly(text, "f", &c);
    code_assembly(text, "absent", &none);
    assert_int_equal(none.n, 0);
    assert_int_equal(c.n, 4);
    for (int i = 0; i < c.n; i++) {
        assert_string_equal(code_text(&c, i), lines[i]);
        assert_string_equal(code_place(&c, i), places[i]);
    }
    code_free(&c);
}

/* Each module numbers its files anew. */
static void files_are_those_of_the_module(void **state) {
    (void)state;
    static const char two[] =
        "\t.file\t\"llvm-link\"\nf:\n\t.file\t1 \"a.lua\"\n\t.loc\t1 2\n\tnop\n"
        ".Lfunc_end0:\n\t.file\t\"llvm-link\"\ng:\n\t.file\t1 \"b.lua\"\n"
        "\t.loc\t1 3\n\tnop\n.Lfunc_end0:\n";
    static const char *const place[] = { "a.lua:2", "b.lua:3" };
    for (int i = 0; i < 2; i++) {
        CodeLines c = { 0 };
        code_assembly(two, i ? "g" : "f", &c);
        assert_int_equal(c.n, 1);
        assert_string_equal(code_place(&c, 0), place[i]);
        code_free(&c);
    }
}

static bool same_shape(const char *a, const char *b) {
    char body[600];
    CodeLines c = { 0 };
    snprintf(body, sizeof body, "\nf:\n\t%s\n\t%s\n.Lfunc_end0:\n", a, b);
    code_assembly(body, "f", &c);
    assert_int_equal(c.n, 2);
    bool same = c.line[0].shape == c.line[1].shape;
    code_free(&c);
    return same;
}

static void shapes_leave_out_numbers(void **state) {
    (void)state;
    assert_true(same_shape("vmovups\t(%r15,%r14,4), %ymm0", "vmovups\t32(%rax,%rcx,4), %ymm15"));
    assert_true(same_shape("vmovups\t%ymm0, -112(%rsp)", "vmovups\t%ymm7, 8(%rsp)"));
    assert_true(
        same_shape("vbroadcastss\t.LCPI3_0(%rip), %xmm0", "vbroadcastss\t.LCPI12_41(%rip), %xmm9"));
    assert_true(same_shape("jle\t.LBB61_9", "jle\t.LBB2_10"));
    assert_true(same_shape("addl\t%r10d, %eax", "addl\t%ebx, %esi"));
    assert_false(same_shape("vmovups\t(%r15,%r14,4), %ymm0", "vmovups\t(%r15,%r14,4), %zmm0"));
    assert_false(same_shape("vmovups\t(%r15,%r14,4), %ymm0", "vmovups\t(%r15,%r14,8), %ymm0"));
    assert_false(same_shape("vmovups\t(%r15,%r14,4), %ymm0", "vmovups\t%ymm0, (%r15,%r14,4)"));
    assert_false(same_shape("cmpq\t$1023, %rbx", "cmpq\t$511, %rbx"));
    assert_false(same_shape("vmulps\t%ymm0, %ymm1, %ymm2", "vaddps\t%ymm0, %ymm1, %ymm2"));
    assert_false(same_shape("callq\tk_exp", "callq\tk_sigmoid"));
    assert_false(same_shape("vmulps\t%ymm0, %ymm1, %ymm2", "vmulps\t(%rax), %ymm1, %ymm2"));
}

/* == Alignment ============================================================ */

/* Lines from letters; only shapes matter. */
static CodeLines of_letters(const char *s) {
    CodeLines c = { .n = (int)strlen(s), .line = calloc(strlen(s) + 1, sizeof *c.line) };
    assert_non_null(c.line);
    for (int i = 0; i < c.n; i++)
        c.line[i].shape = (uint64_t)s[i];
    return c;
}

static int longest(const char *a, const char *b) { /* by trying everything */
    if (!*a || !*b) return 0;
    if (*a == *b) return 1 + longest(a + 1, b + 1);
    int x = longest(a + 1, b), y = longest(a, b + 1);
    return x > y ? x : y;
}

static void check_alignment(const char *x, const char *y) {
    CodeLines a = of_letters(x), b = of_letters(y);
    int *align = code_align(&a, &b), before = -1;
    assert_non_null(align);
    for (int i = 0; i < a.n; i++) {
        if (align[i] < 0) continue;
        assert_true(align[i] > before && align[i] < b.n);
        assert_true(x[i] == y[align[i]]);
        before = align[i];
    }
    assert_int_equal(code_common(&a, align), longest(x, y));
    free(align);
    code_free(&a);
    code_free(&b);
}

static void alignments_are_longest(void **state) {
    (void)state;
    char x[10], y[10];
    check_alignment("", "");
    check_alignment("abc", "");
    check_alignment("", "abc");
    check_alignment("abcabba", "cbabac");
    check_alignment("aaaa", "aa");
    for (unsigned i = 0; i < 3000; i++) {
        unsigned r = i * 2654435761u;
        int n = (int)(r % 9), m = (int)(r / 9 % 9);
        for (int k = 0; k < n; k++)
            x[k] = (char)('a' + (r >> (2 * k) & 3));
        for (int k = 0; k < m; k++)
            y[k] = (char)('a' + (r * 40503u >> (2 * k + 3) & 3));
        x[n] = y[m] = 0;
        check_alignment(x, y);
    }
}

/* == Kernels ============================================================== */

static const char *const residuals[] = { "standard {}",
                                         "rezero {}",
                                         "haares { blocks = 2 }",
                                         "attnres { full = true }",
                                         "hyper { streams = 4 }",
                                         "mhc { streams = 4 }",
                                         "gated_residual { streams = 3, rank = 4 }",
                                         "drr { heads = 3, causal = true, chunk = 16 }" };
enum { RESIDUALS = sizeof residuals / sizeof *residuals };

static Report *report_written(void **state, const char *residual, int number, int layers) {
    char name[32];
    snprintf(name, sizeof name, "%d.lua", number);
    return scratch_report(state, name, &(ReportOptions){ .cpu = "x86-64-v3" },
                          "return model {\n  name = 'm', vocab = 64, context = 64, dim = 48, norm "
                          "= rmsnorm {},\n  residual = %s,\n"
                          "  layers = times(%d, layer {\n    attention { heads = 3, rope = {} },\n "
                          "   mlp { hidden = 96, activation = 'swiglu' } }) }\n",
                          residual, layers);
}

static char *assembly_of(const Report *r) {
    Error error = { 0 };
    ModelInfo info = model_info(r->model);
    CodegenOptions o = {
        .prefix = "m", .cpu = "x86-64-v3", .level = 2, .link = true, .emit = EMIT_ROWS
    };
    CompiledModel code;
    if (planned_compile(r->model->graph, &info, &o, &code, &error)) fail_msg("%s", error.text);
    char *copy = calloc(code.size + 1, 1);
    assert_non_null(copy);
    memcpy(copy, code.data, code.size);
    codegen_free(&code);
    return copy;
}

static Comparison compared(void **state, const char *const *residual, int n, int layers) {
    Comparison c = { .n = n, .command = "strata compare" };
    for (int i = 0; i < n; i++) {
        c.variant[i] = (Variant){ .report = report_written(state, residual[i], i, layers),
                                  .code_bytes = 1,
                                  .compile_seconds = 1 };
        c.variant[i].assembly = assembly_of(c.variant[i].report);
    }
    compare_name(&c);
    return c;
}

static bool has_line(const CodeSides *s, int side, bool common, const char *words) {
    for (int i = 0; i < s->side[side].n; i++) {
        bool found = false;
        for (int k = 0; k < s->side[0].n; k++)
            found = found || (side ? s->align[k] == i : k == i && s->align[k] >= 0);
        if (found == common && strstr(code_text(&s->side[side], i), words)) return true;
    }
    return false;
}

static void the_same_spec_has_the_same_code(void **state) {
    static const char *const twice[] = { "haares { blocks = 2 }", "haares { blocks = 2 }" };
    Comparison c = compared(state, twice, 2, 3);
    int n;
    CodePair *pair = compare_code(&c, &n);
    assert_non_null(pair);
    assert_int_equal(n, 0);
    Text t = { 0 };
    compare_html(&c, &t);
    assert_non_null(strstr(t.at, "None differs."));
    compare_code_free(pair, n);
    text_free(&t);
    compare_free(&c);
}

/* ReZero is the standard stream with a learned factor: the kernels that read get one more
** product; of what the standard ones do only the sum, of other operands, is not the same. */
static void a_factor_is_a_product_more(void **state) {
    Comparison c = compared(state, residuals, 2, 3);
    int n, forward = 0;
    CodePair *pair = compare_code(&c, &n);
    assert_true(n > 0 && n <= CODE_KERNELS);
    for (int i = 0; i < n; i++) {
        const CodePair *p = &pair[i];
        assert_int_equal(p->variant, 1);
        assert_non_null(p->kernel[0]);
        char role[2][ROLE_NAME];
        for (int k = 0; k < 2; k++)
            compare_role_name(p->kernel[k]->name, role[k]);
        assert_true(code_common(&p->listing.side[0], p->listing.align) > 0);
        assert_true(p->assembly.side[0].n > 0 && p->assembly.side[1].n > 0);
        assert_true(code_common(&p->assembly.side[0], p->assembly.align) > 0);
        if (strcmp(role[1], "rows_mlp")) continue;
        assert_string_equal(role[0], role[1]);
        assert_int_equal(code_common(&p->listing.side[0], p->listing.align),
                         p->listing.side[0].n - 2);
        assert_true(has_line(&p->listing, 0, false, "add"));
        assert_true(has_line(&p->listing, 1, false, "mul"));
        assert_true(has_line(&p->listing, 1, false, "residual.alpha"));
        assert_true(has_line(&p->listing, 1, true, "rsqrt"));
        assert_true(has_line(&p->assembly, 1, false, "fmadd")
                    || has_line(&p->assembly, 1, false, "mul"));
        forward++;
    }
    assert_int_equal(forward, 1);
    compare_code_free(pair, n);
    compare_free(&c);
}

static void lua_lines_are_found(void **state) {
    Comparison c = compared(state, residuals, 2, 2);
    LuaFiles files = { .n = 0 };
    char line[LUA_LINE], place[SCRATCH_PATH + 8];
    assert_true(lua_line(&files, "library/mixers/rezero.lua:1", line));
    assert_true(strlen(line) > 0);
    snprintf(place, sizeof place, "%s:3", c.variant[1].report->model->file);
    assert_true(lua_line(&files, place, line));
    assert_string_equal(line, "residual = rezero {},");
    snprintf(place, sizeof place, "%s:300", c.variant[1].report->model->file);
    assert_false(lua_line(&files, place, line));
    assert_false(lua_line(&files, "absent.lua:1", line));
    assert_false(lua_line(&files, "library/absent.lua:1", line));
    assert_false(lua_line(&files, "", line));
    int n, known = 0;
    CodePair *pair = compare_code(&c, &n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < pair[i].assembly.side[1].n; k++) {
            const char *at = code_place(&pair[i].assembly.side[1], k);
            if (*at && !lua_line(&files, at, line)) fail_msg("expected a line at %s", at);
            known += strstr(at, "rezero.lua") != NULL;
        }
    assert_true(known > 0);
    compare_code_free(pair, n);
    lua_free(&files);
    compare_free(&c);
}

static void eight_variants_are_a_small_page(void **state) {
    Comparison c = compared(state, residuals, RESIDUALS, 4);
    Text t = { 0 };
    compare_html(&c, &t);
    assert_false(t.failed);
    page_check_tags(t.at);
    assert_true(t.length < 2000000);
    assert_true(page_count(t.at, "class=\"kernel\"") > RESIDUALS);
    assert_true(page_count(t.at, "<p>Operations: ") == page_count(t.at, "class=\"kernel\""));
    assert_true(page_count(t.at, "<p>Instructions: ") == page_count(t.at, "class=\"kernel\""));
    assert_true(page_count(t.at, "class=\"row new\"") > 100);
    assert_true(page_count(t.at, "\n+ v") > 100 && page_count(t.at, "\n\xe2\x88\x92 v") > 10);
    assert_true(page_count(t.at, " equal lines</summary>") > 10);
    assert_non_null(strstr(t.at, "The page's room for this kernel ends here"));
    assert_non_null(strstr(t.at, "hyper.lua:"));
    text_free(&t);
    compare_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assembly_is_read),
        cmocka_unit_test(files_are_those_of_the_module),
        cmocka_unit_test(shapes_leave_out_numbers),
        cmocka_unit_test(alignments_are_longest),
        cmocka_unit_test_setup_teardown(the_same_spec_has_the_same_code, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_factor_is_a_product_more, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(lua_lines_are_found, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(eight_variants_are_a_small_page, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
