/* SPDX-License-Identifier: MIT
** The commands of a standalone program on the mock model: what they print and write,
** and the status and first line of everything that a user can get wrong.
*/
#include "test.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json.h"
#include "mock_model.h"
#include "program_run.h"
#include "safetensors.h"
#include "strata.h"

enum { V = 24, B = 3, T = 5 };
static Folder folder;
static Ran ran;

static const strata_api *model_of(const char *tokenizer, int inference) {
    MockOptions o = { .tokenizer = tokenizer, .vocab = V, .context = 16, .inference = inference };
    return mock_api(&o);
}

static void run(const strata_api *api, int status, const char *input, const char *words) {
    program_run(&ran, api, &folder, input, words);
    if (ran.status != status)
        fail_msg("'%s': status %d, expected %d\n%s%s", words, ran.status, status, ran.out, ran.err);
}

static void ok(const char *words) { run(model_of("chars", 0), 0, NULL, words); }

static const char *path(const char *name) {
    static char text[300];
    snprintf(text, sizeof text, "%s/%s", folder.path, name);
    return text;
}

static void write_tokens(const char *name, const char *tensor, Dtype dtype, int64_t rows,
                         int64_t columns, const int32_t *ids) {
    TensorList l = { 0 };
    int64_t shape[2] = { rows, columns };
    assert_int_equal(tensors_add(&l, "", tensor, dtype, 2, shape, ids, NULL), 0);
    if (strcmp(tensor, "tokens") == 0)
        assert_int_equal(tensors_add(&l, "", "targets", dtype, 2, shape, ids, NULL), 0);
    assert_int_equal(safetensors_write(path(name), &l, NULL, 0, 0, NULL), 0);
    tensors_free(&l);
}

