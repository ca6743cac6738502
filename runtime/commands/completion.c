/*
** Completion scripts for bash, zsh and fish, from options.def: commands, their
** options, and the words of choices; files where an option takes one.
*/
#include "options.h"

#include <string.h>

static bool takes_file(const OptionRow *r) {
    return r->kind == OPTION_IS_FILE || r->kind == OPTION_IS_FILES;
}

/* The program's name as part of a shell function's. */
static void identifier(Text *t, const char *program) {
    text_add(t, "_strata_");
    for (const char *s = program; *s; s++)
        text_add(t, "%c",
                 (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9')
                     ? *s
                     : '_');
}

/* In single quotes, for all three shells. */
static void quoted(Text *t, const char *s) {
    text_add(t, "'");
    for (; *s; s++) {
        if (*s == '\'') text_add(t, "'\\''");
        else text_bytes(t, s, 1);
    }
    text_add(t, "'");
}

/* For zsh, an option's description inside [ ]. */
static void described(Text *t, const char *s) {
    for (; *s; s++) {
        if (strchr("[]:\\", *s)) text_add(t, "\\");
        if (*s == '\'') text_add(t, "'\\''");
        else text_bytes(t, s, 1);
    }
}

/* "a|b" as "a b". */
static void words(Text *t, const char *list) {
    for (; *list; list++)
        text_add(t, "%c", *list == '|' ? ' ' : *list);
}

static void bash_script(Text *t, const char *program) {
    identifier(t, program);
    text_add(t,
             "()\n{\n    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
             "options=\n"
             "    COMPREPLY=()\n    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        "
             "COMPREPLY=($(compgen -W '");
    for (int i = 0; i < COMMANDS; i++)
        text_add(t, "%s ", command_table[i].name);
    text_add(t,
             "--help --version' -- \"$word\"))\n        return\n    fi\n    case "
             "${COMP_WORDS[1]}$before in\n");
    for (int c = 0; c < COMMANDS; c++)
        for (int i = 0; i < OPTIONS; i++)
            if ((option_table[i].commands >> c & 1) && option_table[i].kind == OPTION_IS_CHOICE) {
                text_add(t, "    %s--%s) COMPREPLY=($(compgen -W '", command_table[c].name,
                         option_table[i].name);
                words(t, option_table[i].argument);
                text_add(t, "' -- \"$word\")); return ;;\n");
            }
    text_add(t, "    esac\n    case ${COMP_WORDS[1]} in\n");
    for (int c = 0; c < COMMANDS; c++) {
        text_add(t, "    %s) options='", command_table[c].name);
        words(t, command_table[c].positional);
        for (int i = 0; i < OPTIONS; i++)
            if (option_table[i].commands >> c & 1) text_add(t, " --%s", option_table[i].name);
        text_add(t, " --help' ;;\n");
    }
    text_add(t,
             "    esac\n    case $word in\n    -*) COMPREPLY=($(compgen -W \"$options\" -- "
             "\"$word\")) ;;\n"
             "    *) COMPREPLY=($(compgen -W \"${options%%%% --*}\" -- \"$word\") $(compgen -f -- "
             "\"$word\")) ;;\n"
             "    esac\n}\ncomplete -o filenames -F ");
    identifier(t, program);
    text_add(t, " ");
    quoted(t, program);
    text_add(t, "\n");
}

static void zsh_option(Text *t, const OptionRow *r) {
    text_add(t, " \\\n            '%s--%s%s[", r->kind == OPTION_IS_FILES ? "*" : "", r->name,
             r->kind == OPTION_IS_FLAG ? "" : "=");
    described(t, r->help);
    text_add(t, "]");
    if (r->kind != OPTION_IS_FLAG) {
        text_add(t, ":");
        described(t, r->kind == OPTION_IS_CHOICE ? r->name : r->argument);
        text_add(t, ":");
        if (takes_file(r)) text_add(t, "_files");
        if (r->kind == OPTION_IS_CHOICE) {
            text_add(t, "(");
            words(t, r->argument);
            text_add(t, ")");
        }
    }
    text_add(t, "'");
}

static void zsh_script(Text *t, const char *program) {
    text_add(t, "#compdef %s\n", program);
    identifier(t, program);
    text_add(t, "()\n{\n    local -a commands\n    commands=(\n");
    for (int i = 0; i < COMMANDS; i++) {
        text_add(t, "        '%s:", command_table[i].name);
        described(t, command_table[i].summary);
        text_add(t, "'\n");
    }
    text_add(t,
             "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        "
             "return\n    fi\n"
             "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command "
             "in\n");
    for (int c = 0; c < COMMANDS; c++) {
        text_add(t, "    %s)\n        _arguments", command_table[c].name);
        for (int i = 0; i < OPTIONS; i++)
            if (option_table[i].commands >> c & 1) zsh_option(t, &option_table[i]);
        if (*command_table[c].positional) {
            text_add(t, " '1:shell:(");
            words(t, command_table[c].positional);
            text_add(t, ")'");
        }
        text_add(t, " '--help[this text]' ;;\n");
    }
    text_add(t, "    esac\n}\ncompdef ");
    identifier(t, program);
    text_add(t, " ");
    quoted(t, program);
    text_add(t, "\n");
}

static void fish_script(Text *t, const char *program) {
    for (int c = 0; c < COMMANDS; c++) {
        text_add(t, "complete -c ");
        quoted(t, program);
        text_add(t, " -n __fish_use_subcommand -f -a %s -d ", command_table[c].name);
        quoted(t, command_table[c].summary);
        text_add(t, "\n");
        if (*command_table[c].positional) {
            text_add(t, "complete -c ");
            quoted(t, program);
            text_add(t, " -n '__fish_seen_subcommand_from %s' -f -a '", command_table[c].name);
            words(t, command_table[c].positional);
            text_add(t, "'\n");
        }
    }
    for (int i = 0; i < OPTIONS; i++) {
        const OptionRow *r = &option_table[i];
        text_add(t, "complete -c ");
        quoted(t, program);
        text_add(t, " -n '__fish_seen_subcommand_from");
        for (int c = 0; c < COMMANDS; c++)
            if (r->commands >> c & 1) text_add(t, " %s", command_table[c].name);
        text_add(t, "' -l %s%s -d ", r->name,
                 takes_file(r)                   ? " -r -F"
                     : r->kind == OPTION_IS_FLAG ? " -f"
                                                 : " -x");
        quoted(t, r->help);
        if (r->kind == OPTION_IS_CHOICE) {
            text_add(t, " -a '");
            words(t, r->argument);
            text_add(t, "'");
        }
        text_add(t, "\n");
    }
}

int options_completion(Text *t, const char *program, const char *shell, Error *e) {
    if (strcmp(shell, "bash") == 0) bash_script(t, program);
    else if (strcmp(shell, "zsh") == 0) zsh_script(t, program);
    else if (strcmp(shell, "fish") == 0) fish_script(t, program);
    else
        return error_set(e, STATUS_USAGE, "completion: expected bash, zsh or fish, found '%s'",
                         shell);
    return STATUS_OK;
}
