/* SPDX-License-Identifier: MIT
** tokenizer.json. What is accepted keeps the promises of tokenizer_promises.h. */
#include <string.h>

#include "fuzz.h"
#include "tokenizer_promises.h"

const int fuzz_bytes = 6;
const char *const fuzz_words[] = { "\"type\":\"",
                                   "\"Split\"",
                                   "\"ByteLevel\"",
                                   "\"Metaspace\"",
                                   "\"Sequence\"",
                                   "\"Digits\"",
                                   "\"NFKC\"",
                                   "\"Replace\"",
                                   "\"Regex\"",
                                   "\"String\"",
                                   "\"Removed\"",
                                   "\"MergedWithNext\"",
                                   "\"MergedWithPrevious\"",
                                   "\"invert\":true",
                                   "\\\\s+",
                                   "\\\\p{Han}",
                                   "[^a&&[b]]",
                                   "(?=a)*",
                                   "{1,3}+",
                                   "\"unk_token\":\"a\",",
                                   "\"fuse_unk\":true,",
                                   "\"byte_fallback\":true,",
                                   "\"ignore_merges\":true,",
                                   "\"lstrip\":true,",
                                   "\"single_word\":true,",
                                   "\xe2\x96\x81",
                                   "\xc4\xa0",
                                   "4194303",
                                   "\"unk_id\":0,",
                                   "\"Precompiled\"",
                                   "-1e308",
                                   "null",
                                   NULL };

void fuzz_repair(FuzzInput *f) { (void)f; }

#define BYTE_LEVEL                                                                               \
    "{\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"Sequence\","               \
    "\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[^\\\\s]+|\\\\s+\"},"       \
    "\"behavior\":\"Isolated\",\"invert\":false},{\"type\":\"Digits\"},{\"type\":\"ByteLevel\"," \
    "\"add_prefix_space\":true,\"use_regex\":true}]},\"decoder\":{\"type\":\"ByteLevel\"},"      \
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":" \
    "\"s\"}},{\"Sequence\":{\"id\":\"A\"}}],\"special_tokens\":{\"s\":{\"ids\":[9]}}},"          \
    "\"added_tokens\":[{\"id\":9,\"content\":\"<s>\",\"special\":true},{\"id\":8,\"content\":"   \
    "\"<n>\",\"lstrip\":true,\"rstrip\":true,\"normalized\":true,\"single_word\":true}],"        \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"\xc4\xa0\":3,\"\xc4\xa0"  \
    "a\":4,\"1\":5,\"\xc3\x83\":6},\"merges\":[\"a b\",[\"\xc4\xa0\",\"a\"]]}}"
#define UNIGRAM                                                                                   \
    "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"\"},\"pre_tokenizer\":" \
    "{\"type\":\"Metaspace\"},\"decoder\":{\"type\":\"Metaspace\"},\"model\":{\"type\":"          \
    "\"Unigram\",\"unk_id\":0,\"byte_fallback\":false,\"vocab\":[[\"<unk>\",0],[\"a\",-1],"       \
    "[\"ab\",-2.5],[\"\xe2\x96\x81\",-3],[\"\xe2\x96\x81"                                         \
    "a\",-2]]}}"
#define METASPACE                                                                                \
    "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":" \
    "\"\xe2\x96\x81\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2"  \
    "\x96\x81\"},{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a+\"},\"content\":\"a\"}]},"     \
    "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"prepend_scheme\":\"first\"},\"decoder\":{"      \
    "\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"\xe2"   \
    "\x96\x81\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},{\"type\":"  \
    "\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]},\"model\":{\"type\":\"BPE\","         \
    "\"unk_token\":\"u\",\"fuse_unk\":true,\"byte_fallback\":true,\"vocab\":{\"u\":0,\"a\":1,"   \
    "\"\xe2\x96\x81\":2,\"\xe2\x96\x81"                                                          \
    "a\":3,\"<0xC3>\":4,\"<0xA9>\":5},\"merges\":[\"\xe2\x96\x81 a\"]}}"

size_t fuzz_seed(size_t k, unsigned char *to) {
    static const char *const valid[] = { BYTE_LEVEL, METASPACE, UNIGRAM };
    if (k >= sizeof valid / sizeof *valid) return 0;
    memcpy(to, valid[k], strlen(valid[k]));
    return strlen(valid[k]);
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    return tokenizer_promises((const char *)bytes, n, NULL, NULL);
}
