/* SPDX-License-Identifier: MIT
** Depth lengthens the list of calls, not the code: with twice the layers, and as many
** blocks, a model's object holds machine code of the same size, and longer tables.
*/
#include "test.h"

#include <ar.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "compiled_spec.h"
#include "planned.h"
#include "scratch_spec.h"

typedef struct Sizes {
    uint64_t code, tables, writable;
    int kernels;
} Sizes;

/* Sections of an object that are loaded, by what they may be used for. */
static void add_sizes(Sizes *s, const char *object, size_t size) {
    Elf64_Ehdr head;
    assert_true(size > sizeof head);
    memcpy(&head, object, sizeof head);
    assert_memory_equal(head.e_ident, ELFMAG, SELFMAG);
    for (int i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, object + head.e_shoff + (size_t)i * sizeof section, sizeof section);
        if (!(section.sh_flags & SHF_ALLOC)) continue;
        if (section.sh_flags & SHF_EXECINSTR) s->code += section.sh_size;
        else if (section.sh_flags & SHF_WRITE) s->writable += section.sh_size;
        else s->tables += section.sh_size;
    }
}

/* The model's object and those of its row kernels; the kernel library is the same for all. */
static Sizes sizes_of(const CompiledModel *c) {
    Sizes s = { .kernels = c->nkernel };
    add_sizes(&s, c->data, c->size);
    const char *archive = c->kernels;
    for (size_t at = SARMAG, next; at < c->kernels_size; at = next) {
        struct ar_hdr member;
        memcpy(&member, archive + at, sizeof member);
        size_t size = strtoul(member.ar_size, NULL, 10);
        at += sizeof member, next = at + size + size % 2;
        assert_true(next <= c->kernels_size);
        if (!memcmp(archive + at, ELFMAG, SELFMAG)) add_sizes(&s, archive + at, size);
    }
    return s;
}

static Sizes sizes_with(void **state, const char *residual, int dim, int layers, TwoPhase how) {
    Model *m = scratch_model(state,
                             "return model { name = 'depth', vocab = 50, context = 64, dim = %d, "
                             "norm = rmsnorm {}, residual = %s,\n"
                             "  layers = times(%d, layer { attention { heads = 3, head_dim = %d, "
                             "rope = {} }, mlp { hidden = 96 } }) }\n",
                             dim, residual, layers, dim / 6 * 2);
    ModelInfo info = spec_info(m);
    CompiledModel code;
    Error error;
    assert_int_equal(planned_compile(m->graph, &info,
                                     &(CodegenOptions){ .cpu = "x86-64-v3",
                                                        .level = 2,
                                                        .emit = EMIT_OBJ,
                                                        .link = true,
                                                        .passes.two_phase = how },
                                     &code, &error),
                     0);
    Sizes s = sizes_of(&code);
    codegen_free(&code);
    spec_free(m);
    return s;
}

static Sizes compiled_sizes(void **state, const char *residual, int dim, int layers) {
    return sizes_with(state, residual, dim, layers, TWO_PHASE_AUTO);
}

static void twice_the_layers_are_the_same_code(void **state) {
    static const char *const residual[] = { "standard {}", "attnres { blocks = 2 }",
                                            "haares { blocks = 2 }",
                                            "depth_scaled {}" /* a factor for each layer */ };
    for (size_t i = 0; i < sizeof residual / sizeof *residual; i++) {
        /* so many that no table is short enough for LLVM (1024 elements) to fold comparisons of
        ** what it holds */
        Sizes one = compiled_sizes(state, residual[i], 48, 24),
              two = compiled_sizes(state, residual[i], 48, 48);
        print_message("%-24s code %llu and %llu, tables %llu and %llu bytes, %d and %d kernels\n",
                      residual[i], (unsigned long long)one.code, (unsigned long long)two.code,
                      (unsigned long long)one.tables, (unsigned long long)two.tables, one.kernels,
                      two.kernels);
        assert_true(two.code < one.code + one.code / 200); /* larger numbers in instructions */
        assert_int_equal(one.kernels, two.kernels);
        assert_true(two.tables > one.tables);
        assert_true(one.writable == 0 && two.writable == 0);
    }
}

