/* SPDX-License-Identifier: MIT
** Completion scripts of the shells: each asks the program what to offer (completion.c).
*/
#include "options.h"

#include <string.h>

/* 'text' has the program's name in three forms: NAME as part of a function's name, QUOTED as a word
** of the shell, PLAIN as it is. */
typedef struct Script {
    const char *shell, *text;
    const char *quote; /* what stands for a quote between quotes */
} Script;

/* bash cuts words at '=' and ':', which are words of their own then: they are put together. */
static const char bash[] =
    "_strata_NAME()\n{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} kind line i part glued= words=()\n"
    "    for ((i = 1; i <= COMP_CWORD; i++)); do\n"
    "        part=${COMP_WORDS[i]}\n"
    "        if [[ ${#words[@]} -gt 0 && ( $glued || $part = [=:] ) ]]; then words[-1]+=$part\n"
    "        else words+=(\"$part\")\n"
    "        fi\n"
    "        glued=\n"
    "        [[ $part != [=:] ]] || glued=yes\n"
    "    done\n"
    "    [[ $word != [=:] ]] || word=\n"
    "    local before=${words[-1]%\"$word\"}\n"
    "    COMPREPLY=()\n"
    "    {\n"
    "        read -r kind\n"
    "        while read -r line; do\n"
    "            line=${line%%$'\\t'*}\n"
    "            [[ $line != \"$before$word\"* ]] || COMPREPLY+=(\"${line#\"$before\"}\")\n"
    "        done\n"
    "    } < <(\"${COMP_WORDS[0]}\" __complete \"${words[@]}\" 2>/dev/null)\n"
    "    case $kind in\n"
    "    files) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
    "    folders) mapfile -t COMPREPLY < <(compgen -d -- \"$word\") ;;\n"
    "    specs) mapfile -t COMPREPLY < <(\n"
    "        compgen -f -X '!*.lua' -- \"$word\"; compgen -d -- \"$word\") ;;\n"
    "    *) return ;;\n"
    "    esac\n"
    "    compopt -o filenames 2>/dev/null\n"
    "}\n"
    "complete -F _strata_NAME QUOTED\n";

/* A word and what describes it, in the form that _describe takes. */
static const char zsh[] =
    "#compdef PLAIN\n"
    "_strata_NAME()\n{\n"
    "    local kind line word\n"
    "    local -a lines found\n"
    "    lines=(\"${(@f)$(${(Q)words[1]} __complete \"${(@Q)words[2,CURRENT-1]}\" "
    "\"${(Q)PREFIX}\" 2>/dev/null)}\")\n"
    "    kind=$lines[1]\n"
    "    shift lines\n"
    "    case $kind in\n"
    "    words)\n"
    "        for line in $lines; do\n"
    "            word=${line%%$'\\t'*}\n"
    "            word=${${word//\\\\/\\\\\\\\}//:/\\\\:}\n"
    "            [[ $line != *$'\\t'* ]] || word+=:${line#*$'\\t'}\n"
    "            found+=(\"$word\")\n"
    "        done\n"
    "        _describe word found ;;\n"
    "    files) _files ;;\n"
    "    folders) _files -/ ;;\n"
    "    specs) _path_files -g '*.lua(-.) *(-/)' ;;\n"
    "    esac\n"
    "}\n"
    "if [[ $funcstack[1] = _QUOTED ]]; then _strata_NAME \"$@\"\n"
    "else compdef _strata_NAME QUOTED\n"
    "fi\n";

static const char fish[] =
    "function __strata_NAME\n"
    "    set -l words (commandline -opc)\n"
    "    set -l program $words[1]\n"
    "    set -e words[1]\n"
    "    set -l word (commandline -ct)\n"
    "    set -l lines ($program __complete $words \"$word\" 2>/dev/null)\n"
    "    set -l kind $lines[1]\n"
    "    set -e lines[1]\n"
    "    switch \"$kind\"\n"
    "        case words\n"
    "            printf '%s\\n' $lines\n"
    "        case files\n"
    "            complete -C \"'' $word\"\n"
    "        case folders\n"
    "            __fish_complete_directories \"$word\"\n"
    "        case specs\n"
    "            string match -r '^.*(?:/|\\.lua)(?:\\t.*)?$' -- (complete -C \"'' $word\")\n"
    "    end\n"
    "end\n"
    "complete -c QUOTED -f -a '(__strata_NAME)'\n";

static const Script scripts[] = {
    { "bash", bash, "'\\''" },
    { "zsh", zsh, "'\\''" },
    { "fish", fish, "\\'" }, /* it takes backslashes for its own between quotes */
};

/* Letters and digits of a name, '_' for others. */
static void scripts_add_name(Text *t, const char *program) {
    for (const char *s = program; *s; s++) {
        bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z')
            || (*s >= '0' && *s <= '9');
        text_add(t, "%c", letter ? *s : '_');
    }
}

static void add_quoted(Text *t, const char *program, const char *quote) {
    bool own = *quote == '\\';
    text_add(t, "'");
    for (const char *s = program; *s; s++) {
        if (*s == '\'') text_add(t, "%s", quote);
        else if (*s == '\\' && own) text_add(t, "\\\\");
        else text_bytes(t, s, 1);
    }
    text_add(t, "'");
}

static void add_script(Text *t, const Script *s, const char *program) {
    for (const char *at = s->text; *at;) {
        size_t n = strcspn(at, "NQP");
        text_bytes(t, at, n);
        at += n;
        if (!strncmp(at, "NAME", 4)) scripts_add_name(t, program), at += 4;
        else if (!strncmp(at, "QUOTED", 6)) add_quoted(t, program, s->quote), at += 6;
        else if (!strncmp(at, "PLAIN", 5)) text_add(t, "%s", program), at += 5;
        else if (*at) text_bytes(t, at++, 1);
    }
}

int options_completion(Text *t, const OptionTable *table, const char *program, const char *shell,
                       Error *e) {
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (strcmp(shell, scripts[i].shell) == 0) return add_script(t, &scripts[i], program), 0;
    return error_set(e, STATUS_USAGE, "%s%scompletion: expected bash, zsh or fish, found '%s'",
                     table->title, *table->title ? " " : "", shell);
}
