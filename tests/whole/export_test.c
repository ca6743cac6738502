/* SPDX-License-Identifier: MIT
** strata export on models with drawn weights: which architectures they become, that what was
** written reads back as the weights (--check imports it), what is refused, and that nothing is
** replaced unasked.
*/
#include "../../compiler/interop/torch/torch_attributes.inc"
#include "../../compiler/interop/torch/torch_globals.inc"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "json_get.h"
#include "program_run.h"
#include "safetensors.h"
#include "spec.h"

static Folder folder;

static int open_folder(void **state) {
    (void)state;
    folder_open(&folder);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

/* == Models =============================================================== */

#define MLP "mlp { hidden = 32, activation = 'swiglu' }"
#define MODEL(norm, more, layers)                                                            \
    "return model { name = 'm', vocab = 256, context = 32, dim = 32, tokenizer = 'bytes',\n" \
    "  norm = " norm ", " more "\n  layers = " layers ",\n}\n"
#define RMS "rmsnorm { eps = 1e-5 }"
#define LAYERS(attention, mlp) "times(2, layer { " attention ", " mlp " })"

/* Weights for the spec in FOLDER/m.lua, drawn, as FOLDER/w. */
static void draw_weights(const char *spec) {
    char path[300], name[256];
    Error e = { 0 };
    TensorList l = { 0 };
    folder_write(&folder, "m.lua", spec, strlen(spec));
    snprintf(path, sizeof path, "%s/m.lua", folder.path);
    Model *m = spec_load(path, NULL, &e);
    if (!m) fail_msg("%s", e.text);
    float *drawn = malloc(sizeof *drawn << 16);
    for (int i = 0; i < 1 << 16; i++)
        drawn[i] = (float)((i * 7919 + 13) % 2003 - 1001) / 3000.0f + 0.03f;
    for (int i = 0; i < m->graph->nparam; i++) {
        const Node *p = m->graph->param[i].node;
        Shape s = param_tensor_shape(p);
        for (int64_t k = 0; k < param_tensors(p); k++) {
            param_tensor_name(p, k, name, sizeof name);
            assert_int_equal(tensors_add(&l, "", name, DTYPE_F32, s.rank, s.dim, drawn + i, &e), 0);
        }
    }
    snprintf(path, sizeof path, "%s/w", folder.path);
    if (safetensors_write(path, &l, NULL, 0, 0, &e)) fail_msg("%s", e.text);
    tensors_free(&l);
    free(drawn);
    spec_free(m);
}

/* strata export m.lua --weights w WORDS: the exit status; its output is in FOLDER/out and err. */
static int export(const char *words) {
    char line[1200];
    snprintf(line, sizeof line, "cd '%s' && '%s/strata' export m.lua --weights w %s >out 2>err",
             folder.path, BUILD_DIR, words);
    int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void assert_says(const char *file, const char *what) {
    size_t n;
    char *text = folder_read(&folder, file, &n);
    if (!strstr(text, what)) fail_msg("expected '%s' in %s, found\n%s", what, file, text);
    free(text);
}

static void exported(const char *spec, const char *words, const char *says) {
    draw_weights(spec);
    if (export(words)) assert_says("err", "?");
    assert_says("out", says);
}

static void refused(const char *words, int status, const char *says) {
    int found = export(words);
    if (found != status) fail_msg("'%s': status %d, expected %d", words, found, status);
    assert_says("err", "error: ");
    assert_says("err", says);
}

/* == Architectures ======================================================== */

static const struct {
    const char *kind, *spec;
    bool gguf;
} known[] = {
    { "llama",
      MODEL(RMS, "embedding = { tied = false },",
            LAYERS("attention { heads = 4, kv_heads = 2, rope = { theta = 500000, llama3 = { "
                   "factor = 8, low = 1, high = 4, original = 16 } } }",
                   MLP)),
      true },
    { "llama",
      MODEL(RMS, "", LAYERS("attention { heads = 4, head_dim = 6, bias = true, rope = {} }", MLP)),
      true },
    { "mistral",
      MODEL(RMS, "", LAYERS("attention { heads = 4, window = 5, rope = { theta = 1e6 } }", MLP)),
      false },
    { "qwen2",
      MODEL(RMS, "",
            LAYERS("attention { heads = 4, kv_heads = 1, bias = { 'q', 'k', 'v' }, rope = {} }",
                   MLP)),
      true },
    { "qwen3",
      MODEL(RMS, "",
            LAYERS("attention { heads = 2, kv_heads = 1, qk_norm = true, rope = {} }", MLP)),
      true },
    { "smollm3",
      MODEL(RMS, "",
            "{ layer { attention { heads = 4, rope = {} }, " MLP " },\n"
            "  layer { attention { heads = 4 }, " MLP " } }"),
      false },
    { "olmo2",
      MODEL(RMS, "",
            LAYERS("attention { heads = 4, qk_norm = { over = 'all' }, rope = {},\n"
                   "  norm = { before = false, after = true } }",
                   "mlp { hidden = 32, norm = { before = false, after = true } }")),
      false },
    { "granite",
      MODEL(RMS, "embedding = { scale = 6 }, logits = { scale = 0.125 },",
            LAYERS("attention { heads = 4, multiplier = 0.25, rope = {} }",
                   "mlp { hidden = 32, multiplier = 0.25 }")),
      false },
    { "gemma3_text",
      MODEL(RMS, "embedding = { scale = 32 ^ 0.5 },",
            "{ layer { attention { heads = 4, qk_norm = true, norm = { after = true }, rope = {},\n"
            "    window = 5 }, mlp { hidden = 32, activation = 'geglu_tanh',\n"
            "    norm = { after = true } } },\n"
            "  layer { attention { heads = 4, qk_norm = true, norm = { after = true },\n"
            "    rope = { theta = 1e6 } }, mlp { hidden = 32, activation = 'geglu_tanh',\n"
            "    norm = { after = true } } } }"),
      false },
    { "gpt2",
      MODEL("layernorm { eps = 1e-5 }", "embedding = { positions = 'learned' },",
            LAYERS("attention { heads = 4, bias = true }",
                   "mlp { hidden = 64, bias = true, activation = 'gelu_tanh' }")),
      true },
    { "llama",
      MODEL(RMS, "",
            LAYERS("attention { heads = 4, rope = { longrope = { short = { 1, 2, 3, 4 }, long = { "
                   "3, 4, 5, 6 }, "
                   "original = 32, factor = 4 } } }",
                   MLP)),
      false },
};

static void architectures_read_back(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char words[64], says[64];
        snprintf(words, sizeof words, "--to hf hf%zu --check", i);
        snprintf(says, sizeof says, "architecture %s\nread back: equal bit for bit", known[i].kind);
        exported(known[i].spec, words, says);
        snprintf(words, sizeof words, "hf%zu/config.json", i);
        snprintf(says, sizeof says, "\"model_type\": \"%s\"", known[i].kind);
        assert_says(words, says);
    }
}

static void files_for_llama_cpp_read_back(void **state) {
    (void)state;
    static const char *const types[] = { "f32", "f16", "bf16", "q8_0" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char words[64];
        draw_weights(known[i].spec);
        if (!known[i].gguf) {
            refused("--to gguf no", 1, "expected what llama.cpp runs");
            assert_false(folder_has(&folder, "no"));
        }
        for (int t = 0; known[i].gguf && t < 4; t++) {
            snprintf(words, sizeof words, "--to gguf g%zu.%s --check --type %s", i, types[t],
                     types[t]);
            exported(known[i].spec, words, "read back: equal to the type's precision");
        }
    }
}

/* == Code of their own ==================================================== */

static void others_have_code(void **state) {
    (void)state;
    exported(MODEL(RMS, "residual = attnres { blocks = 2 },",
                   "times(4, layer { attention { heads = 4, rope = {} }, " MLP " })"),
             "--to hf own --check", "because of residual attnres\n");
    assert_says("own/config.json",
                "\"AutoModelForCausalLM\": \"modeling_strata.StrataForCausalLM\"");
    assert_says("own/modeling_strata.py", "torch.stack((*sources, h), -2)");
    refused("--to gguf no", 1, "found residual attnres");
    exported(MODEL(RMS, "residual = rezero {},",
                   "times(9, layer { attention { heads = 4, rope = {} }, " MLP " })"),
             "--to hf loop", "because of residual rezero");
    assert_says("loop/modeling_strata.py", "for layer in self.layers[0:9]:");
}

/* What is printed for a model of many operations is what it was when somebody last ran it:
** STRATA_UPDATE=1 writes it anew (tests/interop/export.py runs such files). */
static void code_is_as_it_was(void **state) {
    (void)state;
    static const char place[] = SOURCE_DIR "/tests/interop/modeling.txt";
    exported(MODEL(RMS, "residual = haares { blocks = 2 },",
                   "{ layer { attention { heads = 4, kv_heads = 2, window = 6, sinks = true, "
                   "rope = {} }, moe { experts = 4, top = 2, hidden = 8 } },\n"
                   "  layer { attention { heads = 4, rope = {} }, " MLP ", route = dtr {} } }"),
             "--to hf code --check", "because of residual haares");
    size_t n;
    char *now = folder_read(&folder, "code/modeling_strata.py", &n);
    if (getenv("STRATA_UPDATE")) {
        FILE *f = fopen(place, "w");
        fwrite(now, 1, n, f);
        fclose(f);
    }
    char line[800];
    snprintf(line, sizeof line, "cmp '%s' '%s/code/modeling_strata.py'", place, folder.path);
    assert_int_equal(system(line), 0);
    free(now);
}

/* == Names ================================================================ */

/* Names that Python or torch has itself, of the sublayer with code of its own. */
static void draw_named(const char *sublayer) {
    char spec[600];
    snprintf(spec, sizeof spec,
             MODEL(RMS, "residual = rezero {},",
                   "times(2, layer { attention { heads = 4 }, mlp { hidden = 8, name = '%s' } })"),
             sublayer);
    draw_weights(spec);
}

/* The next word of a list, which ends at NULL. */
static const char *next_word(const char **list, char word[64]) {
    *list += strspn(*list, " ");
    size_t n = strcspn(*list, " ");
    snprintf(word, 64, "%.*s", (int)n, *list);
    *list += n;
    return n ? word : NULL;
}

static void keywords_of_python_are_names(void **state) {
    (void)state;
    const char *list =
        "False None True and as assert async await break class continue def del elif "
        "else except finally for from global if import in is lambda nonlocal not or "
        "pass raise return try while with yield";
    char word[64], says[80], line[900];
    while (next_word(&list, word)) {
        draw_named(word);
        if (export("--to hf words --overwrite")) assert_says("err", "?");
        snprintf(says, sizeof says, "[\"%s\"].up.weight", word);
        assert_says("words/modeling_strata.py", says);
        snprintf(line, sizeof line,
                 "! command -v python3 >/dev/null || "
                 "python3 -c 'import ast; ast.parse(open(\"%s/words/modeling_strata.py\").read())'",
                 folder.path);
        assert_int_equal(system(line), 0);
    }
}

static void attributes_of_torch_are_refused(void **state) {
    (void)state;
    const char *list = module_attributes;
    char word[64], says[120];
    int words = 0;
    for (; next_word(&list, word); words++) {
        draw_named(word);
        snprintf(says, sizeof says, "found '%s', which is an attribute of torch.nn.Module", word);
        refused("--to hf owned", 1, says);
    }
    assert_true(words > 50);
    assert_true(strstr(model_attributes, " config ") != NULL);
}

/* Each name of a function and a class, in turn a sublayer's: the file still defines it once, and
** nothing that Python calls by itself.  Those that are modules' too are refused. */
static void names_of_functions_keep_their_meaning(void **state) {
    (void)state;
    static const char *const lists[] = { file_globals, python_globals };
    static const char check[] =
        "import ast, builtins, glob\n"
        "for file in glob.glob('file_*.py'):\n"
        "    names = [x.name for x in ast.parse(open(file).read()).body if hasattr(x, 'name')]\n"
        "    assert len(set(names)) == len(names) > 3, file\n"
        "    assert not set(names) & set(dir(builtins)), file\n";
    char word[64], line[200];
    int words = 0;
    for (int i = 0; i < 2; i++)
        for (const char *list = lists[i]; next_word(&list, word);) {
            char among[70];
            snprintf(among, sizeof among, " %s ", word);
            if (strstr(module_attributes, among) || strstr(model_attributes, among)) continue;
            draw_named(word);
            if (export("--to hf words --overwrite")) assert_says("err", "?");
            snprintf(line, sizeof line, "mv words/modeling_strata.py file_%s.py", word);
            folder_shell(&folder, line);
            words++;
        }
    assert_true(words > 150);
    folder_write(&folder, "check", check, strlen(check));
    folder_shell(&folder, "! command -v python3 >/dev/null || python3 check");
}

/* == Refusals ============================================================= */

static void nothing_is_replaced_unasked(void **state) {
    (void)state;
    draw_weights(known[1].spec);
    assert_int_equal(export("--to hf there"), 0);
    folder_write(&folder, "keep", "x", 1);
    refused("--to hf there", 1, "there: expected a name that is free, or --overwrite");
    refused("--to hf keep --overwrite", 1, "expected a folder, found a file");
    refused("--to gguf keep", 1,
            "keep: expected no file; found a text: another name, or --overwrite");
    assert_int_equal(export("--to hf there --overwrite"), 0);
    folder_write(&folder, "there/mine", "x", 1);
    refused("--to hf there --overwrite", 1, "found 'mine'");
    assert_true(folder_has(&folder, "there/mine"));
    assert_int_equal(export("--to gguf keep --overwrite"), 0);
    folder_shell(&folder, "test -z \"$(ls -d *strata-* 2>/dev/null)\"");
}

static void weights_must_be_the_specs(void **state) {
    (void)state;
    draw_weights(known[1].spec);
    folder_write(&folder, "m.lua", known[3].spec, strlen(known[3].spec));
    refused("--to hf none", 1, "w:layers.0.attention.q.weight: expected shape [32,32], found");
    folder_write(&folder, "m.lua", known[9].spec, strlen(known[9].spec));
    refused("--to hf none", 1, "expected a tensor 'positions.weight'");
    assert_false(folder_has(&folder, "none"));
    folder_write(&folder, "w", "x", 1);
    refused("--to hf none", 1, "w: ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(architectures_read_back),
        cmocka_unit_test(files_for_llama_cpp_read_back),
        cmocka_unit_test(others_have_code),
        cmocka_unit_test(keywords_of_python_are_names),
        cmocka_unit_test(attributes_of_torch_are_refused),
        cmocka_unit_test(names_of_functions_keep_their_meaning),
        cmocka_unit_test(code_is_as_it_was),
        cmocka_unit_test(nothing_is_replaced_unasked),
        cmocka_unit_test(weights_must_be_the_specs),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
