/* SPDX-License-Identifier: MIT
** See bpe_file.h. */
#include "bpe_file.h"

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
#define LETTERS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define REST " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

const BpePattern bpe_pattern[] = {
    { "gpt2", "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
      true },
    { "llama3", CONTRACTIONS LETTERS "\\p{N}{1,3}|" REST, false },
    { "qwen2", CONTRACTIONS LETTERS "\\p{N}|" REST, false },
};

static void bpe_file_add_token(Text *t, const BpeVocabulary *v, int64_t id) {
    text_json_string(t, words_text(&v->token, id));
}

static void add_special(Text *t, const BpeVocabulary *v, int special) {
    text_add(t, "  \"added_tokens\": [");
    for (int i = 0; i < special; i++) {
        text_add(t, "%s\n    {\"id\": %d, \"content\": ", i ? "," : "", i);
        bpe_file_add_token(t, v, i);
        text_add(t,
                 ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
                 "\"normalized\": false, \"special\": true}");
    }
    text_add(t, "%s],\n", special ? "\n  " : "");
}

static void add_pre_tokenizer(Text *t, const BpePattern *pattern) {
    text_add(t, "  \"pre_tokenizer\": ");
    if (!pattern->byte_level) {
        text_add(t,
                 "{\"type\": \"Sequence\", \"pretokenizers\": [\n"
                 "    {\"type\": \"Split\", \"pattern\": {\"Regex\": ");
        text_json_string(t, pattern->regex);
        text_add(t, "}, \"behavior\": \"Isolated\", \"invert\": false},\n    ");
    }
    text_add(t,
             "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, "
             "\"use_regex\": %s}%s,\n",
             pattern->byte_level ? "true" : "false", pattern->byte_level ? "" : "\n  ]}");
}

static void add_model(Text *t, const BpeVocabulary *v) {
    text_add(t,
             "  \"model\": {\n    \"type\": \"BPE\", \"dropout\": null, \"unk_token\": null,\n"
             "    \"continuing_subword_prefix\": null, \"end_of_word_suffix\": null,\n"
             "    \"fuse_unk\": false, \"byte_fallback\": false, \"ignore_merges\": false,\n"
             "    \"vocab\": {");
    for (int64_t i = 0; i < v->token.words; i++) {
        text_add(t, i ? ",\n      " : "\n      ");
        bpe_file_add_token(t, v, i);
        text_add(t, ": %lld", (long long)i);
    }
    text_add(t, "\n    },\n    \"merges\": [");
    for (int64_t i = 0; i < v->merges; i++) {
        text_add(t, i ? ",\n      [" : "\n      [");
        bpe_file_add_token(t, v, v->merge[i].left);
        text_add(t, ", ");
        bpe_file_add_token(t, v, v->merge[i].right);
        text_add(t, "]");
    }
    text_add(t, "%s]\n  }\n", v->merges ? "\n    " : "");
}

void bpe_file_text(Text *t, const BpeVocabulary *v, int special, const BpePattern *pattern) {
    text_add(t, "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n");
    add_special(t, v, special);
    text_add(t, "  \"normalizer\": null,\n");
    add_pre_tokenizer(t, pattern);
    text_add(t,
             "  \"post_processor\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
             "\"trim_offsets\": false, \"use_regex\": true},\n"
             "  \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
             "\"trim_offsets\": true, \"use_regex\": true},\n");
    add_model(t, v);
    text_add(t, "}\n");
}