/* A list of many sources is read by number where a row has too few elements for a vector, too. */
static void long_lists_of_short_rows_are_the_same_code(void **state) {
    static const char residual[] = "attnres { block_size = 1 }";
    Sizes one = sizes_with(state, residual, 7, 24, TWO_PHASE_OFF),
          two = sizes_with(state, residual, 7, 48, TWO_PHASE_OFF);
    print_message("rows of 7 elements: code %llu and %llu\n", (unsigned long long)one.code,
                  (unsigned long long)two.code);
    assert_true(two.code < one.code + one.code / 10);
}

/* Every source meets all others.  A kernel for N of them has code for each of N where a reduction
** goes over them, none for each pair; 7 and 11 are the longest lists. */
static void pairs_of_sources_are_loops(void **state) {
    static const char residual[] =
        "mixer { open = function(m, e) return { e } end,\n"
        "  read = function(m, list, site)\n"
        "    local N, V = #list, stack(list)\n"
        "    local a = softmax(sum(reshape(V, { N, 1, m.dim }) * reshape(V, { 1, N, m.dim }), 3),\n"
        "                      2)\n"
        "    local y = sum(reshape(a, { N, N, 1 }) * reshape(V, { 1, N, m.dim }), 2)\n"
        "    return mean(y, 1)\n"
        "  end,\n"
        "  write = function(m, list, site, out) table.insert(list, out) return list end,\n"
        "  close = function(m, list, site) return list[#list] end } {}";
    Sizes none = compiled_sizes(state, "standard {}", 192, 3),
          one = compiled_sizes(state, residual, 192, 3),
          two = compiled_sizes(state, residual, 192, 5);
    print_message("pairs of sources: code %llu and %llu, of them %llu without\n",
                  (unsigned long long)one.code, (unsigned long long)two.code,
                  (unsigned long long)none.code);
    assert_true(two.code - none.code < 3 * (one.code - none.code));
}

/* Both parts of each source, cut at another channel, are copied by the same loop: a list of twice
** as many is little more code. */
static void parts_of_sources_are_loops(void **state) {
    static const char residual[] =
        "mixer { open = function(m, e) return { e } end,\n"
        "  read = function(m, list, site) return list[#list] end,\n"
        "  write = function(m, list, site, out) table.insert(list, out) return list end,\n"
        "  close = function(m, list, site)\n"
        "    local N, D, turned, V = #list, m.dim, {}, stack(list)\n"
        "    local n = V * reshape(rsqrt(mean(V * V, 2)), { N, 1 })\n"
        "    for i = 1, N do\n"
        "      local x, k = reshape(slice(n, 1, i, 1), { D }), N - i + 16\n"
        "      turned[i] = concat({ slice(x, 1, k + 1, D - k), slice(x, 1, 1, k) }, 1)\n"
        "    end\n"
        "    return sum(stack(turned) * reshape(mean(stack(turned), 2), { #list, 1 }), 1)\n"
        "  end } {}";
    Sizes none = compiled_sizes(state, "standard {}", 192, 8),
          one = compiled_sizes(state, residual, 192, 8),
          two = compiled_sizes(state, residual, 192, 16);
    print_message("parts of sources: code %llu and %llu, of them %llu without\n",
                  (unsigned long long)one.code, (unsigned long long)two.code,
                  (unsigned long long)none.code);
    assert_true(2 * (two.code - none.code) < 3 * (one.code - none.code));
}

/* Weights of 16 reads over up to 7 sources are computed together, in loops over the sources: that
** is hardly more code than kernels of a read each. */
static void reads_together_are_loops(void **state) {
    static const char residual[] = "haares { blocks = 4 }";
    Sizes apart = sizes_with(state, residual, 48, 32, TWO_PHASE_OFF),
          together = sizes_with(state, residual, 48, 32, TWO_PHASE_ON);
    print_message("16 reads together: code %llu, apart %llu\n", (unsigned long long)together.code,
                  (unsigned long long)apart.code);
    assert_true(together.code < apart.code + apart.code / 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_of_sources_are_loops, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(long_lists_of_short_rows_are_the_same_code, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(reads_together_are_loops, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(pairs_of_sources_are_loops, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(twice_the_layers_are_the_same_code, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