static int open_folder(void **state) {
    (void)state;
    int32_t ids[B * T], bad[2] = { 3, V };
    folder_open(&folder);
    char text[1200];
    for (int i = 0; i < 1200; i++)
        text[i] = "abcd\xc3\xa9"
                  "efg hi"[i % 12];
    folder_write(&folder, "text", text, sizeof text);
    folder_write(&folder, "empty", "", 0);
    folder_write(&folder, "bad", "ab\xff", 3);
    folder_write(&folder, "junk", "\1\2\3", 3);
    for (int i = 0; i < B * T; i++)
        ids[i] = (i * 7 + 5) % V;
    write_tokens("in", "tokens", DTYPE_I32, B, T, ids);
    write_tokens("one", "tokens", DTYPE_I32, 1, T, ids);
    write_tokens("far", "tokens", DTYPE_I32, 1, 2, bad);
    write_tokens("float", "tokens", DTYPE_F32, 1, 2, bad);
    write_tokens("other", "words", DTYPE_I32, B, T, ids);
    int32_t many[17] = { 0 };
    write_tokens("long", "tokens", DTYPE_I32, 1, 17, many);
    ok("train --data text --steps 40 --out w");
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

static double key(const Json *j, const char *name) {
    const JsonNode *n = json_member(j, j->node, name);
    double value = NAN;
    if (!n || !json_double(n, &value)) fail_msg("expected a number '%s' in %s", name, ran.out);
    return value;
}

static void parse_output(Json *j) {
    Error e = { 0 };
    if (json_parse(j, "output", ran.out, ran.out_length, 100000, &e))
        fail_msg("%s: %s", e.text, ran.out);
}

static void informs(void **state) {
    (void)state;
    ok("info");
    assert_non_null(strstr(ran.out, "1176 in 3 tensors"));
    ok("info --json");
    Json j = { 0 };
    parse_output(&j);
    assert_true(key(&j, "parameters") == 1176);
    json_free(&j);
    ok("--version");
    assert_non_null(strstr(ran.out, "strata " STRATA_VERSION));
    ok("--help");
    assert_non_null(strstr(ran.out, "completion"));
    ok("eval --help");
    assert_non_null(strstr(ran.out, "--length"));
    ok("completion fish");
    assert_non_null(strstr(ran.out, "complete -c 'model'"));
}

static void evaluates(void **state) {
    (void)state;
    ok("eval --weights w --data text --json");
    Json j = { 0 };
    parse_output(&j);
    double loss = key(&j, "loss"), bits = key(&j, "bits_per_byte");
    assert_true(loss > 0 && loss < log(V));
    assert_true(fabs(key(&j, "perplexity") - exp(loss)) < 1e-9);
    assert_true(key(&j, "tokens") == 1099); /* 1100 characters in 1200 bytes */
    assert_true(fabs(bits - loss * 1099 / log(2) / 1199) < 1e-9);
    json_free(&j);
    ok("eval --weights w --data text --json --batch 3 --threads 3");
    parse_output(&j);
    assert_true(key(&j, "loss") == loss);
    json_free(&j);
    ok("eval --weights w --data text --json --length 4,16");
    parse_output(&j);
    const JsonNode *lengths = json_member(&j, j.node, "lengths");
    assert_true(lengths && lengths->count == 2);
    assert_true(key(&j, "length") == 4 && key(&j, "loss") > loss);
    json_free(&j);
    ok("eval --weights w --data text");
    assert_non_null(strstr(ran.out, "bits_per_byte  "));
}

static void generates(void **state) {
    (void)state;
    char first[256];
    ok("generate --weights w --prompt ab --temperature 0");
    /* 14: what is left of the context */
    assert_string_equal(ran.out,
                        "cd\xc3\xa9"
                        "efg hiabcd\xc3\xa9\n");
    run(model_of("chars", 0), 0, "ab", "generate --weights w --temperature 0 --max-tokens 3");
    assert_string_equal(ran.out, "cd\xc3\xa9\n");
    run(model_of("chars", 0), 0, "ab", "generate --weights w --prompt - --max-tokens 0");
    assert_string_equal(ran.out, "");
    ok("generate --weights w --prompt a\1b --temperature 3 --seed 5");
    snprintf(first, sizeof first, "%.255s", ran.out);
    ok("generate --weights w --prompt a\1b --temperature 3 --seed 5 --threads 3");
    assert_string_equal(ran.out, first);
    ok("generate --weights w --prompt a\1b --temperature 3 --seed 6");
    assert_string_not_equal(ran.out, first);
}

static float *read_tensor(const char *file, const char *name, int64_t count) {
    Safetensors s = { 0 };
    Error e = { 0 };
    float *x = calloc((size_t)count, sizeof *x);
    if (safetensors_open(&s, path(file), &e)) fail_msg("%s", e.text);
    const Tensor *t = safetensors_find(&s, name);
    if (!t || t->count != count)
        fail_msg("%s: expected %lld values of '%s'", file, (long long)count, name);
    assert_int_equal(safetensors_read_f32(&s, t, x, &e), 0);
    safetensors_close(&s);
    return x;
}

static void writes_logits(void **state) {
    (void)state;
    ok("logits --weights w --tokens in --out l");
    ok("logits --weights w --tokens in --out g --as-generated --threads 2");
    ok("logits --weights w --tokens one --out o");
    float *l = read_tensor("l", "logits", B * T * V), *g = read_tensor("g", "logits", B * T * V);
    float *o = read_tensor("o", "logits", T * V);
    assert_memory_equal(l, g, B * T * V * sizeof *l);
    assert_memory_equal(l, o, T * V * sizeof *l);
    float *bias = read_tensor("w", "bias", V), *table = read_tensor("w", "table.weight", V * V);
    for (int v = 0; v < V; v++)
        assert_true(l[v] == bias[v] + table[5 * V + v]);
    free(l), free(g), free(o), free(bias), free(table);
}

/* Softmax minus one-hot: every row of gradients adds up to zero, and the rows to that of the
** bias. */
static void writes_gradients(void **state) {
    (void)state;
    ok("gradients --weights w --tokens in --out gr");
    float *loss = read_tensor("gr", "loss", 1), *entropy = read_tensor("gr", "cross_entropy", 1);
    float *bias = read_tensor("gr", "grad.bias", V),
          *table = read_tensor("gr", "grad.table.weight", V * V);
    float *previous = read_tensor("gr", "grad.previous.weight", V * V);
    double sum = 0, of_table = 0;
    for (int v = 0; v < V; v++) {
        sum += bias[v];
        for (int id = 0; id < V; id++)
            of_table += table[id * V + v];
    }
    assert_true(loss[0] == entropy[0] && loss[0] > 0);
    assert_true(fabs(sum) < 1e-6 && fabs(of_table) < 1e-6);
    for (int v = 0; v < V; v++) {
        double column = 0;
        for (int id = 0; id < V; id++)
            column += table[id * V + v];
        assert_true(fabs(column - bias[v]) < 1e-6);
    }
    free(loss), free(entropy), free(bias), free(table), free(previous);
}

static void benchmarks(void **state) {
    (void)state;
    static const char *const words[] = { "bench --json --steps 3 --batch 2",
                                         "bench --json --prefill 9 --steps 3 --threads 2",
                                         "bench --json --decode 8 --prompt 4 --batch 2",
                                         "bench --json --train --length 5 --steps 2" };
    static const char *const wanted[] = { "tokens_per_second", "seconds",
                                          "peak_memory_bytes", "gflops",
                                          "share_of_peak",     "floor_tokens_per_second" };
    for (int i = 0; i < 4; i++) {
        ok(words[i]);
        Json j = { 0 };
        parse_output(&j);
        for (int k = 0; k < 6; k++)
            assert_true(key(&j, wanted[k]) > 0);
        assert_true(key(&j, "peak_meanwhile_gflops") > 0);
        assert_true(key(&j, "floor_meanwhile_tokens_per_second") > 0);
        const JsonNode *kernels = json_member(&j, j.node, "kernels");
        assert_true(kernels && kernels->count == (i == 0 || i == 3 ? 2 : 1));
        const JsonNode *first = json_first(&j, kernels);
        double value;
        assert_string_equal(json_member(&j, first, "name")->text, "logits_rows");
        assert_true(json_double(json_member(&j, first, "seconds"), &value) && value > 0);
        assert_true(json_double(json_member(&j, first, "gbytes_per_second"), &value) && value > 0);
        assert_true(json_double(json_member(&j, first, "gflops"), &value) && value > 0);
        assert_non_null(json_member(&j, first, "calls"));
        json_free(&j);
    }
    ok("bench --steps 1");
    assert_non_null(strstr(ran.out, "gradient_columns"));
    run(model_of("chars", 1), 0, NULL, "bench --prefill 9 --json");
    Json j = { 0 };
    parse_output(&j);
    assert_true(key(&j, "floor_tokens_per_second") > 0);
    assert_int_equal(json_member(&j, j.node, "kernels")->count, 1);
    json_free(&j);
}

static const struct {
    int status;
    const char *words, *says;
} mistake[] = {
    { 2, "", "expected a command" },
    { 2, "evil", "nearest is 'eval'" },
    { 1, "probe --weights w --data text", "without a probe" },
    { 2, "eval --data text", "expected --weights" },
    { 2, "eval --weights w", "expected --data" },
    { 1, "eval --weights w --data text --length 17",
      "at most the context, 16 tokens, whose positions are learned, found 17" },
    { 1, "eval --weights w --data empty", "empty" },
    { 1, "eval --weights w --data bad", "UTF-8" },
    { 1, "eval --weights junk --data text", "junk" },
    { 1, "eval --weights none --data text", "none" },
    { 1, "eval --weights in --data text", "targets" },
    { 1, "generate --weights w --prompt abcdefghiabcdefghi",
      "at most the context, 16 tokens, found 18" },
    { 1, "generate --weights w --prompt abc --max-tokens 14", "at most 13" },
    { 1, "generate --weights w --prompt=", "at least one token" },
    { 1, "generate --weights w --prompt a\xff", "UTF-8" },
    { 1, "logits --weights w --tokens far --out x",
      "far:tokens[0, 1]: expected an id from 0 to 23, found 24" },
    { 1, "logits --weights w --tokens float --out x", "expected int32 [B,T], found F32" },
    { 1, "logits --weights w --tokens other --out x", "expected a tensor 'tokens'" },
    { 1, "gradients --weights w --tokens w --out x", "expected a tensor 'tokens'" },
    { 1, "logits --weights w --tokens long --out x", "at most the context, 16 tokens, found 17" },
    { 1, "logits --weights w --tokens in --out w", "found one that is read" },
    { 1, "logits --weights w --tokens in --out .", "." },
    { 2, "eval --weights w --data text --field body", "expected JSON lines" },
    { 2, "bench --train --prefill 3", "found several" },
    { 1, "bench --length 17", "at most the context" },
    { 1, "bench --prefill 17", "at most the context" },
    { 1, "bench --decode 10 --prompt 7", "found 17" },
    { 1, "bench --routed-share 0.5", "expected a model with routes, found none" },
};

static void mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mistake / sizeof *mistake; i++) {
        run(model_of("chars", 0), mistake[i].status, "", mistake[i].words);
        const char *says = mistake[i].says;
        if (strncmp(ran.err, "error: ", 7) != 0 || !strstr(ran.err, says))
            fail_msg("'%s': expected '%s' in '%s'", mistake[i].words, says, ran.err);
        assert_string_equal(ran.out, "");
        assert_false(folder_has(&folder, "x"));
    }
    run(model_of("chars", 1), 1, NULL, "gradients --weights w --tokens in --out x");
    assert_non_null(strstr(ran.err, "--inference"));
    run(model_of("chars", 1), 0, NULL, "bench --steps 2");
    run(model_of("", 0), 1, NULL, "generate --weights w --prompt a");
    run(model_of("", 0), 0, NULL, "logits --weights w --tokens in --out x");
}

