/* SPDX-License-Identifier: MIT
** strata weights: list, strip, diff and merge of any file, and strata quantize.  What is written is
** a file of weights and has each tensor that was kept with its bytes; what is told has nothing that
** drives a terminal.
*/
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "escape.h"
#include "fuzz.h"
#include "safetensors.h"
#include "weight_tools.h"

const int fuzz_bytes = 5;
const char *const fuzz_words[] = { "-1",         "0",
                                   "4294967296", "9223372036854775807",
                                   "[",          "]",
                                   "{",          "}",
                                   "\"",         "null",
                                   ",",          "\"F64\"",
                                   "\"BF16\"",   "1",
                                   "\x1b[",      "\\u001b",
                                   "optimizer.", ".lora_a.weight",
                                   "\"I8\"",     "\"F16\"",
                                   ".scale",     "\"shape\":[0]",
                                   "\xff",       NULL };

/* == In the place of the commands' own ==================================== */

static const char spec[] =
    "return model { name = 'm', vocab = 4, context = 4, dim = 2, norm = rmsnorm {},\n"
    "layers = { layer { mlp { hidden = 3, activation = 'relu' } } },\n"
    "lora = { rank = 1, targets = { '*.up' } } }";
static const char wide[] =
    "return model { name = 'm', vocab = 4, context = 4, dim = 32, norm = rmsnorm {},\n"
    "layers = { layer { mlp { hidden = 33, activation = 'relu' } } } }";

/* Loaded once; commands give them back to the next input. */
Model *build_load(const char *path, Allowance *a, Error *e) {
    static Model *model[2];
    bool other = strcmp(path, "wide") != 0;
    const char *text = other ? spec : wide;
    (void)a;
    if (!model[other]) model[other] = spec_load_text(path, text, strlen(text), NULL, NULL, e);
    return model[other];
}

void __wrap_spec_free(Model *m);
void __wrap_spec_free(Model *m) { (void)m; }

void show_line(FILE *f, const char *before, const char *text, const char *after) {
    char shown[4096];
    (void)f;
    text_escape(shown, sizeof shown, text, strlen(text));
    const char *const parts[] = { before, shown, after };
    for (int i = 0; i < 3; i++)
        for (const char *c = parts[i]; *c; c++)
            if ((unsigned char)*c < 32 || *c == 127) fuzz_broken("a control character is shown");
}

/* == Inputs =============================================================== */

void fuzz_repair(FuzzInput *f) {
    const unsigned char *end = f->n > 8 ? memchr(f->bytes + 8, '\n', f->n - 8) : NULL;
    if (!end || !fuzz_below(f, 3)) return;
    uint64_t n = (uint64_t)(end - f->bytes) - 7;
    for (int i = 0; i < 8; i++)
        f->bytes[i] = (unsigned char)(n >> 8 * i);
}

static const struct {
    const char *header;
    size_t data;
} valid[] = {
    { "{\"layers.0.mlp.up.weight\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
      "\"layers.0.mlp.up.lora_a.weight\":{\"dtype\":\"F32\",\"shape\":[1,2],"
      "\"data_offsets\":[24,32]},"
      "\"layers.0.mlp.up.lora_b.weight\":{\"dtype\":\"BF16\",\"shape\":[3,1],"
      "\"data_offsets\":[32,38]},"
      "\"optimizer.m.x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[38,42]}}\n",
      42 },
    { "{\"a\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]},"
      "\"b\":{\"dtype\":\"I64\",\"shape\":[1,2],\"data_offsets\":[8,24]},"
      "\"c\":{\"dtype\":\"F16\",\"shape\":[0,2],\"data_offsets\":[24,24]}}\n",
      24 },
    { "{\"__metadata__\":{\"format\":\"strata small weights\",\"version\":\"1\","
      "\"weights\":\"q4\",\"group\":\"32\"},"
      "\"b.q\":{\"dtype\":\"U8\",\"shape\":[2,2],\"data_offsets\":[16,20]},"
      "\"b.q.scale\":{\"dtype\":\"F16\",\"shape\":[2,1],\"data_offsets\":[4,8]},"
      "\"b.q.least\":{\"dtype\":\"F16\",\"shape\":[2,1],\"data_offsets\":[8,12]},"
      "\"d\":{\"dtype\":\"I8\",\"shape\":[1,3],\"data_offsets\":[20,23]},"
      "\"d.scale\":{\"dtype\":\"F16\",\"shape\":[1,1],\"data_offsets\":[12,14]},"
      "\"n\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
      "\"t\":{\"dtype\":\"I16\",\"shape\":[1],\"data_offsets\":[14,16]}}\n",
      23 },
    { "{\"embed.weight\":{\"dtype\":\"F16\",\"shape\":[4,32],\"data_offsets\":[0,256]},"
      "\"final_norm.weight\":{\"dtype\":\"BF16\",\"shape\":[32],"
      "\"data_offsets\":[256,320]},"
      "\"layers.0.mlp.down.weight\":{\"dtype\":\"F16\",\"shape\":[32,33],"
      "\"data_offsets\":[320,2432]},"
      "\"layers.0.mlp.norm.weight\":{\"dtype\":\"F16\",\"shape\":[32],"
      "\"data_offsets\":[2432,2496]},"
      "\"layers.0.mlp.up.weight\":{\"dtype\":\"BF16\",\"shape\":[33,32],"
      "\"data_offsets\":[2496,4608]},"
      "\"optimizer.m.x\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[4608,4609]}}\n",
      4609 },
};

