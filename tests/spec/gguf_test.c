/* SPDX-License-Identifier: MIT
** GGUF: numbers of its types against values worked out by hand, a small file byte by byte, and
** tokenizers as metadata.
*/
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gguf_block.h"
#include "gguf_tokenizer.h"
#include "scratch.h"

static uint16_t one_of(GgufType type, float x) {
    uint16_t half = 0;
    assert_int_equal(gguf_block_pack(type, &x, 1, (unsigned char *)&half), -1);
    return half;
}

/* Nearest, ties to even. */
static void halves_are_rounded(void **state) {
    (void)state;
    assert_int_equal(one_of(GGUF_F16, 1.0f), 0x3c00);
    assert_int_equal(one_of(GGUF_F16, -2.5f), 0xc100);
    assert_int_equal(one_of(GGUF_F16, 1.0f + 0x1p-11f), 0x3c00);
    assert_int_equal(one_of(GGUF_F16, 1.0f + 3 * 0x1p-11f), 0x3c02);
    assert_int_equal(one_of(GGUF_F16, 65504.0f), 0x7bff);
    assert_int_equal(one_of(GGUF_F16, 0x1p-24f), 0x0001);
    assert_int_equal(one_of(GGUF_F16, 0x1p-25f), 0x0000);
    assert_int_equal(one_of(GGUF_F16, 0x1.ff8p-15f), 0x03ff);
    assert_int_equal(one_of(GGUF_F16, 0x1.fffp-15f), 0x0400);
    assert_int_equal(one_of(GGUF_BF16, 1.0f + 0x1p-8f), 0x3f80);
    assert_int_equal(one_of(GGUF_BF16, 1.0f + 3 * 0x1p-8f), 0x3f82);
    float large = 65520.0f;
    uint16_t half;
    assert_int_equal(gguf_block_pack(GGUF_F16, &large, 1, (unsigned char *)&half), 0);
}

static void blocks_share_a_factor(void **state) {
    (void)state;
    float x[GGUF_BLOCK] = { 0 };
    unsigned char bytes[34];
    x[0] = 127, x[1] = -127, x[2] = 1, x[3] = -0.5f, x[4] = 0.4f;
    assert_int_equal(gguf_block_pack(GGUF_Q8_0, x, GGUF_BLOCK, bytes), -1);
    static const unsigned char expected[] = { 0, 0x3c, 127, 0x81, 1, 0xff, 0, 0 };
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_int_equal(gguf_block_differs(GGUF_Q8_0, x, GGUF_BLOCK, bytes), -1);
    bytes[4]++;
    assert_int_equal(gguf_block_differs(GGUF_Q8_0, x, GGUF_BLOCK, bytes), 2);
    memset(x, 0, sizeof x);
    assert_int_equal(gguf_block_pack(GGUF_Q8_0, x, GGUF_BLOCK, bytes), -1);
    assert_int_equal(bytes[0] | bytes[1] | bytes[2] | bytes[33], 0);
    for (GgufType t = GGUF_F32; t <= GGUF_Q8_0; t++) {
        unsigned char all[4 * GGUF_BLOCK];
        for (int i = 0; i < GGUF_BLOCK; i++)
            x[i] = sinf((float)i) * 0.1f;
        assert_int_equal(gguf_block_pack(t, x, GGUF_BLOCK, all), -1);
        assert_int_equal(gguf_block_differs(t, x, GGUF_BLOCK, all), -1);
        x[7] += 0.01f;
        assert_int_equal(gguf_block_differs(t, x, GGUF_BLOCK, all), 7);
    }
}

/* Where a value that no type of 16 or 8 bits holds is said to be. */
static void what_does_not_fit_is_found(void **state) {
    (void)state;
    static const float never[] = { NAN, INFINITY, -INFINITY };
    unsigned char all[4 * GGUF_BLOCK];
    for (GgufType t = GGUF_F16; t <= GGUF_Q8_0; t++)
        for (int i = 0; i < 3 * GGUF_BLOCK; i++) {
            float x[GGUF_BLOCK] = { 1, -2 };
            x[i % GGUF_BLOCK] = never[i / GGUF_BLOCK];
            assert_int_equal(gguf_block_pack(t, x, GGUF_BLOCK, all), i % GGUF_BLOCK);
        }
    float x[GGUF_BLOCK] = { 1, 2, 1e30f };
    assert_int_equal(gguf_block_pack(GGUF_Q8_0, x, GGUF_BLOCK, all), 2);
}

