/* SPDX-License-Identifier: MIT
** See tokenizer_command.h. */
#include "tokenizer_command.h"

#include "nearest.h"

#include <string.h>

static const struct {
    const char *name;
    int (*run)(const Options *o, Error *e);
} command_part[] = {
    { "train", tokenizer_train },
    { "encode", tokenizer_encode_texts },
    { "decode", tokenizer_decode_ids },
    { "info", tokenizer_info },
};
enum { PARTS = sizeof command_part / sizeof *command_part };

/* Which options a part has: the names of those parts, in which its name is looked for. */
static const struct {
    int option;
    const char *parts;
} belongs[] = {
    { STRATA_OPTION_VOCAB, "train" },
    { STRATA_OPTION_PATTERN, "train" },
    { STRATA_OPTION_SPECIAL, "train" },
    { STRATA_OPTION_TOKENIZER_OUTPUT, "train" },
    { STRATA_OPTION_BARE, "encode" },
    { STRATA_OPTION_TOKENS_BOS, "encode" },
    { STRATA_OPTION_SHOW_SPECIAL, "decode" },
    { STRATA_OPTION_TOKENIZER_JSON, "encode, decode, info" },
};

static int command_check_options(const Options *o, const char *name, Error *e) {
    char option[32];
    for (size_t i = 0; i < sizeof belongs / sizeof *belongs; i++)
        if (option_of(o, belongs[i].option)->given && !strstr(belongs[i].parts, name))
            return error_set(e, STATUS_USAGE, "strata tokenizer %s: expected no %s, which is of %s",
                             name, option_name(option, &o->table->option[belongs[i].option]),
                             belongs[i].parts);
    return STATUS_OK;
}

int command_tokenizer(const Options *o, Error *e) {
    const char *name[PARTS], *word = o->words ? o->word[0] : NULL;
    for (int i = 0; i < PARTS; i++) {
        name[i] = command_part[i].name;
        if (!word || strcmp(word, name[i])) continue;
        int status = command_check_options(o, name[i], e);
        return status ? status : command_part[i].run(o, e);
    }
    const char *near = word ? nearest_name(word, name, PARTS) : NULL;
    return error_set(e, STATUS_USAGE,
                     "strata tokenizer: expected train, encode, decode or info, found %s%s%s%s%s%s",
                     word ? "'" : "nothing", word ? word : "", word ? "'" : "",
                     near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "");
}
