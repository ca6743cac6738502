/* strata completion: scripts for bash, zsh and fish, from the table of commands. */
#include "command.h"

#include <stdio.h>
#include <string.h>

/* "a|b" as "a b". */
static void words(const char *list) {
    list += *list == '=';
    for (; *list; list++)
        putchar(*list == '|' ? ' ' : *list);
}

static bool is_choice(const Flag *f) { return f->argument && strchr(f->argument, '|'); }
/* and joined */
static bool is_optional(const Flag *f) { return f->argument && *f->argument == '='; }
static bool is_level(const Flag *f) { return !strcmp(f->name, "-O"); }

/* For single quotes in all three shells. */
static void quoted(const char *s) {
    putchar('\'');
    for (; *s; s++)
        if (*s == '\'') fputs("'\\''", stdout);
        else putchar(*s);
    putchar('\'');
}

static void flag_names(const Command *c) {
    for (const Flag *f = c->flags; f && f->name; f++)
        printf(" %s", is_level(f) ? "-O0 -O1 -O2 -O3" : f->name);
}

static void bash_script(void) {
    printf("_strata()\n{\n    local word=${COMP_WORDS[COMP_CWORD]} "
           "before=${COMP_WORDS[COMP_CWORD-1]} options=\n"
           "    COMPREPLY=()\n    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen "
           "-W '");
    for (int i = 0; i < ncommands; i++)
        if (commands[i].run) printf("%s ", commands[i].name);
    printf("--help --version' -- \"$word\"))\n        return\n    fi\n    case "
           "${COMP_WORDS[1]}$before in\n");
    for (int i = 0; i < ncommands; i++)
        for (const Flag *f = commands[i].flags; f && f->name; f++) {
            if (!is_choice(f) || is_level(f) || is_optional(f)) continue;
            printf("    %s%s) COMPREPLY=($(compgen -W '", commands[i].name, f->name);
            words(f->argument);
            printf("' -- \"$word\")); return ;;\n");
        }
    printf("    completion*) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$word\")); return ;;\n   "
           " esac\n    case ${COMP_WORDS[1]} in\n");
    for (int i = 0; i < ncommands; i++) {
        if (!commands[i].run) continue;
        printf("    %s) options='--help", commands[i].name);
        flag_names(&commands[i]);
        printf("' ;;\n");
    }
    printf("    esac\n    case $word in\n    -*) COMPREPLY=($(compgen -W \"$options\" -- "
           "\"$word\")) ;;\n"
           "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n    esac\n}\ncomplete -o filenames "
           "-F _strata strata\n");
}

/* For zsh, inside single quotes: what describes a command or an option. */
static void described(const char *s) {
    for (; *s; s++) {
        if (strchr("[]:\\", *s)) putchar('\\');
        if (*s == '\'') fputs("'\\''", stdout);
        else putchar(*s);
    }
}

static void zsh_flag(const Flag *f) {
    if (is_level(f)) {
        printf(" '(-O0 -O1 -O2 -O3)'{-O0,-O1,-O2,-O3}'[optimisation level]'");
        return;
    }
    printf(" '%s%s[", f->name, is_optional(f) ? "=-" : f->argument && f->name[1] == '-' ? "=" : "");
    described(f->help);
    printf("]");
    if (is_choice(f))
        printf("%s:value:(", is_optional(f) ? ":" : ""), words(f->argument), printf(")");
    else if (f->argument)
        printf(":%s:%s", f->argument, !strcmp(f->argument, "FILE") ? "_files" : "");
    printf("'");
}

static void zsh_script(void) {
    printf("#compdef strata\n_strata()\n{\n    local -a commands\n    commands=(\n");
    for (int i = 0; i < ncommands; i++) {
        if (!commands[i].run) continue;
        printf("        '%s:", commands[i].name);
        described(commands[i].help);
        printf("'\n");
    }
    printf(
        "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        "
        "return\n    fi\n"
        "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in\n"
        "    completion) _arguments '1:shell:(bash zsh fish)' ;;\n");
    for (int i = 0; i < ncommands; i++) {
        if (!commands[i].run || commands[i].run == command_completion) continue;
        printf("    %s) _arguments '1:spec:_files -g \"*.lua\"' '--help[this text]'",
               commands[i].name);
        for (const Flag *f = commands[i].flags; f && f->name; f++)
            zsh_flag(f);
        printf(" ;;\n");
    }
    printf("    esac\n}\ncompdef _strata strata\n");
}

static void fish_flag(const Command *c, const Flag *f) {
    if (is_level(f)) {
        printf("complete -c strata -n '__fish_seen_subcommand_from %s' -f -a '-O0 -O1 -O2 -O3'\n",
               c->name);
        return;
    }
    bool plain = f->name[1] != '-', file = f->argument && !strcmp(f->argument, "FILE");
    printf("complete -c strata -n '__fish_seen_subcommand_from %s' %s %s%s -d ", c->name,
           plain ? "-s" : "-l", f->name + (plain ? 1 : 2),
           file                                 ? " -r -F"
               : f->argument && !is_optional(f) ? " -x"
                                                : " -f");
    quoted(f->help);
    if (is_choice(f) && !is_optional(f)) printf(" -a '"), words(f->argument), printf("'");
    printf("\n");
}

static void fish_script(void) {
    for (int i = 0; i < ncommands; i++) {
        const Command *c = &commands[i];
        if (!c->run) continue;
        printf("complete -c strata -n __fish_use_subcommand -f -a %s -d ", c->name);
        quoted(c->help);
        printf("\n");
        for (const Flag *f = c->flags; f && f->name; f++)
            fish_flag(c, f);
    }
    printf(
        "complete -c strata -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n");
}

int command_completion(int argc, char **argv, Error *e) {
    static const struct {
        const char *name;
        void (*print)(void);
    } shell[] = {
        { "bash", bash_script },
        { "zsh", zsh_script },
        { "fish", fish_script },
    };
    for (int i = 0; argc == 2 && i < 3; i++)
        if (!strcmp(argv[1], shell[i].name)) return shell[i].print(), STATUS_OK;
    return error_set(e, STATUS_USAGE, "strata completion: expected bash, zsh or fish, found %s%s%s",
                     argc < 2 ? "nothing" : "'", argc < 2 ? "" : argv[argc - 1],
                     argc < 2 ? "" : "'");
}
