/* SPDX-License-Identifier: MIT
** The functions of a model are the rows of abi.def, wherever they are written: in an object's
** symbols, in a model's header, in the table of a standalone program. */
#include "test.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi_rows.h"
#include "compiled_spec.h"
#include "planned.h"
#include "functions.h"
#include "scratch_spec.h"

#define PREFIX "some"

static const char text[] =
    "return model { name = 'some', vocab = 20, context = 8, dim = 16, norm = rmsnorm {},\n"
    "  layers = times(1, layer { attention { heads = 2, rope = {} }, mlp { hidden = 16 } }) }\n";

static void compile(void **state, bool inference, CompiledModel *code, char **header) {
    Model *m = scratch_model(state, "%s", text);
    ModelInfo info = spec_info(m);
    Error error;
    CodegenOptions o = { .cpu = "native",
                         .level = 1,
                         .emit = EMIT_OBJ,
                         .prefix = PREFIX,
                         .passes.inference = inference };
    assert_int_equal(planned_compile(m->graph, &info, &o, code, &error), 0);
    size_t size;
    FILE *f = open_memstream(header, &size);
    assert_non_null(f);
    codegen_header(code, &info, PREFIX, f);
    fclose(f);
    spec_free(m);
}

static int row_of(const char *symbol) {
    if (strncmp(symbol, PREFIX "_", sizeof PREFIX)) return -1;
    for (int i = 0; i < API_ROWS; i++)
        if (!strcmp(symbol + sizeof PREFIX, api_rows[i].name)) return i;
    return -1;
}

/* == Objects ============================================================== */

/* Marks the rows that the object defines for all to see, and there is nothing else. */
static void look_at_symbols(const CompiledModel *c, bool *found) {
    const char *data = c->data;
    const Elf64_Ehdr *head = c->data;
    const Elf64_Shdr *section = (const Elf64_Shdr *)(data + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++) {
        if (section[i].sh_type != SHT_SYMTAB) continue;
        const char *names = data + section[section[i].sh_link].sh_offset;
        const Elf64_Sym *s = (const Elf64_Sym *)(data + section[i].sh_offset);
        for (size_t n = section[i].sh_size / sizeof *s; n--; s++) {
            if (ELF64_ST_BIND(s->st_info) == STB_LOCAL || s->st_shndx == SHN_UNDEF) continue;
            int row = row_of(names + s->st_name);
            if (row < 0) fail_msg("%s is exported and has no row", names + s->st_name);
            found[row] = true;
        }
    }
}

static void objects_export_the_rows(void **state) {
    for (int inference = 0; inference < 2; inference++) {
        bool found[API_ROWS] = { false };
        CompiledModel code;
        char *header;
        compile(state, inference, &code, &header);
        look_at_symbols(&code, found);
        for (int i = 0; i < API_ROWS; i++)
            if (found[i] != (api_rows[i].need != API_PROGRAM))
                fail_msg("%s: expected %s", api_rows[i].name, found[i] ? "no export" : "an export");
        free(header);
        codegen_free(&code);
    }
}

/* == Headers ============================================================== */

/* A row's prototype begins so: "int32_t some_init(void *ctx". */
static bool has_prototype(const char *header, const ApiRow *r) {
    char name[64];
    snprintf(name, sizeof name, PREFIX "_%s(", r->name);
    const char *at = strstr(header, name);
    size_t before = strlen(r->type), same = 0;
    if (!at) return false;
    while (r->parameters[same] && at[strlen(name) - 1 + same] == r->parameters[same])
        same++;
    while (at > header && at[-1] == ' ')
        at--;
    bool pointer = r->type[before - 1] == '*';
    return !memcmp(at - before, r->type, before) && same >= strcspn(r->parameters, ",)")
        && (pointer || at[0] == ' ');
}

static void headers_have_the_rows(void **state) {
    CompiledModel code;
    char *header, line[128];
    compile(state, false, &code, &header);
    for (int i = 0; i < API_ROWS; i++) {
        const ApiRow *r = &api_rows[i];
        bool program = r->need == API_PROGRAM;
        snprintf(line, sizeof line, "    a.%s = %s%s;\n", r->member, program ? "NULL" : PREFIX "_",
                 program ? "" : r->name);
        if (!strstr(header, line)) fail_msg("the header's table lacks %s", line);
        if (has_prototype(header, r) == program)
            fail_msg("%s: expected %s prototype", r->name, program ? "no" : "a");
    }
    free(header);
    codegen_free(&code);
}

/* == Without training ===================================================== */

static int32_t missing_forward_backward(const strata_api *a) {
    return a->forward_backward(NULL, NULL, NULL, NULL, NULL, NULL, 1, 1, 1, 0, NULL, NULL, NULL);
}

static int32_t missing_sum_squares(const strata_api *a) {
    return a->sum_squares(NULL, NULL, 0, 1, NULL);
}

static int32_t missing_update(const strata_api *a) {
    return a->update(NULL, NULL, NULL, 0, 1, NULL);
}

#define MISSING_ALWAYS(name)
#define MISSING_PROGRAM(name)
#define MISSING_TRAINING(name) assert_int_equal(missing_##name(&c.api), STRATA_ERROR_MISSING);

/* Whatever they are called with. */
static void inference_lacks_what_trains(void **state) {
    Model *m = scratch_model(state, "%s", text);
    ModelInfo info = spec_info(m);
    Compiled c;
    compiled_open(&c, m->graph, &info,
                  &(CodegenOptions){ .cpu = "native", .level = 1, .passes.inference = true });
#define API(slot, name, member, type, parameters, need) MISSING_##need(name)
#include "abi.def"
    compiled_close(&c);
    spec_free(m);
}

/* == Places =============================================================== */

/* No two members are one row, none is without. */
static void members_are_in_their_places(void **state) {
    (void)state;
    assert_int_equal(API_ROWS, API_FUNCTIONS);
    for (int i = 0; i < API_ROWS; i++) {
        assert_non_null(api_member[i]);
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(api_member[i], api_member[k]);
    }
    /* rows take the place of reserved members: programs that were built before keep their size */
    assert_int_equal(sizeof(strata_api), sizeof(size_t) + 25 * sizeof(void *));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(objects_export_the_rows, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(headers_have_the_rows, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(inference_lacks_what_trains, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(members_are_in_their_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
