/* SPDX-License-Identifier: MIT
** Completion scripts: every shell reads those of every table, and offers what it should.  The
** shells run in a folder that has m.lua, notes.txt and sub/, with their scripts beside it.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program_options.h"
#include "strata_options.h"

/* A table whose texts are all that shells take for their own. */
static const CommandRow odd_command[] = {
    { "it's", "a'b|c:d|[e]", ONE_WORD, "a shell's [words]: $(x) `y` \"z\" \\", "" },
    { "a:b[c]", "SPEC", ANY_WORDS, "brackets ] and ' : \\", "" },
    { "later", "", NOT_YET, "isn't here", "" },
};
static const OptionRow odd_option[] = {
    { "it's[all]:of", OPTION_IS_CHOICE, "don't|x:y|[z]", 0, 0, "", 3,
      "'quotes', [brackets]: $(x) \\" },
    { "joined", OPTION_IS_CHOICE, "=don't|x:y", 0, 0, "", 1, "it's: [optional]" },
    { "O", OPTION_IS_CHOICE, "0|1", 0, 0, "", 2, "a level's [help]: '" },
    { "file", OPTION_IS_FILE, "FILE's:[x]", 0, 0, "", 3, "':[]" },
    { "flag", OPTION_IS_FLAG, "", 0, 0, "", 2, "]['" },
};
static void no_limits(Text *t, int command) { text_add(t, "\nnone of %d\n", command); }
static const OptionTable odd_options = {
    .title = "odd",
    .command = odd_command,
    .option = odd_option,
    .commands = sizeof odd_command / sizeof *odd_command,
    .options = sizeof odd_option / sizeof *odd_option,
    .closing = "",
    .limits = no_limits,
};
static const OptionTable *const tables[] = { &program_options, &strata_options, &odd_options };
static const OptionTable *const inner[] = { NULL, &program_options, NULL };
static const char *const shells[] = { "bash", "zsh", "fish" };
enum { TABLES = 3, SHELLS = 3 };

/* What is offered behind some words, in a Text that the caller frees. */
static Text answer(int table, int words, const char *const *word) {
    char *argv[8] = { "model", "__complete" };
    Text t = { 0 };
    Error e = { 0 };
    for (int i = 0; i < words; i++)
        argv[2 + i] = (char *)(uintptr_t)word[i];
    assert_true(options_complete(&t, tables[table], inner[table], 2 + words, argv));
    assert_int_equal(text_status(&t, &e), 0);
    return t;
}

static void offers_line(const Text *t, const char *word) {
    char line[64];
    snprintf(line, sizeof line, "\n%s\t", word);
    if (!strstr(t->at, line)) fail_msg("expected %s among:\n%s", word, t->at);
}

/* Each command there is, and each of its options. */
static void completions_are_complete(void **state) {
    (void)state;
    Error e = { 0 };
    for (int k = 0; k < TABLES - 1; k++) {
        Text commands = answer(k, 1, (const char *[]){ "" });
        for (int c = 0; c < tables[k]->commands; c++) {
            const char *name = tables[k]->command[c].name;
            if (tables[k]->command[c].words == NOT_YET) continue;
            offers_line(&commands, name);
            Text options = answer(k, 2, (const char *[]){ name, "-" });
            for (int i = 0; i < tables[k]->options; i++) {
                const OptionRow *r = &tables[k]->option[i];
                char option[32];
                if (option_is_in(r, c) && !option_is_joined(r))
                    offers_line(&options, option_name(option, r));
            }
            text_free(&options);
        }
        text_free(&commands);
    }
    for (int s = 0; s < SHELLS; s++) {
        Text t = { 0 };
        assert_int_equal(options_completion(&t, &program_options, "model", shells[s], &e), 0);
        text_free(&t);
    }
    Text t = { 0 };
    assert_int_equal(options_completion(&t, &program_options, "model", "tcsh", &e), STATUS_USAGE);
    text_free(&t);
}

