/* SPDX-License-Identifier: MIT
** bash's completion script: a function that walks the words (completion.h).  bash cuts them at
** '=' and ':' too, which are words of their own then.
*/
#include "completion.h"

#include <string.h>

static const char *const wanted_name[] = {
    [WANTS_NOTHING] = "none",  [WANTS_LIST] = "list", [WANTS_FILE] = "file",
    [WANTS_FOLDER] = "folder", [WANTS_SPEC] = "spec",
};

/* 'run/train --data' */
static void pattern(Text *t, const char *before, const char *command, const char *option) {
    text_add(t, "'%s", before);
    completion_within_quotes(t, command, strlen(command));
    text_add(t, " ");
    completion_within_quotes(t, option, strlen(option));
    text_add(t, "'");
}

/* An option by all its names in all its commands; behind a spec it is the outer command's. */
static void patterns(Text *t, const CompletionLevel *l, int option) {
    const OptionRow *r = &l->table->option[option];
    char name[32], letter[3] = { '-', option_letter(l->table, option), 0 };
    const char *between = "        ";
    option_name(name, r);
    for (int c = 0; c < l->table->commands; c++) {
        if (!option_is_in(r, c)) continue;
        text_add(t, "%s", between);
        between = " | ";
        pattern(t, l->prefix, l->table->command[c].name, name);
        if (letter[1]) text_add(t, " | ");
        if (letter[1]) pattern(t, l->prefix, l->table->command[c].name, letter);
        if (c != l->outer || r->kind != OPTION_IS_PAIR) continue;
        text_add(t, " | '%s/ %s'", l->table->command[c].name, name);
    }
}

static void values(Text *t, const CompletionLevel *l) {
    for (int i = 0; i < l->table->options; i++) {
        const OptionRow *r = &l->table->option[i];
        if (!completion_takes_value(r) || !r->commands) continue;
        Wanted w = completion_value(r);
        patterns(t, l, i);
        text_add(t, ") wants=%s",
                 r->kind == OPTION_IS_FILES && w != WANTS_NOTHING ? "files" : wanted_name[w]);
        if (r->kind == OPTION_IS_FILES && w == WANTS_NOTHING) text_add(t, "s");
        if (w == WANTS_LIST) {
            text_add(t, " list='");
            completion_quoted_words(t, option_argument(r));
            text_add(t, "'");
        }
        if (option_is_optional(r)) text_add(t, "; [ \"${COMP_WORDS[at+1]}\" = = ] || wants=");
        text_add(t, " ;;\n");
    }
}

static void commands(Text *t, const CompletionLevel *l) {
    text_add(t, "    '%s') first=list words='", l->prefix);
    completion_commands(t, l->table);
    text_add(t, "'; options=$words ;;\n");
    for (int c = 0; c < l->table->commands; c++) {
        const CommandRow *row = &l->table->command[c];
        if (!completion_shows(row)) continue;
        Wanted first = completion_first(row);
        text_add(t, "    '%s", l->prefix);
        completion_within_quotes(t, row->name, strlen(row->name));
        text_add(t, "') first=%s rest=%s", wanted_name[first], wanted_name[completion_rest(row)]);
        if (first == WANTS_LIST) {
            text_add(t, " words='");
            completion_quoted_words(t, row->arguments);
            text_add(t, "'");
        }
        text_add(t, "\n        options='");
        for (int i = 0; i < l->table->options; i++)
            if (option_is_in(&l->table->option[i], c)) {
                completion_option(t, l->table, i);
                text_add(t, " ");
            }
        text_add(t, "--help' ;;\n");
    }
}

/* One word in front of the cursor: an option, the value of one, a command or a word of one. */
static void walk(Text *t, const Completion *c) {
    text_add(t,
             "    for ((at = 1; at < end; at++)); do\n"
             "        before=${COMP_WORDS[at]}\n"
             "        case $before in = | :)\n"
             "            if ((at + 1 < end)); then\n"
             "                ((at++))\n"
             "                [[ $wants = *s ]] || wants=\n"
             "            elif [[ ${COMP_WORDS[at-1]} != -* ]]; then\n"
             "                wants=none\n"
             "            fi\n"
             "            continue ;;\n"
             "        esac\n"
             "        case \"$in $before\" in\n");
    for (int i = 0; i < c->levels; i++)
        values(t, &c->level[i]);
    text_add(t,
             "        \"$in -\"*) wants= ;;\n"
             "        *)\n"
             "            if [ -n \"$wants\" ]; then [[ $wants = *s ]] || wants=\n"
             "            elif [[ -z $in || $in = */ ]]; then in=$in$before n=0\n");
    if (c->levels > 1)
        text_add(t, "            elif [ \"$in\" = %.*s ]; then in=%s\n",
                 (int)strlen(c->level[1].prefix) - 1, c->level[1].prefix, c->level[1].prefix);
    text_add(t,
             "            else n=1\n"
             "            fi ;;\n"
             "        esac\n"
             "    done\n");
}

static const char ending[] =
    "    esac\n"
    "    if [[ $word = -* && ( -z $wants || $wants = *s ) ]]; then wants=list list=$options\n"
    "    elif [ -z \"$wants\" ]; then\n"
    "        wants=$first list=$words\n"
    "        [ \"$n\" -eq 0 ] || wants=$rest\n"
    "    fi\n"
    "    case $wants in\n"
    "    list) mapfile -t COMPREPLY < <(compgen -W \"$list\" -- \"$word\"); return ;;\n"
    "    file | files) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
    "    folder) mapfile -t COMPREPLY < <(compgen -d -- \"$word\") ;;\n"
    "    spec) mapfile -t COMPREPLY < <(\n"
    "        compgen -f -X '!*.lua' -- \"$word\"; compgen -d -- \"$word\") ;;\n"
    "    *) return ;;\n"
    "    esac\n"
    "    compopt -o filenames 2>/dev/null\n"
    "}\ncomplete -F ";

void completion_bash(Text *t, const Completion *c) {
    completion_function(t, c->program);
    text_add(t,
             "()\n{\n"
             "    local word=${COMP_WORDS[COMP_CWORD]} end=$COMP_CWORD in= at before n=0\n"
             "    local wants= list= first=none rest=none words= options=\n"
             "    COMPREPLY=()\n"
             "    case $word in = | :) word= end=$((end + 1)) ;; esac\n");
    walk(t, c);
    text_add(t, "    case $in in\n");
    for (int i = 0; i < c->levels; i++)
        commands(t, &c->level[i]);
    text_add(t, "%s", ending);
    completion_function(t, c->program);
    text_add(t, " ");
    completion_quoted(t, c->program);
    text_add(t, "\n");
}