/* Runs words through the shell's redirections in a child of its own. */
static int with_files(const char *words, int closed, const char *out, char *err, size_t size) {
    int pipe_[2], status;
    const strata_api *api = model_of("chars", 0);
    assert_int_equal(pipe(pipe_), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char text[256], *word[32] = { "model" };
        int count = 1;
        if (chdir(folder.path)) _exit(99);
        dup2(pipe_[1], 2);
        dup2(open(out, O_WRONLY), 1);
        for (int fd = 3; fd < 20; fd++)
            close(fd);
        for (int fd = 0; fd < 3; fd++)
            if (closed >> fd & 1) close(fd);
        snprintf(text, sizeof text, "%s", words);
        for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
            word[count++] = w;
        _exit(strata_main(count, word, api));
    }
    close(pipe_[1]);
    ssize_t n = read(pipe_[0], err, size - 1);
    err[n > 0 ? n : 0] = 0;
    waitpid(pid, &status, 0);
    close(pipe_[0]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void hostile_files(void **state) {
    (void)state;
    char err[512];
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(with_files("info", 0, "/dev/full", err, sizeof err), 4);
        assert_non_null(strstr(err, "error: standard output: cannot write"));
        assert_int_equal(
            with_files("generate --weights w --prompt ab", 0, "/dev/full", err, sizeof err), 4);
        assert_int_equal(
            with_files("train --data text --steps 2 --out full", 0, "/dev/full", err, sizeof err),
            4);
        assert_non_null(strstr(err, "the run is done"));
        assert_true(folder_has(&folder, "full"));
    }
    assert_int_equal(
        with_files("logits --weights w --tokens in --out closed", 7, "/dev/null", err, sizeof err),
        0);
    float *l = read_tensor("closed", "logits", B * T * V);
    free(l);
    assert_int_equal(with_files("info", 2, "/dev/null", err, sizeof err), 4);
}

/* A reader that goes away ends generate quietly. */
static void closed_pipes_are_quiet(void **state) {
    (void)state;
    int pipe_[2], status;
    const strata_api *api = model_of("chars", 0);
    assert_int_equal(pipe(pipe_), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char *word[] = { "model", "generate", "--weights", "w", "--prompt", "ab", NULL };
        if (chdir(folder.path)) _exit(99);
        dup2(pipe_[1], 1);
        close(pipe_[0]);
        close(pipe_[1]);
        dup2(open("quiet", O_WRONLY | O_CREAT, 0644), 2);
        _exit(strata_main(6, word, api));
    }
    close(pipe_[0]);
    close(pipe_[1]);
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    size_t n = 1;
    free(folder_read(&folder, "quiet", &n));
    assert_int_equal(n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(informs),
        cmocka_unit_test(evaluates),
        cmocka_unit_test(generates),
        cmocka_unit_test(writes_logits),
        cmocka_unit_test(writes_gradients),
        cmocka_unit_test(benchmarks),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(hostile_files),
        cmocka_unit_test(closed_pipes_are_quiet),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