/* Behind words that are wrong nothing is offered, and other words are no question. */
static void others_get_nothing(void **state) {
    (void)state;
    Text t = answer(1, 3, (const char *[]){ "nonsense", "--what", "" });
    assert_string_equal(t.at, "none\n");
    text_free(&t);
    t = answer(0, 2, (const char *[]){ "train", "--order=se" });
    assert_string_equal(t.at, "words\n--order=random\n--order=sequential\n--order=shuffled\n");
    text_free(&t);
    char *argv[] = { "model", "info" };
    assert_false(options_complete(&t, &program_options, NULL, 2, argv));
    assert_false(options_complete(&t, &program_options, NULL, 1, argv));
}

static void need(const char *shell) {
    char command[64];
    snprintf(command, sizeof command, "command -v %s >/dev/null", shell);
    if (system(command) == 0) return;
    print_message("%s is not installed: its completion scripts were not read\n", shell);
    skip();
}

static char folder[32];

static void path_of(char to[64], const char *name) { snprintf(to, 64, "%s/%s", folder, name); }

static void write_file(const char *name, const char *text) {
    char path[64];
    path_of(path, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static char self[4096]; /* this program: 'self --table N __complete ..' answers for a table */

/* And a program that answers. */
static void write_script(int table, const char *program, const char *shell) {
    Text t = { 0 };
    Error e = { 0 };
    char path[64];
    assert_int_equal(options_completion(&t, tables[table], program, shell, &e), 0);
    assert_int_equal(text_status(&t, &e), 0);
    write_file("script", t.at);
    text_free(&t);
    text_add(&t, "#!/bin/sh\nexec '%s' --table %d \"$@\"\n", self, table);
    write_file("strata", t.at);
    text_free(&t);
    path_of(path, "strata");
    assert_int_equal(chmod(path, 0755), 0);
}

static int make_folder(void **state) {
    char path[64];
    (void)state;
    strcpy(folder, "/tmp/strata-completion-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    path_of(path, "in");
    if (mkdir(path, 0755)) return 1;
    path_of(path, "in/sub");
    if (mkdir(path, 0755)) return 1;
    write_file("in/m.lua", "");
    write_file("in/notes.txt", "");
    return 0;
}

static int remove_folder(void **state) {
    static const char *const name[] = { "in/m.lua", "in/notes.txt", "in/sub", "in",    "script",
                                        "ask",      "offered",      "strata", "lines", "said" };
    char path[64];
    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        path_of(path, name[i]);
        remove(path);
    }
    return rmdir(folder);
}

/* A shell reads its script, of every table, without running it. */
static void check_syntax(const char *shell) {
    char command[128];
    need(shell);
    for (int k = 0; k < TABLES; k++) {
        write_script(k, "it's a model", shell);
        snprintf(command, sizeof command, "cd / && %s -n %s/script", shell, folder);
        if (system(command)) fail_msg("%s -n takes the script of table %d for wrong", shell, k);
    }
}

static void bash_reads(void **state) { (void)state, check_syntax("bash"); }
static void zsh_reads(void **state) { (void)state, check_syntax("zsh"); }
static void fish_reads(void **state) { (void)state, check_syntax("fish"); }

/* == What is offered ====================================================== */

/* The line of strata up to the cursor, and all that is offered there, sorted. */
typedef struct Offer {
    const char *line, *offered;
} Offer;

static const Offer offer[] = {
    { "ins", "inspect" },
    { "weights m", "merge" },
    { "weights ", "diff list merge strip" },
    { "weights merge ", "m.lua notes.txt sub" },
    { "tokenizer ", "decode encode info train" },
    { "completion z", "zsh" },
    { "export ", "m.lua sub" },
    { "export m.lua n", "notes.txt" },
    { "init ", "sub" },
    { "build ", "m.lua sub" },
    { "build n", "" },
    { "check ", "m.lua sub" },
    { "inspect --memory ", "m.lua sub" },
    { "inspect m.lua --cos", "--cost" },
    { "compare m.lua ", "m.lua sub" },
    { "compare --sweep ", "" },
    { "compare --sweep lr=1,2 ", "m.lua sub" },
    { "compare --train notes.txt ", "m.lua notes.txt sub" },
    { "compare --train notes.txt --ste", "--steps" },
    { "compare --keep ", "sub" },
    { "build -D ", "" },
    { "build -D width=3 ", "m.lua sub" },
    { "build --cpu ", "" },
    { "build -o n", "notes.txt" },
    { "build --emit sh", "shared" },
    { "run ", "m.lua sub" },
    { "run --max-memory 5G ", "m.lua sub" },
    { "run m.lua ", "bench chat completion eval generate gradients info logits probe score train" },
    { "run m.lua tr", "train" },
    { "run m.lua -D width=3 tr", "train" },
    { "run m.lua -D ", "" },
    { "run m.lua train --st", "--steps" },
    { "run m.lua train --order se", "sequential" },
    { "run m.lua train --data notes.txt ", "m.lua notes.txt sub" },
    { "run m.lua train --data notes.txt --res", "--resume" },
    { "run m.lua generate --prompt ", "" },
    { "run m.lua generate --stop x ", "" },
    { "run m.lua eval --weights n", "notes.txt" },
    { "run m.lua generate -w n", "notes.txt" },
    { "build -O", "-O0 -O1 -O2 -O3" },
    { "run m.lua generate -p ", "" },
    { "run m.lua completion b", "bash" },
};
/* A program's own script. */
static const Offer program_offer[] = {
    { "tr", "train" },
    { "train --res", "--resume" },
    { "train --order se", "sequential" },
    { "completion z", "zsh" },
    { "score ", "m.lua notes.txt sub" },
};
enum {
    OFFERS = sizeof offer / sizeof *offer,
    PROGRAM_OFFERS = sizeof program_offer / sizeof *program_offer
};

static void write_lines(const Offer *o, int n) {
    char text[4096] = "";
    for (int i = 0; i < n; i++)
        strcat(strcat(text, o[i].line), "\n");
    write_file("lines", text);
}

/* Runs 'ask' in a shell, which answers every line of 'lines' with one of 'offered'. */
static void check_offers(const char *shell, const Offer *o, int n) {
    char command[256], path[64], found[512];
    path_of(path, "offered");
    remove(path);
    write_lines(o, n);
    snprintf(command, sizeof command,
             "cd %s/in && PATH=%s:$PATH LC_ALL=C timeout 60 %s ../ask >../said 2>&1 || cat ../said",
             folder, folder, shell);
    assert_int_equal(system(command), 0);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (int i = 0; i < n; i++) {
        if (!fgets(found, sizeof found, f)) found[0] = 0;
        size_t length = strlen(found);
        while (length && strchr(" \n", found[length - 1]))
            found[--length] = 0;
        if (strcmp(found, o[i].offered) != 0)
            fail_msg("%s: 'strata %s': expected '%s', found '%s'", shell, o[i].line, o[i].offered,
                     found);
    }
    fclose(f);
}

/* bash cuts at "=", and has --help and --version beside commands. */
static const char bash_asks[] =
    ". ../script\n"
    "while IFS= read -r line; do\n"
    "    read -ra COMP_WORDS <<<\"strata ${line//=/ = }\"\n"
    "    [[ $line != *' ' ]] || COMP_WORDS+=('')\n"
    "    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
    "    _strata_strata\n"
    "    printf '%s\\n' \"${COMPREPLY[@]}\" | grep -vx -e --help -e --version | sort -u |\n"
    "        tr '\\n' ' '\n"
    "    echo\n"
    "done <../lines >../offered\n";

static void bash_offers(void **state) {
    static const Offer joined[] = { { "train --order=se", "sequential" },
                                    { "train --order=", "random sequential shuffled" } };
    (void)state;
    need("bash");
    write_script(1, "strata", "bash");
    write_file("ask", bash_asks);
    check_offers("bash --norc", offer, OFFERS);
    write_script(0, "strata", "bash");
    check_offers("bash --norc", program_offer, PROGRAM_OFFERS);
    check_offers("bash --norc", joined, 2);
}

/* fish puts a slash behind folders. */
static const char fish_asks[] =
    "source ../script\n"
    "while read -l line\n"
    "    set -l all (complete -C \"strata $line\" | string replace -r '\\t.*' '' |\n"
    "        string trim -rc / | sort -u)\n"
    "    echo $all\n"
    "end <../lines >../offered\n";

static void fish_offers(void **state) {
    (void)state;
    need("fish");
    write_script(1, "strata", "fish");
    write_file("ask", fish_asks);
    check_offers("fish --no-config", offer, OFFERS);
    write_script(0, "strata", "fish");
    check_offers("fish --no-config", program_offer, PROGRAM_OFFERS);
}

/* zsh completes in a terminal only; what it offers is what compadd finds.  ^] empties the line, as
** ^U does, of which a terminal makes something before zsh reads it. */
static const char zsh_asks[] =
    "zmodload zsh/zpty\n"
    "zpty z zsh -f -i\n"
    "zpty -w z 'PS1=; autoload -Uz compinit; compinit -u -D; source ../script\n"
    "compadd() { local -a h; builtin compadd -O h \"$@\"; all+=($h); builtin compadd \"$@\" }\n"
    "ask() { typeset -ga all=(); _main_complete; print -r -- ${(ou)all} >>../offered }\n"
    "bindkey -e; zle -C ask complete-word ask; bindkey \"^I\" ask\n"
    "bindkey \"^]\" kill-whole-line; print REA\"\"DY'\n"
    "zpty -r z line \"*READY*\"\n"
    "while IFS= read -r line; do\n"
    "    zpty -w -n z \"strata $line\"$'\\t\\x1d'\n"
    "done <../lines\n"
    "zpty -w z exit\n"
    "while zpty -r z line; do :; done\n";

static void zsh_offers(void **state) {
    (void)state;
    need("zsh");
    write_script(1, "strata", "zsh");
    write_file("ask", zsh_asks);
    check_offers("zsh -f", offer, OFFERS);
    write_script(0, "strata", "zsh");
    check_offers("zsh -f", program_offer, PROGRAM_OFFERS);
}

/* Words that shells take for their own stay words. */
static void odd_words(void **state) {
    (void)state;
    static const Offer odd[] = {
        { "it", "it's" },
        { "\"it's\" x", "" },
        { "\"it's\" \"--it's[all]:of\" d", "don't" },
        { "\"it's\" --it", "--it's[all]:of" },
    };
    need("bash");
    write_script(2, "strata", "bash");
    write_file("ask",
               ". ../script\n"
               "while IFS= read -r line; do\n"
               "    eval \"COMP_WORDS=(strata $line)\"\n"
               "    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
               "    _strata_strata\n"
               "    echo \"${COMPREPLY[*]}\"\n"
               "done <../lines >../offered\n");
    check_offers("bash --norc", odd, sizeof odd / sizeof *odd);
}

int main(int argc, char **argv) {
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return 1;
    if (argc > 3 && strcmp(argv[1], "--table") == 0) {
        int table = atoi(argv[2]);
        Text t = { 0 };
        if (!options_complete(&t, tables[table], inner[table], argc - 2, argv + 2)) return 1;
        fputs(t.at, stdout);
        text_free(&t);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions_are_complete),
        cmocka_unit_test(others_get_nothing),
        cmocka_unit_test(bash_reads),
        cmocka_unit_test(zsh_reads),
        cmocka_unit_test(fish_reads),
        cmocka_unit_test(bash_offers),
        cmocka_unit_test(fish_offers),
        cmocka_unit_test(zsh_offers),
        cmocka_unit_test(odd_words),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
