/* SPDX-License-Identifier: MIT
** For tests of text_facts.h: a small tokenizer.json, and files with the object. */
#ifndef STRATA_TEXT_OBJECT_TEST_H
#define STRATA_TEXT_OBJECT_TEST_H

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer_file.h"

#define FOLDER SOURCE_DIR "/tests/runtime/tokenizers/"

static char *read_whole(const char *name, size_t *length) {
    char path[512];
    print_text(path, sizeof path, FOLDER "%s", name);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s: cannot open", path);
    fseek(f, 0, SEEK_END);
    *length = (size_t)ftell(f);
    rewind(f);
    char *all = malloc(*length + 1);
    assert_int_equal(fread(all, 1, *length, f), *length);
    fclose(f);
    return all;
}

/* Ids 0 … 5: <a> <b> <c> <d> <s> </s>, then bytes' pieces; %s: a post-processor. */
#define JSON(post)                                                               \
    "{\"added_tokens\": ["                                                       \
    "{\"id\": 0, \"content\": \"<a>\", \"special\": true},"                      \
    "{\"id\": 1, \"content\": \"<b>\", \"special\": true},"                      \
    "{\"id\": 2, \"content\": \"<c>\", \"special\": true},"                      \
    "{\"id\": 3, \"content\": \"<|endoftext|>\", \"special\": true},"            \
    "{\"id\": 4, \"content\": \"<s>\", \"special\": true},"                      \
    "{\"id\": 5, \"content\": \"</s>\", \"special\": true}],"                    \
    "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}," \
    "\"decoder\": {\"type\": \"ByteLevel\"}, " post                              \
    "\"model\": {\"type\": \"BPE\", \"merges\": [],"                             \
    " \"vocab\": {\"x\": 6, \"y\": 7}}\n}\n"
static const char plain[] = JSON("");
static int read_with(Tokenizer *t, const char *bytes, size_t length, const char *object, Error *e) {
    Text said = { 0 }, file = { 0 };
    text_add(&said, "%s", object);
    int status = text_object_put(&file, "t", bytes, length, &said, e);
    if (!status) status = tokenizer_parse(t, "t", file.at, file.length, e);
    text_free(&said);
    text_free(&file);
    return status;
}

#define CONFIG(text) "\"config\": {" text "}"
#define GENERATION(text) "\"generation_config\": {" text "}"
#define TOKENIZER(text) "\"tokenizer_config\": {" text "}"
#define MAP(text) "\"special_tokens_map\": {" text "}"

#endif