/* A plan of one matrix [2,3] and one vector [2]. */
static void plan_two(void **state, Safetensors *s, StoredTensor stored[2], TensorPlan *plan) {
    static const float matrix[] = { 1, 2, 3, 4, 5, 6 }, vector[] = { 7, 8 };
    char path[SCRATCH_PATH];
    TensorList l = { 0 };
    Error e = { 0 };
    scratch_path(state, "weights", path);
    assert_int_equal(tensors_add(&l, "", "m", DTYPE_F32, 2, (int64_t[]){ 2, 3 }, matrix, &e), 0);
    assert_int_equal(tensors_add(&l, "", "v", DTYPE_F32, 1, (int64_t[]){ 2 }, vector, &e), 0);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, &e), 0);
    tensors_free(&l);
    assert_int_equal(safetensors_open(s, path, &e), 0);
    for (int i = 0; i < 2; i++) {
        TensorView v;
        stored[i] = (StoredTensor){ &s->tensor[i], s, false };
        assert_int_equal(view_stored(&v, &stored[i], &e), 0);
        assert_int_equal(plan_add(plan, s->tensor[i].name, &v, 1, 0, true, &e), 0);
    }
}

static void a_file_is_as_the_format_says(void **state) {
    static const unsigned char expected[] =
        "GGUF\3\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0" /* version, tensors, pairs */
        "\1\0\0\0\0\0\0\0k\4\0\0\0\5\0\0\0"            /* k: uint32 5 */
        "\1\0\0\0\0\0\0\0m\2\0\0\0\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0"
        "\1\0\0\0\0\0\0\0v\1\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\40\0\0\0\0\0\0\0";
    static const unsigned char data[] = "\0\x3c\0\x40\0\x42\0\x44\0\x45\0\x46";
    char path[SCRATCH_PATH];
    Safetensors s;
    StoredTensor stored[2];
    TensorPlan plan = { 0 };
    Gguf g = { 0 };
    Error e = { 0 };
    size_t n;
    plan_two(state, &s, stored, &plan);
    gguf_u32(&g, "k", 5);
    scratch_path(state, "file", path);
    assert_int_equal(gguf_write(&g, &plan, GGUF_F16, path, false, &e), 0);
    assert_int_equal(gguf_compare(&g, &plan, path, &e), 0);
    assert_int_equal(gguf_write(&g, &plan, GGUF_F16, path, false, &e), STATUS_USER);
    char *found = scratch_read(path, &n);
    size_t head = (sizeof expected - 1 + 31) / 32 * 32;
    assert_int_equal(n, head + 32 + 32);
    assert_memory_equal(found, expected, sizeof expected - 1);
    assert_memory_equal(found + head, data, sizeof data - 1);
    found[head + 2]++;
    scratch_write(path, found, n);
    assert_int_equal(gguf_compare(&g, &plan, path, &e), STATUS_INTERNAL);
    free(found);
    text_free(&g.pairs);
    plan_free(&plan);
    safetensors_close(&s);
}

static bool holds(const Gguf *g, const char *bytes, size_t n) {
    return memmem(g->pairs.at, g->pairs.length, bytes, n) != NULL;
}

#define HOLDS(g, text) assert_true(holds(g, text, sizeof text - 1))

#define PARTS                                                                                \
    " \"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"decoder\": {\"type\": \"ByteLevel\"}," \
    " \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2, \"ba\": 3}," \
    " \"merges\": [[\"a\", \"b\"], \"b a\"]}"
static const char tokenizer[] =
    "{\"added_tokens\": [{\"id\": 4, \"content\": \"<|endoftext|>\", \"special\": true}]," PARTS
    "}";

/* It puts a token in front of texts; what its folder said besides. */
static const char begins[] =
    "{\"added_tokens\": [{\"id\": 4, \"content\": \"<|endoftext|>\", \"special\": true},"
    "  {\"id\": 5, \"content\": \"<|im_end|>\", \"special\": true}]," PARTS
    ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\":"
    "  {\"id\": \"B\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}],"
    "  \"special_tokens\": {\"B\": {\"id\": \"B\", \"ids\": [4], \"tokens\": [\"B\"]}}},"
    " \"strata\": {\"tokenizer_config\": {\"eos_token\": \"<|im_end|>\", \"chat_template\": \"{{ "
    "}}\","
    "  \"pad_token\": {\"content\": \"<|endoftext|>\"}}}}";