size_t fuzz_seed(size_t k, unsigned char *to) {
    if (k >= sizeof valid / sizeof *valid) return 0;
    size_t n = strlen(valid[k].header), all = 8 + n + valid[k].data;
    memset(to, 0, all);
    to[0] = (unsigned char)n, to[1] = (unsigned char)(n >> 8);
    memcpy(to + 8, valid[k].header, n);
    for (size_t i = 8 + n; i < all; i++)
        to[i] = (unsigned char)(i % 3 ? 0 : i % 60); /* halves and floats are finite */
    return all;
}

/* == Commands ============================================================= */

/* Quietly: counts that are printed go nowhere. */
static int run(int words, const char *const *word) {
    static int nowhere = -1;
    char *argv[9] = { NULL };
    Options o;
    Error e = { 0 };
    if (nowhere < 0) nowhere = open("/dev/null", O_WRONLY);
    fflush(stdout);
    int out = dup(STDOUT_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    for (int i = 0; i < words; i++)
        argv[i] = (char *)(size_t)word[i];
    int status = options_parse(&o, &strata_options, words, argv, &e);
    if (status) fuzz_broken(e.text);
    Allowance none = { 0 };
    status = o.command == STRATA_COMMAND_QUANTIZE ? command_quantize(&o, &none, &e)
                                                  : command_weights(&o, &none, &e);
    if (status && (!e.text[0] || e.status != status)) fuzz_broken("an error says nothing");
    options_free(&o);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    return status;
}

/* Of every tensor of 'made' that 'from' has too; all: the others are missing by right. */
static void check_copy(const char *from, const char *made, bool merged) {
    static char bytes[2][FUZZ_ROOM];
    Safetensors a, b;
    if (weight_file_open(&a, from, NULL)) fuzz_broken("a file was read that cannot be");
    if (weight_file_open(&b, made, NULL)) fuzz_broken("what is written cannot be read");
    for (int32_t i = 0; i < b.count; i++) {
        const Tensor *y = &b.tensor[i], *x = safetensors_find(&a, y->name);
        if (!x) fuzz_broken("a tensor is new");
        if (merged && x->dtype != y->dtype) continue;
        if (x->bytes != y->bytes) fuzz_broken("a tensor has another size");
        if (input_read(&a.in, x->at, bytes[0], x->bytes, NULL)
            || input_read(&b.in, y->at, bytes[1], y->bytes, NULL))
            fuzz_broken("a tensor cannot be read");
        if (!merged && memcmp(bytes[0], bytes[1], x->bytes)) fuzz_broken("a tensor has changed");
    }
    safetensors_close(&a);
    safetensors_close(&b);
}

/* Every matrix of a file that strata quantize wrote can be read. */
static void check_rounded(const char *made, int wanted) {
    static SmallGroup g[FUZZ_ROOM];
    Safetensors s;
    Error e;
    SmallMatrix m;
    int bits, matrices = 0;
    if (weight_file_open(&s, made, NULL)) fuzz_broken("what is rounded cannot be read");
    if (small_file_bits(&s, &bits, &e) || bits != wanted) fuzz_broken("it has other bits");
    for (int32_t i = 0; i < s.count; i++) {
        const Tensor *t = &s.tensor[i];
        if (!strncmp(t->name, "optimizer.", 10)) fuzz_broken("an optimizer's state is kept");
        if (!small_code_bits(t) || !strncmp(t->name, "tokenizer.", 10)) continue;
        matrices++;
        if (small_matrix(&s, t, &m, &e) || small_matrix_rows(&s, &m, 0, m.rows, g, &e))
            fuzz_broken(e.text);
    }
    if (matrices != (wanted == 8 ? 2 : 1)) fuzz_broken("other matrices are rounded");
    safetensors_close(&s);
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    static char out[64];
    const char *path = fuzz_file(bytes, n);
    if (!*out)
        snprintf(out, sizeof out, "%s/weights_fuzz.%ld",
                 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (long)getpid());
    int listed = run(3, (const char *[]){ "weights", "list", path });
    int differs = run(4, (const char *[]){ "weights", "diff", path, path });
    if (listed && !differs) fuzz_broken("a file can be compared and not listed");
    if (!run(5, (const char *[]){ "weights", "strip", path, "-o", path }))
        fuzz_broken("a file is replaced");
    if (!run(7, (const char *[]){ "weights", "strip", path, "-o", out, "--match", "b*,*.q" }))
        check_copy(path, out, false);
    if (n % 8 == 0
        && !run(7, (const char *[]){ "weights", "merge", "spec", path, "-o", out, "--overwrite" }))
        check_copy(path, out, true);
    for (int bits = 4; bits <= 8; bits += 4) {
        const char *const word[] = { "quantize", path,        "-o",
                                     out,        "--weights", bits == 8 ? "q8" : "q4",
                                     "--spec",   "wide",      "--overwrite" };
        if (!run(9, word)) check_rounded(out, bits);
    }
    unlink(out);
    return !listed;
}