static void tokenizers_are_metadata(void **state) {
    const char *note;
    char path[SCRATCH_PATH];
    Gguf g = { 0 };
    Error e = { 0 };
    scratch_path(state, "tokenizer.json", path);
    scratch_write(path, tokenizer, sizeof tokenizer - 1);
    assert_int_equal(gguf_tokenizer(&g, path, 6, &note, &e), 0);
    HOLDS(&g, "tokenizer.ggml.pre\10\0\0\0\5\0\0\0\0\0\0\0gpt-2");
    HOLDS(&g, "\2\0\0\0\0\0\0\0ab\2\0\0\0\0\0\0\0ba\15\0\0\0\0\0\0\0<|endoftext|>");
    HOLDS(&g, "\6\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\3\0\0\0\5\0\0\0"); /* types */
    HOLDS(&g, "\3\0\0\0\0\0\0\0a b\3\0\0\0\0\0\0\0b a");
    HOLDS(&g, "tokenizer.ggml.eos_token_id\4\0\0\0\4\0\0\0");
    HOLDS(&g, "tokenizer.ggml.bos_token_id\4\0\0\0\4\0\0\0");
    HOLDS(&g, "tokenizer.ggml.add_bos_token\7\0\0\0\0");
    text_free(&g.pairs);
    g = (Gguf){ 0 };
    scratch_write(path, begins, sizeof begins - 1);
    assert_int_equal(gguf_tokenizer(&g, path, 6, &note, &e), 0);
    HOLDS(&g, "tokenizer.ggml.add_bos_token\7\0\0\0\1");
    HOLDS(&g, "tokenizer.ggml.add_eos_token\7\0\0\0\0");
    HOLDS(&g, "tokenizer.ggml.bos_token_id\4\0\0\0\4\0\0\0");
    HOLDS(&g, "tokenizer.ggml.eos_token_id\4\0\0\0\5\0\0\0");
    HOLDS(&g, "tokenizer.ggml.eot_token_id\4\0\0\0\5\0\0\0");
    HOLDS(&g, "tokenizer.ggml.padding_token_id\4\0\0\0\4\0\0\0");
    HOLDS(&g, "tokenizer.chat_template\10\0\0\0\5\0\0\0\0\0\0\0{{ }}");
    text_free(&g.pairs);
    g = (Gguf){ 0 };
    assert_int_equal(gguf_tokenizer(&g, path, 4, &note, &e), STATUS_USER); /* an id beyond them */
    assert_non_null(strstr(e.text, "expected ids from 0 to 3, found '4'"));
    text_free(&g.pairs);
    g = (Gguf){ 0 };
    gguf_tokenizer_bytes(&g, 257);
    HOLDS(&g, "\2\0\0\0\0\0\0\0\xc4\x80\2\0\0\0\0\0\0\0\xc4\x81"); /* bytes 0 and 1 */
    HOLDS(&g, "\2\0\0\0\0\0\0\0\xc3\xbf\10\0\0\0\0\0\0\0[PAD256]");
    text_free(&g.pairs);
}

/* A fixture's SentencePiece model with more bytes behind it, which are fields too. */
static int pieces_to(Gguf *g, void **state, const char *name, const char *more, size_t n,
                     Error *e) {
    char from[1024], path[SCRATCH_PATH];
    const char *note;
    size_t have;
    Text file = { 0 };
    print_text(from, sizeof from, SOURCE_DIR "/tests/runtime/tokenizers/%s", name);
    char *bytes = scratch_read(from, &have);
    text_bytes(&file, bytes, have);
    text_bytes(&file, more, n);
    scratch_path(state, "tokenizer.model", path);
    scratch_write(path, file.at, file.length);
    text_free(&g->pairs);
    *g = (Gguf){ 0 };
    *e = (Error){ 0 };
    int status = gguf_tokenizer(g, path, 482, &note, e);
    assert_null(note); /* it says so of LlamaTokenizer's folders only */
    free(bytes);
    text_free(&file);
    return status;
}

/* Of a list of 482 floats or integers, which is behind its key. */
static const char *list_at(const Gguf *g, const char *key) {
    const char *at = memmem(g->pairs.at, g->pairs.length, key, strlen(key));
    assert_non_null(at);
    return at + strlen(key) + 4 + 4 + 8;
}

static void pieces_are_metadata(void **state) {
    Gguf g = { 0 };
    Error e;
    float score[482];
    int32_t type[482], count[7] = { 0 };
    assert_int_equal(pieces_to(&g, state, "unigram.model", "", 0, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "found one of type unigram; --to hf takes any"));
    assert_int_equal(pieces_to(&g, state, "bpe.model", "", 0, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "found one that removes spaces"));
    assert_int_equal(pieces_to(&g, state, "bpe.model", "\x1a\x02\x20\x00", 4, &e), 0);
    HOLDS(&g, "tokenizer.ggml.model\10\0\0\0\5\0\0\0\0\0\0\0llama");
    HOLDS(&g, "tokenizer.ggml.add_space_prefix\7\0\0\0\1");
    HOLDS(&g, "tokenizer.ggml.unknown_token_id\4\0\0\0\0\0\0\0");
    HOLDS(&g, "\6\0\0\0\0\0\0\0<0x0A>");
    HOLDS(&g, "[PAD481]");
    memcpy(score, list_at(&g, "tokenizer.ggml.scores"), sizeof score);
    memcpy(type, list_at(&g, "tokenizer.ggml.token_type"), sizeof type);
    for (int i = 0; i < 482; i++) {
        assert_true(type[i] >= 1 && type[i] <= 6);
        count[type[i]]++;
        if (i && type[i] == 1 && type[i - 1] == 1) assert_true(score[i] < score[i - 1]);
    }
    assert_true(count[2] == 1 && count[3] == 2 && count[4] == 2 && count[5] == 2);
    assert_int_equal(count[6], 256);
    text_free(&g.pairs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_are_rounded),
        cmocka_unit_test(pieces_are_metadata),
        cmocka_unit_test(blocks_share_a_factor),
        cmocka_unit_test(what_does_not_fit_is_found),
        cmocka_unit_test(a_file_is_as_the_format_says),
        cmocka_unit_test(tokenizers_are_metadata),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
